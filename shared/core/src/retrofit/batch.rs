//! A batch of stream records: which are applied, in what order, and which are given back.

use std::collections::BTreeMap;

use super::fence::SequenceNumber;
use super::job::Job;
use super::record::ChangeRecord;
use super::source_key::SourceKey;
use super::task::{Task, Verdict};

/// The most records that Lambda hands over at once.
///
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html>
pub const BATCH_RECORDS_MAX: usize = 10_000;

/// A batch of records, each item's last one to be applied.
///
/// A record carries the whole item and is applied on condition that nothing newer is there, so the earlier ones of the
/// same item would only be overwritten. Different items may be worked on at once.
#[derive(Debug)]
pub struct Batch {
    records: Vec<ChangeRecord>,
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
    pub fn new(job: &Job, records: Vec<ChangeRecord>) -> Batch {
        let mut last: BTreeMap<SourceKey, usize> = BTreeMap::new();
        let mut fates = vec![Fate::Open; records.len()];
        for (at, record) in records.iter().enumerate() {
            let Some(key) = SourceKey::of(job.mapping().source(), &record.key) else { continue };
            let Some(&before) = last.get(&key) else {
                last.insert(key, at);
                continue;
            };
            // A late duplicate can come after what is newer.
            let (kept, left) =
                if record.sequence >= records[before].sequence { (at, before) } else { (before, at) };
            fates[left] = Fate::With(kept);
            last.insert(key, kept);
        }
        Batch { records, fates }
    }

    /// The tasks, each with its record's place in the batch.
    pub fn tasks(&self, job: &Job) -> Vec<(usize, Task)> {
        let open = |at: &usize| self.fates[*at] == Fate::Open;
        (0..self.records.len()).filter(open).map(|at| (at, job.apply(&self.records[at]))).collect()
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

    /// The records to be delivered again, in the batch's order. Lambda goes on from the first of them.
    pub fn failures(&self) -> Vec<&SequenceNumber> {
        let failed = |at: &usize| self.disposition(*at) == Disposition::Failed;
        (0..self.records.len()).filter(failed).map(|at| &self.records[at].sequence).collect()
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
