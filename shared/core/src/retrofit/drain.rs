//! Was a change carried over, whatever became of its record? And do two items agree?
//!
//! Who closes a table for its writers must know when all that they wrote has arrived. Nothing that Lambda tells says so: not the
//! age of a batch, not a record of one's own in the stream. The rows do: a change was carried over if the fence of its item's row
//! has risen to it. Then no write of an older state can go through any more, from wherever it comes.

use super::fence::{Fence, SequenceNumber};
use super::job::Job;
use super::mapping::{FENCE_ATTRIBUTE, OWN_ATTRIBUTES, same_item};
use super::protocol::{LedgerRow, fence_text};
use super::record::ChangeRecord;
use crate::value::Item;

/// The item's row and the item on both sides, read strongly, the row first.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'i> {
    /// Its row.
    pub row: Option<&'i Item>,
    /// The item in the table that changes are carried from.
    pub source: Option<&'i Item>,
    /// The item in the table that they are carried to.
    pub target: Option<&'i Item>,
}

impl Job {
    /// Was the change with this sequence number carried over? It must be one of those that leave a row.
    pub fn has_arrived(&self, sequence: &SequenceNumber, sides: Sides<'_>) -> bool {
        let fence = Fence::of_record(self.epoch(), sequence.clone());
        let row = sides.row.and_then(LedgerRow::read).map(|row| row.fence);
        let on_item = match self.rows_decide() {
            true => None,
            false => sides.target.and_then(|item| Fence::read(item.get(FENCE_ATTRIBUTE)?)),
        };
        row.max(on_item) >= Some(fence)
    }

    /// Did the target's stream show the last write of this retrofit to an item? Then all that was written to the item before has
    /// been seen too, also by somebody who should not have written: records of one item come in their order.
    pub fn shows_last_write<'r>(
        &self,
        sides: Sides<'_>,
        mut seen: impl Iterator<Item = &'r ChangeRecord>,
    ) -> bool {
        let row = sides.row.and_then(LedgerRow::read);
        match (sides.target, row.map(|row| row.removed)) {
            (Some(_), _) => {
                let fence = fence_text(sides.target);
                fence.is_empty() || seen.any(|record| fence_text(record.new.as_ref()) == fence)
            }
            (None, Some(removed)) if removed.last.is_some() => seen.any(|record| {
                record.new.is_none() && record.old.as_ref().is_some_and(|old| removed.is_last(old))
            }),
            (None, _) => true,
        }
    }

    /// Is the target's item what the source's item maps to? Nobody may write meanwhile.
    pub fn agrees(&self, sides: Sides<'_>) -> bool {
        let wanted = sides.source.map_or(Ok(None), |item| self.mapping().carried(item));
        match (wanted, sides.target) {
            (Ok(Some(wanted)), Some(target)) => same_item(&wanted, target, &OWN_ATTRIBUTES),
            // An item that was not carried over may stand at its place in the source, on the way back.
            (Ok(None), Some(target)) => !self.mapping().may_own(target),
            (Ok(None), None) => true,
            (Ok(Some(_)), None) | (Err(_), _) => false,
        }
    }
}
