//! From an invocation's event to its answer.

use std::ops::ControlFlow;
use std::time::SystemTime;

use keyfold_core::retrofit::{Checkpoint, Protocol, Slice};
use keyfold_dynamo::retrofit::verify_slice;
use keyfold_edge::retrofit::{Failure, Retrofits, SliceRecord, answer};
use keyfold_edge::{Handled, Invocation};
use serde_json::Value;

use crate::{Side, VerifyEvent};

/// The metrics' namespace.
const NAMESPACE: &str = "Keyfold/Verifier";

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
    let VerifyEvent { slice: event, side, repair } = VerifyEvent::read(event)?;
    let pass = side.pass();
    record.pass = pass.name();
    record.retrofit = Some(event.retrofit.clone()).filter(|name| retrofits.has(name));
    let segment = event.check()?;
    record.segment = segment.to_string();
    let sender = retrofits.open(&event.retrofit, repair, event.rate).await?;
    let resumed = event.resumed(&sender, pass, segment)?;
    if side == Side::Target && sender.job().mapping().protocol() == Protocol::InPlace {
        // In place there is one table, which the other side compares.
        let mut nothing = Slice::from(Checkpoint::start(sender.job(), pass, segment));
        nothing.page(0, None);
        return answer(&sender, nothing.checkpoint(), None);
    }
    if repair {
        sender.begin_writing().await?;
    }
    let started = match resumed {
        Some(checkpoint) => checkpoint,
        // A repair changes the data it compares, so only comparisons without one are recorded.
        None if repair => Checkpoint::start(sender.job(), pass, segment),
        None => sender.begin_comparison(pass, segment).await?,
    };
    let options = event.options(&record.request_id, deadline, !repair);
    let mut watch = |_: &Checkpoint| ControlFlow::Continue(());
    let end = verify_slice(&sender, started.clone(), repair, &options, &mut watch).await;
    record.slice(&sender, &started, &end.checkpoint);
    match end.error {
        // Unread items must not count as equal.
        Some(error) => Err(error.into()),
        None if end.checkpoint == started && !started.is_done() => Err(Failure::out_of_time()),
        None => answer(&sender, &end.checkpoint, None),
    }
}
