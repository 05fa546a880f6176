//! A place of the table that follows, with its row: what is there by the retrofit, and for which item of the open table.
//!
//! The row's stamp changes with every write of the row, by any task, so it says whether a place is as it was read.

use sha2::{Digest, Sha256};

use super::row::LedgerRow;
use crate::condition::Comparison;
use crate::index::attribute_bytes;
use crate::retrofit::attributes::{FENCE_ATTRIBUTE, OWN_ATTRIBUTES, PLACE_ATTRIBUTE, REMOVING_ATTRIBUTE};
use crate::retrofit::fence::{Epoch, Fence};
use crate::retrofit::job::Job;
use crate::retrofit::mapping::same_item;
use crate::retrofit::quarantine::QuarantineReason;
use crate::retrofit::request::{Action, Guard, Request, TableRole, Write, is};
use crate::retrofit::source_key::SourceKey;
use crate::value::{AttributeValue, Item};

/// A place as it was read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub(super) name: SourceKey,
    pub(super) key: Item,
    pub(super) row: Option<LedgerRow>,
    pub(super) item: Option<Item>,
    /// The number of its attributes that are dropped before its deletion, so that its mark fits in.
    pub(super) dropped: usize,
}

impl Place {
    /// The place with this key; `None` if that is no key of the table.
    pub(super) fn of(job: &Job, key: &Item) -> Option<Place> {
        let target = job.mapping().target();
        let (name, key) = (SourceKey::of(target, key)?, target.key_of(key)?);
        Some(Place { name, key, row: None, item: None, dropped: 0 })
    }

    pub(super) fn read_row(&self, job: &Job) -> Request {
        let key = LedgerRow::place_key(job.mapping(), &self.name);
        Request::Get { role: TableRole::Control, key }
    }

    pub(super) fn read_item(&self) -> Request {
        Request::Get { role: TableRole::Target, key: self.key.clone() }
    }

    /// The key of the open table's item that its row names. It has the place only if that item's row names it, too.
    pub(super) fn holder(&self) -> Option<&Item> {
        self.row.as_ref()?.target.as_ref()
    }

    pub(super) fn is_held_by(&self, key: &Item) -> bool {
        self.holder().is_some_and(|holder| same_item(holder, key, &[]))
    }

    /// Is the item one that the retrofit must leave where it is? Not one that it has marked: attributes of that may be dropped.
    pub(super) fn is_foreign(&self, job: &Job) -> bool {
        self.item.as_ref().is_some_and(|item| !job.mapping().may_own(item)) && !self.is_marked(job)
    }

    pub(super) fn has(&self, wanted: &Item) -> bool {
        self.item.as_ref().is_some_and(|item| same_item(item, wanted, &OWN_ATTRIBUTES))
    }

    /// Is the item there as the retrofit wrote it last, and marked? Only then its deletion is known again.
    fn is_marked(&self, job: &Job) -> bool {
        let fence = self.fence(job);
        let is_last = fence.is_some() && self.row.as_ref().is_some_and(|row| row.shown == fence);
        is_last && self.item.as_ref().is_some_and(|item| item.contains_key(REMOVING_ATTRIBUTE))
    }

    /// Did the retrofit write this image here? A copy of an item at another key has the fence of that one, in another order.
    pub(super) fn is_written_here(&self, job: &Job, image: &Item) -> bool {
        image.get(PLACE_ATTRIBUTE) == Some(&self.digest(job))
    }

    /// The mark of an item that the retrofit writes here.
    fn digest(&self, job: &Job) -> AttributeValue {
        AttributeValue::S(stamp(job, &self.name, "place"))
    }

    /// The fence of the item here, if it got it here.
    fn fence(&self, job: &Job) -> Option<Fence> {
        self.item.as_ref().filter(|item| self.is_written_here(job, item)).and_then(Fence::on)
    }

    /// A fence above every fence that the retrofit has put here, for whichever item. An item that another program has moved here may have
    /// brought a higher fence: the new one is above that, too.
    fn next_shown(&self, fence: &Fence) -> Fence {
        let shown = self.row.as_ref().and_then(|row| row.shown.clone());
        let there = self.item.as_ref().and_then(Fence::on);
        [shown, there].iter().flatten().map(Fence::repaired).fold(fence.clone(), Fence::max)
    }

    /// The writes that put an item of the open table here.
    pub(super) fn put(
        &self,
        job: &Job,
        mut item: Item,
        holder: &Item,
        fence: &Fence,
        stamp: &str,
    ) -> [Write; 2] {
        let shown = self.next_shown(fence);
        item.insert(FENCE_ATTRIBUTE, shown.value());
        item.insert(PLACE_ATTRIBUTE, self.digest(job));
        let mut row = self.next_row(job, stamp);
        (row.target, row.shown) = (Some(holder.clone()), Some(shown));
        [self.put_row(job, &row), self.write(Action::Put(item))]
    }

    /// The writes after which no item has it. The item there is deleted, unless it is not the retrofit's.
    pub(super) fn free(&self, job: &Job, stamp: &str) -> Vec<Write> {
        let mut row = self.next_row(job, stamp);
        row.target = None;
        match self.item.as_ref().filter(|_| !self.is_foreign(job)) {
            Some(item) => {
                row.removed = Fence::on(item);
                vec![self.put_row(job, &row), self.write(Action::Delete(self.key.clone()))]
            }
            None => vec![self.put_row(job, &row)],
        }
    }

