//! A batch of records of the closed table, examined one by one: late writes are noted.

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::control::{Delivery, Direction, RetrofitState};
use keyfold_core::retrofit::{ChangeRecord, Epoch, Received, SourceKey, TableRole};
use tokio::time::timeout_at;

use super::backfill::unblock;
use super::replicate::ReplicateOptions;
use super::{Replicated, RequestSender, RetrofitError};
use keyfold_core::retrofit::TaskResult;

/// Looks at every record: one that came too late can stand before one of the retrofit's own. Records of one item in their order,
/// different items at once. The sender's job writes the records' table; the epoch is that of their stream.
pub async fn examine_late(
    sender: &RequestSender,
    records: &[Received],
    epoch: Epoch,
    options: &ReplicateOptions,
) -> Replicated {
    let mut done = Replicated { failed: (0..records.len()).collect(), ..Replicated::default() };
    let all = all(sender, records, epoch, &mut done, options.in_flight_max.max(1));
    match options.deadline {
        None => all.await,
        Some(deadline) => {
            let ended = timeout_at(deadline.into(), all).await;
            done.late = ended.is_err();
        }
    }
    done
}

impl RequestSender {
    /// Handles records that were given up as the replicator would now; is each of them done? `lead` says which table they are of.
    pub async fn redrive_by_phase(
        &self,
        head: &RetrofitState,
        lead: Direction,
        records: Vec<ChangeRecord>,
    ) -> Result<bool, RetrofitError> {
        let by = |job| RequestSender::new(self.client().clone(), job, &self.control.name);
        match head.delivery(self.job().mapping(), lead) {
            Delivery::Carry(job) => by(job).redrive(&records).await,
            Delivery::Late { job, epoch } => {
                let records: Vec<Received> = records.into_iter().map(Received::Change).collect();
                let looked = examine_late(&by(job), &records, epoch, &ReplicateOptions::default()).await;
                looked.error.map_or(Ok(looked.failed.is_empty()), Err)
            }
            Delivery::Nothing => Ok(true),
        }
    }
}

async fn all(
    sender: &RequestSender,
    records: &[Received],
    epoch: Epoch,
    done: &mut Replicated,
    in_flight_max: usize,
) {
    let table = sender.table(TableRole::Target);
    let mut items: BTreeMap<Option<SourceKey>, Vec<usize>> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        let key = match record {
            Received::Change(record) => SourceKey::of(table, &record.key),
            Received::Unreadable(_) => None,
        };
        items.entry(key).or_default().push(at);
    }
    let mut running = stream::iter(items.into_values())
        .map(|places| one_item(sender, records, epoch, places))
        .buffer_unordered(in_flight_max);
    while let Some((ends, error)) = running.next().await {
        for (at, end) in ends {
            done.failed.retain(|failed| *failed != at);
            done.settled.push(end);
        }
        done.error = done.error.take().or(error);
    }
}

/// What became of an item's records, up to the first that was not dealt with.
async fn one_item(
    sender: &RequestSender,
    records: &[Received],
    epoch: Epoch,
    places: Vec<usize>,
) -> (Vec<(usize, TaskResult)>, Option<RetrofitError>) {
    let mut ends = Vec::new();
    for at in places {
        let end = match &records[at] {
            Received::Change(record) => one(sender, record, epoch).await,
            // It names no item that could be read: a comparison is needed.
            unread => sender.carry(&mut sender.job().receive(unread)).await.map_err(RetrofitError::from),
        };
        match end {
            Ok(end) if end.is_done() => ends.push((at, end)),
            Ok(_) => return (ends, None),
            Err(error) => return (ends, Some(error)),
        }
    }
    (ends, None)
}

/// Looks at one change.
pub(super) async fn one(
    sender: &RequestSender,
    record: &ChangeRecord,
    epoch: Epoch,
) -> Result<TaskResult, RetrofitError> {
    let mut task = sender.job().late(record, epoch);
    match sender.carry(&mut task).await? {
        TaskResult::Blocked => unblock(sender, &mut task).await,
        end => Ok(end),
    }
}
