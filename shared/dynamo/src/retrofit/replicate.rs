//! A batch of stream records, carried over.

use std::time::Instant;

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::{Batch, Disposition, Received, Task, Verdict};
use tokio::time::timeout_at;

use super::backfill::unblock;
use super::{Carrier, IN_FLIGHT_DEFAULT, RetrofitError};
use crate::error::DynamoError;

/// How a batch is carried over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplicateOptions {
    /// Items under way at once.
    pub in_flight_max: usize,
    /// When to stop. What is not done by then has failed, though a write that was under way may still be carried out.
    pub deadline: Option<Instant>,
}

impl Default for ReplicateOptions {
    fn default() -> ReplicateOptions {
        ReplicateOptions { in_flight_max: IN_FLIGHT_DEFAULT, deadline: None }
    }
}

/// What a batch came to.
#[derive(Debug, Default)]
pub struct Replicated {
    /// The places of the records to be delivered again, in the batch's order.
    pub failed: Vec<usize>,
    /// How the records ended that were dealt with: written, superseded, in quarantine.
    pub settled: Vec<Verdict>,
    /// How many stood behind a later record of the same item.
    pub covered: usize,
    /// The first call that failed, if one did.
    pub error: Option<RetrofitError>,
    /// Was the time up before everything was done?
    pub late: bool,
}

/// Carries a batch over: each item's newest record, different items at once.
pub async fn replicate(carrier: &Carrier, records: &[Received], options: &ReplicateOptions) -> Replicated {
    let mut batch = Batch::of(carrier.job(), records);
    let mut done = Replicated { covered: batch.covered(), ..Replicated::default() };
    let all = all(carrier, records, &mut batch, &mut done, options);
    match options.deadline {
        None => all.await,
        Some(deadline) => {
            let ended = timeout_at(deadline.into(), all).await;
            done.late = ended.is_err();
        }
    }
    // Records that nobody came to have failed.
    done.failed = batch.failed();
    done
}

async fn all(
    carrier: &Carrier,
    records: &[Received],
    batch: &mut Batch,
    done: &mut Replicated,
    options: &ReplicateOptions,
) {
    let mut blocked = Vec::new();
    // A task is made when its turn comes, while the server works for those before it.
    let mut running = stream::iter(batch.open())
        .map(|at| carry(carrier, at, carrier.job().receive(&records[at])))
        .buffer_unordered(options.in_flight_max.max(1));
    while let Some((at, end, task)) = running.next().await {
        match end {
            Ok(Verdict::Blocked) => blocked.push((at, task)),
            end => note(batch, done, at, end.map_err(Into::into)),
        }
    }
    drop(running);
    for (at, mut task) in blocked {
        let end = unblock(carrier, &mut task).await;
        note(batch, done, at, end);
    }
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