    /// Must what is there get a fence and a mark before it is deleted? A place is emptied and filled again while an item moves: without
    /// the mark a late deletion in between would pass for the retrofit's own.
    pub(super) fn needs_fence(&self, job: &Job) -> bool {
        self.item.is_some() && !self.is_foreign(job) && !self.is_marked(job)
    }

    /// The writes that give it one, and the place after them.
    pub(super) fn give_fence(&self, job: &Job) -> (Place, Vec<Write>) {
        let fence = self.next_shown(&Fence::of_scan(Epoch::FIRST));
        let mut item = self.item.clone().unwrap_or_default();
        item.insert(FENCE_ATTRIBUTE, fence.value());
        item.insert(PLACE_ATTRIBUTE, self.digest(job));
        item.insert(REMOVING_ATTRIBUTE, AttributeValue::Bool(true));
        self.make_room(job, &mut item);
        let mut row = self.next_row(job, &stamp(job, &self.name, &format!("fence {fence}")));
        row.shown = Some(fence);
        let writes = vec![self.put_row(job, &row), self.write(Action::Put(item.clone()))];
        (Place { row: Some(row), item: Some(item), ..self.clone() }, writes)
    }

    /// Drops large attributes of an item that is deleted next, until it is small enough with its marks. Without the marks its deletion
    /// would pass for another program's.
    fn make_room(&self, job: &Job, item: &mut Item) {
        let target = job.mapping().target();
        let is_kept = |name: &str| {
            OWN_ATTRIBUTES.contains(&name) || target.key_attributes().any(|key| key.name == name)
        };
        let others = item.iter().filter(|(name, _)| !is_kept(name));
        let mut others: Vec<(u64, String)> =
            others.map(|(name, value)| (attribute_bytes(name, value), name.to_string())).collect();
        others.sort();
        for (at, (_, name)) in others.iter().rev().enumerate() {
            if at >= self.dropped && target.check_size(item).is_ok() {
                break;
            }
            item.remove(name.as_str());
        }
    }

    /// DynamoDB has refused the mark: one attribute more is dropped. False if none is left.
    pub(super) fn drop_one(&mut self) -> bool {
        self.dropped += 1;
        self.item.as_ref().is_some_and(|item| self.dropped <= item.len())
    }

    fn next_row(&self, job: &Job, stamp: &str) -> LedgerRow {
        let row = self.row.clone().unwrap_or_else(|| LedgerRow::new(Fence::of_scan(Epoch::FIRST)));
        let is_there = row.shown == self.fence(job);
        // Without this, once `removed` has risen above that fence, a deletion that another program made passes for the retrofit's own.
        let lost = if is_there || row.shown <= row.removed { row.lost.clone() } else { row.shown.clone() };
        LedgerRow { stamp: Some(stamp.to_owned()), generation: job.generation(), lost, ..row }
    }

    fn put_row(&self, job: &Job, row: &LedgerRow) -> Write {
        row.put_place(self.row.as_ref(), job.mapping(), &self.name, &self.key)
    }

    /// The write, if the item is as it was read.
    fn write(&self, action: Action) -> Write {
        Write { role: TableRole::Target, action, guard: unchanged(self.item.as_ref()) }
    }
}

/// Is an item as it was read? To delete what is not there asks that nothing be there still.
pub(super) fn unchanged(item: Option<&Item>) -> Guard {
    match item.map(|item| item.get(FENCE_ATTRIBUTE)) {
        Some(Some(fence)) => Guard::equals(FENCE_ATTRIBUTE, fence.clone()),
        Some(None) => Guard::Present(is(FENCE_ATTRIBUTE, Comparison::Exists(false))),
        None => Guard::Absent,
    }
}

/// Does the item fit with all marks that the retrofit gives it, the last of them before its deletion?
pub(super) fn check_with_marks(job: &Job, name: &SourceKey, item: &mut Item) -> Result<(), QuarantineReason> {
    item.insert(FENCE_ATTRIBUTE, Fence::of_scan(job.epoch()).value());
    item.insert(PLACE_ATTRIBUTE, AttributeValue::S(stamp(job, name, "place")));
    item.insert(REMOVING_ATTRIBUTE, AttributeValue::Bool(true));
    let fits = job.mapping().target().check_size(item);
    for mark in [FENCE_ATTRIBUTE, PLACE_ATTRIBUTE, REMOVING_ATTRIBUTE] {
        item.remove(mark);
    }
    fits.map_err(|error| QuarantineReason::unmappable(&error))
}

/// A text that no other write of a row has: of the item's key, and of its fence, which rises with every write.
pub(super) fn stamp(job: &Job, of: &SourceKey, what: &str) -> String {
    let text = format!("{}#{}#{what}", job.mapping().rows_name(), of.row_key());
    let digest = Sha256::digest(text);
    digest[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The read of a row of the control table.
pub(super) fn read(key: Item) -> Request {
    Request::Get { role: TableRole::Control, key }
}
