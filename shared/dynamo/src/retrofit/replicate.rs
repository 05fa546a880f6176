//! A batch of stream records, carried over: new items many at once, what is left of them and all others each by itself.

use std::iter;
use std::pin::pin;
use std::time::Instant;

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::{Batch, Disposition, ItemTask, Received, TaskResult, TaskStep};
use tokio::task::yield_now;
use tokio::time::timeout_at;

use super::backfill::unblock;
use super::concurrent::{After, Waiting};
use super::inserts::Inserts;
use super::{IN_FLIGHT_DEFAULT, RequestSender, RetrofitError};
use crate::error::DynamoError;
use crate::guarded::STATEMENTS_MAX;

/// How a batch is carried over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplicateOptions {
    /// Items under way at once.
    pub in_flight_max: usize,
    /// When to stop. Unfinished records have failed then, though a write in flight may still succeed.
    pub deadline: Option<Instant>,
}

impl Default for ReplicateOptions {
    fn default() -> ReplicateOptions {
        ReplicateOptions { in_flight_max: IN_FLIGHT_DEFAULT, deadline: None }
    }
}

/// The outcome of a batch.
#[derive(Debug, Default)]
pub struct Replicated {
    /// The places of the records to be delivered again, in the batch's order.
    pub failed: Vec<usize>,
    /// How the records ended that were dealt with: written, superseded, in quarantine.
    pub settled: Vec<TaskResult>,
    /// How many stood behind a later record of the same item.
    pub covered: usize,
    /// The first call that failed, if one did.
    pub error: Option<RetrofitError>,
    /// Was the time up before everything was done?
    pub late: bool,
}

impl Replicated {
    /// Was every record's item written, or its record covered by one of which it was?
    pub fn is_all_written(&self) -> bool {
        self.failed.is_empty() && self.settled.iter().all(|end| *end == TaskResult::Written)
    }

    /// A batch with this number of records that is delivered again as a whole: the retrofit changed its phase meanwhile.
    pub fn again(records: usize, retrofit: &str) -> Replicated {
        let error = Some(RetrofitError::PhaseChanged { retrofit: retrofit.to_owned() });
        Replicated { failed: (0..records).collect(), error, ..Replicated::default() }
    }
}

/// Carries a batch over: each item's newest record, different items at once.
pub async fn replicate(
    sender: &RequestSender,
    mut records: Vec<Received>,
    options: &ReplicateOptions,
) -> Replicated {
    let mut batch = Batch::of(sender.job(), &mut records);
    let mut done = Replicated { covered: batch.covered(), ..Replicated::default() };
    let all = all(sender, records, &mut batch, &mut done, options);
    match options.deadline {
        None => all.await,
        Some(deadline) => {
            let ended = timeout_at(deadline.into(), all).await;
            done.late = ended.is_err();
        }
    }
    // Records that were not reached have failed.
    done.failed = batch.failed();
    done
}

async fn all(
    sender: &RequestSender,
    records: Vec<Received>,
    batch: &mut Batch,
    done: &mut Replicated,
    options: &ReplicateOptions,
) {
    if records.iter().any(Received::names_no_item)
        && let Err(error) = sender.begin_writing().await
    {
        done.error = Some(error);
        return;
    }
    let in_flight_max = options.in_flight_max.max(1);
    let mut open = batch.open().into_iter().peekable();
    let open = records.into_iter().enumerate().filter(|(at, _)| open.next_if_eq(at).is_some());
    let (new, mut others): (Vec<_>, Vec<_>) = open.partition(|(_, record)| Inserts::is_for(record));
    let (mut left, mut blocked) = (Vec::new(), Vec::new());

    let inserts = Inserts::new();
    let mut new = new.into_iter();
    let groups = iter::from_fn(|| {
        let group: Vec<_> = new.by_ref().take(STATEMENTS_MAX).collect();
        (!group.is_empty()).then_some(group)
    });
    let groups = stream::iter(groups).then(|group| async move {
        // Requests that were sent before are repeated now.
        yield_now().await;
        group
    });
    let trying = groups.map(|group| inserts.try_all(sender, group)).buffer_unordered(in_flight_max);
    let mut trying = pin!(trying);
    while let Some(tried) = trying.next().await {
        others.extend(tried.untried);
        for after in tried.after {
            match after {
                After::Ended(at, end, _) => note(batch, done, at, end.map_err(Into::into)),
                After::Wants(waiting) => left.push(waiting),
            }
        }
    }

    // A task is made when its turn comes, while the server works for those before it.
    let others = others.into_iter().map(|(at, record)| {
        let mut task = Box::new(sender.job().take(record));
        let step = task.start(sender.job());
        (at, task, step)
    });
    let left = left.into_iter().map(|Waiting { at, task, request }| (at, task, TaskStep::Send(request)));
    let mut running = stream::iter(left.chain(others))
        .map(|(at, task, step)| finish(sender, at, task, step))
        .buffer_unordered(in_flight_max);
    while let Some((at, end, task)) = running.next().await {
        match end {
            Ok(TaskResult::Blocked) => blocked.push((at, task)),
            end => note(batch, done, at, end.map_err(Into::into)),
        }
    }
    drop(running);
    for (at, mut task) in blocked {
        let end = unblock(sender, &mut task).await;
        note(batch, done, at, end);
    }
}

async fn finish(
    sender: &RequestSender,
    at: usize,
    mut task: Box<ItemTask>,
    step: TaskStep,
) -> (usize, Result<TaskResult, DynamoError>, Box<ItemTask>) {
    let end = sender.resume(&mut task, step).await;
    (at, end, task)
}

fn note(batch: &mut Batch, done: &mut Replicated, at: usize, end: Result<TaskResult, RetrofitError>) {
    match end {
        Ok(verdict) if verdict.is_done() => {
            done.settled.push(verdict.clone());
            batch.ended(at, Disposition::Done(verdict));
        }
        Ok(_) => batch.ended(at, Disposition::Failed),
        Err(error) => {
            batch.ended(at, Disposition::Failed);
            done.error.get_or_insert(error);
        }
    }
}
