//! From an invocation's event to its answer.

use std::ops::ControlFlow;
use std::time::SystemTime;

use keyfold_core::retrofit::{Checkpoint, Pass};
use keyfold_dynamo::retrofit::backfill_slice;
use keyfold_edge::retrofit::{Failure, Retrofits, SliceEvent, SliceRecord, answer};
use keyfold_edge::{Handled, Invocation};
use serde_json::Value;

use crate::BackfillEvent;

/// The metrics' namespace.
const NAMESPACE: &str = "Keyfold/Backfiller";

/// Takes one event.
pub async fn handle(retrofits: &Retrofits, invocation: Invocation<'_>) -> Handled<SliceRecord> {
    let Invocation { event, request_id, deadline } = invocation;
    Handled::by(NAMESPACE, request_id, async |record| respond(retrofits, event, deadline, record).await).await
}

async fn respond(
    retrofits: &Retrofits,
    event: &str,
    deadline: Option<SystemTime>,
    record: &mut SliceRecord,
) -> Result<Value, Failure> {
    record.pass = Pass::Backfill.name();
    let event = BackfillEvent::read(event)?;
    record.retrofit = Some(event.retrofit().to_owned()).filter(|name| retrofits.has(name));
    match event {
        BackfillEvent::DryRun(retrofit) => {
            record.pass = "dry-run";
            retrofits.estimate(&retrofit).await
        }
        BackfillEvent::Slice(event) => slice(retrofits, &event, deadline, record).await,
    }
}

async fn slice(
    retrofits: &Retrofits,
    event: &SliceEvent,
    deadline: Option<SystemTime>,
    record: &mut SliceRecord,
) -> Result<Value, Failure> {
    let segment = event.check()?;
    record.segment = segment.to_string();
    let sender = retrofits.open(&event.retrofit, true, event.rate).await?;
    let resumed = event.resumed(&sender, Pass::Backfill, segment)?;
    let started = resumed.unwrap_or_else(|| Checkpoint::start(sender.job(), Pass::Backfill, segment));
    let options = event.options(&record.request_id, deadline, true);
    sender.begin_writing().await?;
    let end = backfill_slice(&sender, started.clone(), &options, &mut |_| ControlFlow::Continue(())).await;
    record.slice(&sender, &started, &end.checkpoint);
    // Written items stay written: if there is progress, a transient error is left to the next invocation.
    match end.error.map(Failure::from) {
        Some(failure) if failure.may_pass() && end.checkpoint != started => {
            record.code = failure.code;
            answer(&sender, &end.checkpoint, Some(failure.code))
        }
        Some(failure) => Err(failure),
        None if end.checkpoint == started && !started.is_done() => Err(Failure::out_of_time()),
        None => answer(&sender, &end.checkpoint, None),
    }
}
