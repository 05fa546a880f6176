//! The sample events of a retrofit's functions, with their permissions. The functions' own tests check the answers;
//! here no call may be denied.

use keyfold_core::retrofit::{Epoch, Job, Mapping, TableRole};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use keyfold_dynamo::{TableOptions, ensure_table};
use serde_json::Value;

use crate::stage::{Guarded, Stage};

const SAMPLE: &str = include_str!("../../../keyfold.toml");
/// The manifest that the replicator's sample events are of.
const REPLICATED: &str = include_str!("../../../functions/replicator/tests/replicator/keyfold.toml");

/// A stage on which this retrofit runs, and follows the stream of the sample events.
async fn started(manifest: &str, retrofit: &str) -> Stage {
    let stage = Stage::of(manifest).await;
    let job = Job::new(Mapping::of(&stage.model, retrofit).unwrap(), Epoch::FIRST);
    let sender = RequestSender::new(stage.dynamo.client(), job, "keyfold-control");
    ensure_table(&stage.dynamo.client(), sender.table(TableRole::Control), TableOptions::default())
        .await
        .unwrap();
    let source = &sender.table(TableRole::Source).name;
    let stream =
        format!("arn:aws:dynamodb:us-east-1:123456789012:table/{source}/stream/2026-03-01T08:00:00.000");
    let head = RetrofitState::started(sender.job().mapping(), Some(&stream));
    sender.store(&head, None).await.unwrap();
    stage
}

async fn played(stage: &Stage, name: &str, events: Vec<String>) -> Guarded {
    assert!(events.len() >= 2, "{name}");
    let function = stage.function(name, &[]);
    for event in events {
        function.function.invoke(event).await;
    }
    function
}

/// Each replicator with the events of its kind.
pub(crate) async fn replicators() -> Vec<Guarded> {
    let mut all = Vec::new();
    for (retrofit, function, kind) in [
        ("moved", "MovedReplicatorFunction", ""),
        ("ledger", "LedgerReplicatorFunction", "ledger"),
        ("inPlace", "InPlaceReplicatorFunction", "in-place"),
    ] {
        let stage = started(REPLICATED, retrofit).await;
        let mine = |name: &str| match kind {
            "" => !name.contains("ledger") && !name.contains("in-place"),
            kind => name.contains(kind),
        };
        let events = keyfold_harness::events("replicator").into_iter().filter(|(name, _)| mine(name));
        all.push(played(&stage, function, events.map(|(_, event)| event).collect()).await);
    }
    all
}

/// The functions that take slices, with the events of each retrofit.
pub(crate) async fn slices() -> Vec<Guarded> {
    let every_retrofit = SAMPLE.replace("retrofits = [\"auditV2\"]", "");
    let mut all = Vec::new();
    for (retrofit, id) in [("auditV2", "AuditV2"), ("auditInPlace", "AuditInPlace")] {
        for (folder, function) in [("backfiller", "Backfiller"), ("verifier", "Verifier")] {
            let stage = started(&every_retrofit, retrofit).await;
            // A function has the rights of one retrofit, and is called for that one alone.
            let other = |event: &str| {
                let of = serde_json::from_str::<Value>(event).unwrap_or_default();
                of["retrofit"].as_str().is_some_and(|name| name.starts_with("audit") && name != retrofit)
            };
            let events = keyfold_harness::events(folder).into_iter().map(|(_, event)| event);
            let events = events.filter(|event| !other(event)).collect();
            all.push(played(&stage, &format!("{id}{function}Function"), events).await);
        }
    }
    all
}
