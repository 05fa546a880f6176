//! The task for a record, a scanned item, a repair or a failure.

use std::borrow::Cow;
use std::sync::Arc;

use super::fence::{Epoch, Fence, SequenceNumber};
use super::job::Job;
use super::protocol::ItemMachine;
use super::protocol_choice::Protocol;
use super::quarantine::{QuarantineReason, Quarantined};
use super::record::{ChangeRecord, Received, UnreadableRecord};
use super::result::TaskResult;
use super::source_key::SourceKey;
use super::task::ItemTask;
use crate::value::Item;

impl Job {
    /// Deals with a record of a batch.
    pub fn receive(&self, record: &Received) -> ItemTask {
        match record {
            Received::Change(record) => self.apply(record),
            Received::Unreadable(record) => self.unreadable(record),
        }
    }

    /// The same for a record that is consumed: nothing is copied.
    pub fn take(&self, record: Received) -> ItemTask {
        match record {
            Received::Change(ChangeRecord { sequence, key, old, new, .. }) => {
                self.carry_over(sequence, key, old.as_ref(), new.map(Cow::Owned))
            }
            Received::Unreadable(record) => self.unreadable(&record),
        }
    }

    /// Carries a change of the stream over. Any record of an item may be left out if a later one of it is applied.
    pub fn apply(&self, record: &ChangeRecord) -> ItemTask {
        let new = record.new.as_ref().map(Cow::Borrowed);
        self.carry_over(record.sequence.clone(), record.key.clone(), record.old.as_ref(), new)
    }

    fn carry_over(
        &self,
        sequence: SequenceNumber,
        key: Item,
        old: Option<&Item>,
        new: Option<Cow<'_, Item>>,
    ) -> ItemTask {
        let fence = Fence::of_record(self.epoch(), sequence);
        let Some(source) = SourceKey::of(self.mapping().source(), &key) else {
            return ItemTask::entering(self, Quarantined::record(fence));
        };
        let key = Arc::new(key);
        let started = ItemMachine::apply(self, &source, &key, old, new, fence);
        ItemTask::new(key, started)
    }

    /// Looks at a change of the table that this job writes to, which its writers should not make: `epoch` is that of its stream.
    pub fn late(&self, record: &ChangeRecord, epoch: Epoch) -> ItemTask {
        let key = self.mapping().origin(&record.key);
        let open = key.and_then(|key| Some((SourceKey::of(self.mapping().source(), &key)?, key)));
        if open.is_none() && self.mapping().protocol() != Protocol::Ledger {
            // No item of the open table can have this place.
            return ItemTask::over(record.key.clone(), TaskResult::NotSelected);
        }
        let key = open.as_ref().map_or(&record.key, |(_, key)| key).clone();
        ItemTask::new(Arc::new(key), ItemMachine::late(self, open, record, epoch))
    }

    /// Carries a scanned item over, unless something newer is there. `careful` looks before it writes: for a pass that
    /// finds most items done already, where a look costs less than a write that is refused.
    pub fn backfill(&self, item: Item, careful: bool) -> ItemTask {
        let Some(key) = self.mapping().source().key_of(&item) else {
            return ItemTask::entering(self, Quarantined::record(Fence::of_scan(self.epoch())));
        };
        let key = Arc::new(key);
        let started = ItemMachine::backfill(self, &key, item, careful);
        ItemTask::new(key, started)
    }

    /// Reads a source item again and makes the target what it should be.
    pub fn repair(&self, key: &Item) -> ItemTask {
        self.repair_after(key, None)
    }

    /// Writes this item of the target once more, as the source has it: the target's stream shows it then. `None` if another item
    /// has to be taken. Only once each change has a row.
    pub fn rewrite(&self, target: &Item) -> Option<ItemTask> {
        // An item without a mark may be another program's, until the target had its own writers.
        let source = self.owner(target)?;
        let key = Arc::new(source.item(self.mapping().source())?);
        let started = ItemMachine::rewrite(self, &source, &key);
        Some(ItemTask::new(key, started))
    }

    /// The source item that a target item is of. Once both tables had writers of their own, what they wrote has no mark.
    pub(super) fn owner(&self, target: &Item) -> Option<SourceKey> {
        let mapping = self.mapping();
        let origin = match (self.rows_decide(), self.other()) {
            (false, _) => return mapping.owner(target),
            (true, Some(other)) => other.carried(Cow::Borrowed(target)).ok()??,
            (true, None) => mapping.origin(&mapping.target().key_of(target)?)?,
        };
        SourceKey::of(mapping.source(), &origin)
    }

    /// Carries an item over as its table has it now, because this change of it has not arrived. The record's own image is not written:
    /// it can be older than what the item's row stands for.
    pub fn carry_now(&self, key: &Item, change: SequenceNumber) -> ItemTask {
        self.repair_after(key, Some(Fence::of_record(self.epoch(), change)))
    }

    /// The same for an item in quarantine, which leaves it then. An entry that names no item cannot be repaired; it is
    /// for [`dismiss`](Self::dismiss).
    pub fn release(&self, entry: &Quarantined) -> Option<ItemTask> {
        let key = entry.key.as_ref()?;
        Some(self.repair_after(key, Some(entry.fence.clone())).freeing(Some(entry.clone())))
    }

    /// Takes an entry out of the quarantine: after a complete verification found nothing.
    pub fn dismiss(&self, entry: &Quarantined) -> ItemTask {
        ItemTask::leaving(self, entry)
    }

    /// Notes that a record could not be read. Without a sequence number the entry is as old as a scan: whatever is known
    /// of the item is newer.
    pub fn unreadable(&self, record: &UnreadableRecord) -> ItemTask {
        let fence = match &record.sequence {
            Some(sequence) => Fence::of_record(self.epoch(), sequence.clone()),
            None => Fence::of_scan(self.epoch()),
        };
        let key = record.key.as_ref();
        let item = key.and_then(|key| Some((key, SourceKey::of(self.mapping().source(), key)?)));
        let entry = match (item, &record.sequence) {
            (Some((key, source)), _) => Quarantined::item(key, &source, &QuarantineReason::Unreadable, fence),
            (None, Some(_)) => Quarantined::record(fence),
            (None, None) => Quarantined::named(&record.name, fence),
        };
        ItemTask::entering(self, entry)
    }

    /// Notes that a batch of records was given up, and where it was set aside: which items it has is known when it is read.
    pub fn set_aside(&self, place: &str) -> ItemTask {
        ItemTask::entering(self, Quarantined::set_aside(place, Fence::of_scan(self.epoch())))
    }

    /// Notes that the stream's records of an item were given up at this one. The item is read again when it leaves the
    /// quarantine; the record's own image is old by then.
    pub fn discard(&self, record: &ChangeRecord) -> ItemTask {
        let fence = Fence::of_record(self.epoch(), record.sequence.clone());
        let entry = match SourceKey::of(self.mapping().source(), &record.key) {
            Some(source) => Quarantined::item(&record.key, &source, &QuarantineReason::Discarded, fence),
            None => Quarantined::record(fence),
        };
        ItemTask::entering(self, entry)
    }

    fn repair_after(&self, key: &Item, failed: Option<Fence>) -> ItemTask {
        let Some(source) = SourceKey::of(self.mapping().source(), key) else {
            return ItemTask::over(key.clone(), TaskResult::Unchanged);
        };
        let key = Arc::new(key.clone());
        let started = ItemMachine::repair(self, &source, &key, failed);
        ItemTask::new(key, started)
    }
}
