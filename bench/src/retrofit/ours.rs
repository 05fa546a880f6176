//! The retrofit, as `keyfold retrofit backfill` carries it out, in one segment.

use std::ops::ControlFlow;

use keyfold_core::retrofit::{Checkpoint, Job, Pass, SegmentId};
use keyfold_dynamo::Client;
use keyfold_dynamo::retrofit::{CONTROL_TABLE_DEFAULT, RequestSender, SliceOptions, backfill_slice};

/// How many items were written.
pub(super) async fn run(client: Client, job: Job) -> anyhow::Result<u64> {
    let sender = RequestSender::new(client, job, CONTROL_TABLE_DEFAULT);
    let from = Checkpoint::start(sender.job(), Pass::Backfill, SegmentId::WHOLE);
    let end =
        backfill_slice(&sender, from, &SliceOptions::default(), &mut |_| ControlFlow::Continue(())).await;
    match end.error {
        Some(error) => Err(error.into()),
        None => Ok(end.checkpoint.count("written")),
    }
}
