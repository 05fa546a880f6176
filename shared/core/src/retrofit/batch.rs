//! A batch of stream records: which are applied, in what order, and which are given back.

use std::collections::BTreeMap;

use super::fence::SequenceNumber;
use super::job::Job;
use super::record::Received;
use super::source_key::SourceKey;
use super::task::{Task, Verdict};

/// The most records that Lambda hands over at once.
///
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html>
pub const BATCH_RECORDS_MAX: usize = 10_000;

/// A batch of records, each item's last one to be applied.
///
/// A record carries the whole item and is applied on condition that nothing newer is there, so the earlier ones of the
/// same item would only be overwritten. Different items may be worked on at once. A record that cannot be read stands
/// for itself: nobody knows what it said.
#[derive(Debug)]
pub struct Batch {
    records: Vec<Received>,
    /// For each record: what became of it. An earlier record of an item shares the fate of its last one.
    fates: Vec<Fate>,
}

#[derive(Debug, Clone, PartialEq)]
enum Fate {
    /// The record at this place is applied instead.
    With(usize),
    Open,
    Ended(Disposition),
}

/// What became of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// It is dealt with.
    Settled(Verdict),
    /// It must be delivered again.
    Failed,
}

impl Batch {
    /// The batch of these records, in the order in which the stream gave them.
    pub fn new<R: Into<Received>>(job: &Job, records: Vec<R>) -> Batch {
        let records: Vec<Received> = records.into_iter().map(Into::into).collect();
        let mut last: BTreeMap<SourceKey, usize> = BTreeMap::new();
        let mut fates = vec![Fate::Open; records.len()];
        for (at, record) in records.iter().enumerate() {
            let Received::Change(record) = record else { continue };
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
            fates[left] = Fate::With(kept);
            last.insert(key, kept);
        }
        Batch { records, fates }
    }

    /// The tasks, each with its record's place in the batch.
    pub fn tasks(&self, job: &Job) -> Vec<(usize, Task)> {
        let open = |at: &usize| self.fates[*at] == Fate::Open;
        let task = |at: usize| match &self.records[at] {
            Received::Change(record) => job.apply(record),
            Received::Unreadable(record) => job.unreadable(record),
        };
        (0..self.records.len()).filter(open).map(|at| (at, task(at))).collect()
    }

    /// Notes what became of the record at this place.
    pub fn ended(&mut self, at: usize, disposition: Disposition) {
        self.fates[at] = Fate::Ended(disposition);
    }

    /// What became of the record at this place. One that nobody dealt with has failed.
    pub fn disposition(&self, at: usize) -> Disposition {
        match &self.fates[at] {
            Fate::Ended(disposition) => disposition.clone(),
            Fate::Open => Disposition::Failed,
            Fate::With(kept) => self.disposition(*kept),
        }
    }

    /// The places of the records to be delivered again, in the batch's order. Lambda goes on from the first of them.
    pub fn failed(&self) -> Vec<usize> {
        let failed = |at: &usize| self.disposition(*at) == Disposition::Failed;
        (0..self.records.len()).filter(failed).collect()
    }

    /// Their sequence numbers, as far as they are known.
    pub fn failures(&self) -> Vec<&SequenceNumber> {
        self.failed().into_iter().filter_map(|at| self.records[at].sequence()).collect()
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// How many of them are covered by a later one of the same item.
    pub fn covered(&self) -> usize {
        self.fates.iter().filter(|fate| matches!(fate, Fate::With(_))).count()
    }
}
