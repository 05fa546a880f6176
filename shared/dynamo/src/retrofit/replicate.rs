//! A batch of stream records, carried over.

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::{Batch, ChangeRecord, Disposition, SequenceNumber, Task, Verdict};

use super::backfill::unblock;
use super::{Carrier, RetrofitError};
use crate::error::DynamoError;

/// What a batch came to.
#[derive(Debug, Default)]
pub struct Replicated {
    /// The records to be delivered again, in the batch's order.
    pub failures: Vec<SequenceNumber>,
    /// How many records were dealt with: written, superseded, in quarantine.
    pub settled: Vec<Verdict>,
    /// How many stood behind a later record of the same item.
    pub covered: usize,
    /// The first call that failed, if one did.
    pub error: Option<RetrofitError>,
}

/// Carries a batch over: each item's newest record, different items at once.
pub async fn replicate(carrier: &Carrier, records: Vec<ChangeRecord>, in_flight_max: usize) -> Replicated {
    let mut batch = Batch::new(carrier.job(), records);
    let mut done = Replicated { covered: batch.covered(), ..Replicated::default() };
    let mut blocked = Vec::new();
    let tasks = batch.tasks(carrier.job());
    let mut running =
        stream::iter(tasks).map(|(at, task)| carry(carrier, at, task)).buffer_unordered(in_flight_max.max(1));
    while let Some((at, end, task)) = running.next().await {
        match end {
            Ok(Verdict::Blocked) => blocked.push((at, task)),
            end => note(&mut batch, &mut done, at, end.map_err(Into::into)),
        }
    }
    drop(running);
    for (at, mut task) in blocked {
        let end = unblock(carrier, &mut task).await;
        note(&mut batch, &mut done, at, end);
    }
    done.failures = batch.failures().into_iter().cloned().collect();
    done
}

async fn carry(carrier: &Carrier, at: usize, mut task: Task) -> (usize, Result<Verdict, DynamoError>, Task) {
    let end = carrier.carry(&mut task).await;
    (at, end, task)
}

fn note(batch: &mut Batch, done: &mut Replicated, at: usize, end: Result<Verdict, RetrofitError>) {
    match end {
        Ok(verdict) if verdict.is_settled() => {
            done.settled.push(verdict.clone());
            batch.ended(at, Disposition::Settled(verdict));
        }
        Ok(_) => batch.ended(at, Disposition::Failed),
        Err(error) => {
            batch.ended(at, Disposition::Failed);
            done.error.get_or_insert(error);
        }
    }
}
