//! A retrofit at work: its mapping, and the epoch of the stream that it follows.

use super::fence::{Epoch, Fence};
use super::fenced::Fenced;
use super::in_place::InPlace;
use super::ledger::Move;
use super::mapping::{Mapping, MappingHash, Protocol};
use super::quarantine::{Quarantined, Reason};
use super::record::{ChangeRecord, Received, UnreadableRecord};
use super::source_key::SourceKey;
use super::task::{Task, Verdict};
use crate::value::Item;

/// Makes the tasks of one retrofit.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    mapping: Mapping,
    epoch: Epoch,
    /// The digest that checkpoints of the same mapping may hold too: that of the first release.
    former: Option<MappingHash>,
}

impl Job {
    /// The retrofit, following the stream of this epoch.
    pub fn new(mapping: Mapping, epoch: Epoch) -> Job {
        Job { mapping, epoch, former: None }
    }

    /// The same of a retrofit that was started under this digest.
    pub(super) fn started(mapping: Mapping, epoch: Epoch, hash: &MappingHash) -> Job {
        let former = hash.is_of_first_release().then(|| hash.clone());
        Job { mapping, epoch, former }
    }

    /// Is this the digest of the job's mapping, in one form or the other?
    pub(super) fn is_of(&self, hash: &str) -> bool {
        self.mapping.hash().as_str() == hash
            || self.former.as_ref().is_some_and(|former| former.as_str() == hash)
    }

    /// What is mapped to what.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Which stream is followed.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Deals with a record of a batch.
    pub fn receive(&self, record: &Received) -> Task {
        match record {
            Received::Change(record) => self.apply(record),
            Received::Unreadable(record) => self.unreadable(record),
        }
    }

    /// Carries a change of the stream over. Any record of an item may be left out if a later one of it is applied.
    pub fn apply(&self, record: &ChangeRecord) -> Task {
        let fence = Fence::of_record(self.epoch, record.sequence.clone());
        let Some(source) = SourceKey::of(self.mapping.source(), &record.key) else {
            return Task::entering(self, Quarantined::record(fence));
        };
        let new = record.new.as_ref();
        let (machine, turn) = match self.mapping.protocol() {
            Protocol::InPlace => InPlace::of_item(self, &record.key, new, fence),
            Protocol::Fenced => Fenced::apply(self, &record.key, new, fence),
            Protocol::Ledger => Move::to_state(self, &source, &record.key, new, fence),
        };
        Task::new(record.key.clone(), source, machine, turn)
    }

    /// Carries a scanned item over, unless something newer is there. `careful` looks before it writes: for a pass that
    /// finds most items done already, where a look costs less than a write that is refused.
    pub fn backfill(&self, item: &Item, careful: bool) -> Task {
        let fence = Fence::of_scan(self.epoch);
        let source_table = self.mapping.source();
        let (Some(key), Some(source)) = (source_table.key_of(item), SourceKey::of(source_table, item)) else {
            return Task::entering(self, Quarantined::record(fence));
        };
        let (machine, turn) = match self.mapping.protocol() {
            Protocol::InPlace => InPlace::of_item(self, &key, Some(item), fence),
            Protocol::Fenced => Fenced::backfill(self, &key, item, fence, careful),
            Protocol::Ledger => Move::of_scanned(self, &source, &key, item, fence, careful),
        };
        Task::new(key, source, machine, turn)
    }

    /// Reads a source item again and makes the target what it should be.
    pub fn repair(&self, key: &Item) -> Task {
        self.repair_after(key, None)
    }

    /// The same for an item in quarantine, which leaves it then. An entry that names no item cannot be repaired; it is
    /// for [`dismiss`](Self::dismiss).
    pub fn release(&self, entry: &Quarantined) -> Option<Task> {
        let key = entry.key.as_ref()?;
        Some(self.repair_after(key, Some(entry)))
    }

    /// Takes an entry out of the quarantine: after a complete verification found nothing.
    pub fn dismiss(&self, entry: &Quarantined) -> Task {
        Task::leaving(self, entry)
    }

    /// Notes that a record could not be read. Without a sequence number the entry is as old as a scan: whatever is known
    /// of the item is newer.
    pub fn unreadable(&self, record: &UnreadableRecord) -> Task {
        let fence = match &record.sequence {
            Some(sequence) => Fence::of_record(self.epoch, sequence.clone()),
            None => Fence::of_scan(self.epoch),
        };
        let key = record.key.as_ref();
        let item = key.and_then(|key| Some((key, SourceKey::of(self.mapping.source(), key)?)));
        let entry = match (item, &record.sequence) {
            (Some((key, source)), _) => Quarantined::item(key, &source, &Reason::Unreadable, fence),
            (None, Some(_)) => Quarantined::record(fence),
            (None, None) => Quarantined::named(&record.name, fence),
        };
        Task::entering(self, entry)
    }

    /// Notes that the stream's records of an item were given up at this one.
    pub fn discard(&self, record: &ChangeRecord) -> Task {
        let fence = Fence::of_record(self.epoch, record.sequence.clone());
        let entry = match SourceKey::of(self.mapping.source(), &record.key) {
            Some(source) => Quarantined::item(&record.key, &source, &Reason::Discarded, fence),
            None => Quarantined::record(fence),
        };
        Task::entering(self, entry)
    }

    fn repair_after(&self, key: &Item, entry: Option<&Quarantined>) -> Task {
        let Some(source) = SourceKey::of(self.mapping.source(), key) else {
            return Task::over(key.clone(), Verdict::Unchanged);
        };
        let failed = entry.map(|entry| entry.fence.clone());
        let (machine, turn) = match self.mapping.protocol() {
            Protocol::InPlace => InPlace::repair(self, key),
            Protocol::Fenced => Fenced::repair(self, key, failed),
            Protocol::Ledger => Move::repair(self, &source, key, failed),
        };
        Task::new(key.clone(), source, machine, turn).freeing(entry.cloned())
    }
}
