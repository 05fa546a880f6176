//! A batch of stream records: which are applied, in what order, and which are given back.

use std::collections::HashMap;

use super::job::Job;
use super::record::{ChangeRecord, Received};
use super::result::TaskResult;
use super::source_key::SourceKey;

/// The most records that Lambda hands over at once.
///
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html>
pub const BATCH_RECORDS_MAX: usize = 10_000;

/// What becomes of the records of a batch, each item's last one being applied.
///
/// A record carries the whole item and is applied on condition that nothing newer is there, so the earlier ones of the
/// same item would only be overwritten. Different items may be worked on at once. A record that cannot be read stands
/// for itself: its content is unknown.
///
/// The records themselves stay with the caller, and are known here by their places.
#[derive(Debug)]
pub struct Batch {
    /// For each record: what became of it. An earlier record of an item shares the fate of its last one.
    fates: Vec<RecordState>,
}

#[derive(Debug, Clone, PartialEq)]
enum RecordState {
    /// The record at this place is applied instead.
    With(usize),
    Open,
    Ended(Disposition),
}

/// What became of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// It is dealt with.
    Done(TaskResult),
    /// It must be delivered again.
    Failed,
}

impl Batch {
    /// The batch of these records, in the order in which the stream gave them. A record that is applied instead of others gets an
    /// older old image if its own has no key at risk: in place, it shows which keys the updates have made wrong.
    pub fn of(job: &Job, records: &mut [Received]) -> Batch {
        let mut last: HashMap<SourceKey, usize> = HashMap::with_capacity(records.len());
        let mut fates = vec![RecordState::Open; records.len()];
        for at in 0..records.len() {
            let Received::Change(record) = &records[at] else { continue };
            let Some(key) = SourceKey::of(job.mapping().source(), &record.key) else { continue };
            let Some(&before) = last.get(&key) else {
                last.insert(key, at);
                continue;
            };
            // A late duplicate can come after what is newer.
            let (kept, left) = if Some(&record.sequence) >= records[before].sequence() {
                (at, before)
            } else {
                (before, at)
            };
            fates[left] = RecordState::With(kept);
            let has_keys = |record: &Received| match record {
                Received::Change(ChangeRecord { old: Some(old), .. }) => {
                    !job.mapping().keys_at_risk(old).is_empty()
                }
                _ => false,
            };
            if !has_keys(&records[kept])
                && has_keys(&records[left])
                && let Ok([Received::Change(kept), Received::Change(left)]) =
                    records.get_disjoint_mut([kept, left])
            {
                kept.old = left.old.take();
            }
            last.insert(key, kept);
        }
        Batch { fates }
    }

    /// The places of the records to be applied.
    pub fn open(&self) -> Vec<usize> {
        (0..self.fates.len()).filter(|&at| self.fates[at] == RecordState::Open).collect()
    }

    /// Notes what became of the record at this place.
    pub fn ended(&mut self, at: usize, disposition: Disposition) {
        self.fates[at] = RecordState::Ended(disposition);
    }

    /// The outcome of the record at this place; a record without one has failed.
    pub fn disposition(&self, at: usize) -> Disposition {
        match &self.fates[at] {
            RecordState::Ended(disposition) => disposition.clone(),
            RecordState::Open => Disposition::Failed,
            RecordState::With(kept) => self.disposition(*kept),
        }
    }

    /// The places of the records to be delivered again, in the batch's order. Lambda goes on from the first of them.
    pub fn failed(&self) -> Vec<usize> {
        let failed = |at: &usize| self.disposition(*at) == Disposition::Failed;
        (0..self.fates.len()).filter(failed).collect()
    }

    /// How many records are covered by a later one of the same item.
    pub fn covered(&self) -> usize {
        self.fates.iter().filter(|fate| matches!(fate, RecordState::With(_))).count()
    }
}
