//! The progress of a retrofit: phase, gates, segments, quarantine.

use keyfold_core::retrofit::{Checkpoint, Mapping, Quarantined};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitError};
use keyfold_edge::Problem;
use keyfold_query_api::Api;
use serde_json::{Map, Value, json};

/// Maximum displayed segments of a retrofit, over all passes.
const SEGMENTS_MAX: usize = 256;
/// Maximum displayed entries of the quarantine.
const QUARANTINE_MAX: u32 = 100;

/// The state of a retrofit in the control table.
pub(super) async fn read(api: &Api, name: &str) -> Result<Value, Problem> {
    let mapping = Mapping::of(api.model(), name)?;
    let mut view = json!({
        "retrofit": mapping.name(),
        "from": mapping.source().id,
        "to": mapping.target().id,
        "protocol": mapping.protocol().name(),
        "because": mapping.reason().to_string(),
        "started": false,
    });
    match started(api, mapping).await {
        Ok(Value::Object(members)) => extend(&mut view, members),
        Ok(_) => {}
        Err(error) if error.is_not_started(api.control_table()) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(view)
}

fn extend(view: &mut Value, members: Map<String, Value>) {
    if let Value::Object(view) = view {
        view.extend(members);
    }
}

async fn started(api: &Api, mapping: Mapping) -> Result<Value, RetrofitError> {
    let (sender, head) = RequestSender::started(api.client().clone(), mapping, api.control_table()).await?;
    let status = sender.status(head).await?;
    let segments = sender.progress().await?;
    let quarantine = sender.quarantine_begin(QUARANTINE_MAX).await?;
    let mut view = status.json();
    view["started"] = json!(true);
    view["stream"] = json!(status.head.stream.is_some());
    view["indexesNotActive"] = json!(status.evidence.indexes_not_active);
    view["passes"] = json!(segments.iter().take(SEGMENTS_MAX).map(segment).collect::<Vec<_>>());
    view["passesMore"] = json!(segments.len() > SEGMENTS_MAX);
    view["quarantine"] = json!({
        "entries": quarantine.iter().map(entry).collect::<Vec<_>>(),
        "more": status.evidence.quarantined > quarantine.len() as u64,
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

fn entry(entry: &Quarantined) -> Value {
    json!({ "key": entry.key, "code": entry.code })
}
