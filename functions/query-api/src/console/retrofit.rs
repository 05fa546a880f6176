//! How far a retrofit is: phase, gates, segments, quarantine.

use keyfold_core::retrofit::{Checkpoint, Mapping, Quarantined};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitError};
use serde_json::{Map, Value, json};

use super::shows;
use crate::ask::{Asker, time_left};
use crate::{Record, problem};
use keyfold_edge::Problem;

/// The most segments of a retrofit that are shown, all passes together.
const SEGMENTS_MAX: usize = 256;
/// The most entries of the quarantine that are shown.
const QUARANTINE_MAX: u32 = 100;

/// How far the retrofit is, as the control table has it.
pub(super) async fn read(asker: &Asker<'_>, name: &str, record: &mut Record) -> Result<Value, Problem> {
    let mapping = Mapping::of(&asker.api.model, name)?;
    record.table = Some(mapping.source().id.clone());
    let reading = view(asker, mapping);
    tokio::time::timeout(time_left(asker.deadline), reading).await.map_err(|_| problem::timed_out())?
}

async fn view(asker: &Asker<'_>, mapping: Mapping) -> Result<Value, Problem> {
    let control_table = &asker.api.control_table;
    let keys_shown = shows(asker, mapping.source()) && shows(asker, mapping.target());
    let mut view = json!({
        "retrofit": mapping.name(),
        "from": mapping.source().id,
        "to": mapping.target().id,
        "protocol": mapping.protocol().name(),
        "because": mapping.reason().to_string(),
        "started": false,
    });
    match started(asker, mapping, keys_shown).await {
        Ok(Value::Object(members)) => extend(&mut view, members),
        Ok(_) => {}
        Err(error) if error.is_not_started(control_table) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(view)
}

fn extend(view: &mut Value, members: Map<String, Value>) {
    if let Value::Object(view) = view {
        view.extend(members);
    }
}

async fn started(asker: &Asker<'_>, mapping: Mapping, keys_shown: bool) -> Result<Value, RetrofitError> {
    let api = asker.api;
    let (sender, head) = RequestSender::started(api.client.clone(), mapping, &api.control_table).await?;
    let mut status = sender.status(head).await?;
    if !keys_shown {
        status.misfits = status.misfits.without_keys();
    }
    let segments = sender.progress().await?;
    let quarantine = sender.quarantine_begin(QUARANTINE_MAX).await?;
    let mut view = status.json();
    view["started"] = json!(true);
    view["stream"] = json!(status.head.stream.is_some());
    view["indexesNotActive"] = json!(status.evidence.indexes_not_active);
    view["passes"] = json!(segments.iter().take(SEGMENTS_MAX).map(segment).collect::<Vec<_>>());
    view["passesMore"] = json!(segments.len() > SEGMENTS_MAX);
    view["quarantine"] = json!({
        "entries": quarantine.iter().map(|one| entry(one, keys_shown)).collect::<Vec<_>>(),
        "more": status.evidence.quarantined > quarantine.len() as u64,
        "keysShown": keys_shown,
    });
    Ok(view)
}

fn segment(checkpoint: &Checkpoint) -> Value {
    json!({
        "pass": checkpoint.pass().name(),
        "segment": checkpoint.segment().number(),
        "total": checkpoint.segment().total(),
        "done": checkpoint.is_done(),
        "counts": checkpoint.counts(),
    })
}

fn entry(entry: &Quarantined, key_shown: bool) -> Value {
    json!({ "key": entry.key.as_ref().filter(|_| key_shown), "code": entry.code })
}
