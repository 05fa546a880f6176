//! Was a change carried over, whatever became of its record? And do two items agree?
//!
//! Before a table opens, all changes of the closed one must have arrived. No figure of Lambda shows that: not the
//! age of a batch, not a record of one's own in the stream. The rows do: a change was carried over if the fence of its item's row
//! has risen to it. Then every write of an older state is refused.

use std::borrow::Cow;

use super::attributes::OWN_ATTRIBUTES;
use super::control::RetrofitState;
use super::fence::{Fence, SequenceNumber};
use super::job::Job;
use super::mapping::same_item;
use super::protocol::LedgerRow;
use super::protocol_choice::Protocol;
use super::quarantine::Quarantined;
use super::record::ChangeRecord;
use super::verify::expiry;
use crate::value::Item;

/// How far an operator's clock may be off that of AWS, which refuses requests beyond it.
pub(super) const CLOCK_SECONDS_MAX: u64 = 300;

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

/// The newest change of an item that its table's stream showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newest {
    /// Its place in the stream.
    pub sequence: SequenceNumber,
    /// Can it be from before every change left a row?
    pub may_lack_row: bool,
}

impl Newest {
    /// This change, which happened at that second. With a ledger, every change leaves a row from the beginning.
    pub fn of(head: &RetrofitState, sequence: SequenceNumber, seconds: u64) -> Newest {
        let is_ledger = head.protocol == Protocol::Ledger;
        Newest { sequence, may_lack_row: !is_ledger && is_before_rows(head, seconds) }
    }
}

/// Can a change of that second be from before the retrofit knew its own writes by rows?
pub fn is_before_rows(head: &RetrofitState, seconds: u64) -> bool {
    seconds <= head.rows_since.unwrap_or(u64::MAX).saturating_add(CLOCK_SECONDS_MAX)
}

/// An item's state in a record of the other table's stream; it identifies the retrofit's own writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// The item got this fence, or none.
    Fence(Option<Fence>),
    /// An item with this fence, or none, was deleted.
    Removed(Option<Fence>),
}

impl Sign {
    /// The state that this record shows.
    pub fn of(record: &ChangeRecord) -> Sign {
        match (&record.new, &record.old) {
            (None, Some(old)) => Sign::Removed(Fence::on(old)),
            (new, _) => Sign::Fence(new.as_ref().and_then(Fence::on)),
        }
    }
}

impl Job {
    /// Where an item of the source is in the target, by its key and its row; `None` if it is nowhere, or has no place there.
    pub fn place(&self, key: &Item, row: Option<&Item>) -> Option<Item> {
        match self.mapping().protocol() {
            Protocol::Ledger => LedgerRow::read(row?)?.target,
            Protocol::InPlace | Protocol::Fenced => self.mapping().target_key(key).ok().flatten(),
        }
    }

    /// Was this change carried over?
    pub fn has_arrived(&self, newest: &Newest, sides: Sides<'_>) -> bool {
        let fence = Fence::of_record(self.epoch(), newest.sequence.clone());
        let row = sides.row.and_then(LedgerRow::read).map(|row| row.fence);
        // Where keys can move, the fence of a place has the order of all items that had it.
        let on_item = match self.rows_decide() || self.mapping().protocol() == Protocol::Ledger {
            true => None,
            false => sides.target.and_then(Fence::on),
        };
        // Items that were carried over before there were rows may have no row. Its tombstone was swept, or a scan was enough.
        let before_rows = newest.may_lack_row && sides.row.is_none();
        before_rows || row.max(on_item) >= Some(fence)
    }

    /// The retrofit's last write to an item, which the target's stream must have shown; `None` if there was no write. Then all that
    /// was written to the item before has been seen too, also by writers that should be stopped: records of one item come in
    /// their order.
    pub fn last_write(&self, sides: Sides<'_>) -> Option<Sign> {
        let row = sides.row.and_then(LedgerRow::read);
        let wanted = match sides.target {
            Some(item) => Sign::Fence(Fence::on(item)),
            None => Sign::Removed(row.and_then(|row| row.removed)),
        };
        (!matches!(wanted, Sign::Fence(None) | Sign::Removed(None))).then_some(wanted)
    }

    /// Did the target's stream show the last write of this retrofit to an item?
    pub fn shows_last_write(&self, sides: Sides<'_>, seen: &[Sign]) -> bool {
        self.last_write(sides).is_none_or(|wanted| seen.contains(&wanted))
    }

    /// Does the source's item not fit, and is nothing in its place? Then it is accepted as absent from the target.
    pub fn is_out(&self, sides: Sides<'_>) -> bool {
        let fits = |item| self.mapping().carried(Cow::Borrowed(item)).is_ok();
        sides.target.is_none() && sides.source.is_some_and(|item| !fits(item))
    }

    /// Is the item on one side only, because its time is over? `expires`: whether the time to live of the two tables is on.
    pub fn is_expired(&self, sides: Sides<'_>, expires: [bool; 2], now_seconds: u64) -> bool {
        let mapping = self.mapping();
        match (sides.source, sides.target) {
            (Some(item), None) => expires[0] && expiry::is_over(mapping.source(), item, now_seconds),
            (None, Some(item)) => expires[1] && expiry::is_over(mapping.target(), item, now_seconds),
            _ => false,
        }
    }

    /// Does this entry of the quarantine say so of this change, and that it is accepted?
    pub fn is_accepted(&self, entry: &Quarantined, newest: Option<&Newest>) -> bool {
        let fence = newest.map(|newest| Fence::of_record(self.epoch(), newest.sequence.clone()));
        entry.accepted.is_some() && fence.is_none_or(|fence| entry.fence >= fence)
    }

    /// Is the target's item what the source's item maps to? Writers are stopped meanwhile.
    pub fn agrees(&self, sides: Sides<'_>) -> bool {
        let wanted = sides.source.map_or(Ok(None), |item| self.mapping().carried(Cow::Borrowed(item)));
        match (wanted, sides.target) {
            (Ok(Some(wanted)), Some(target)) => same_item(&wanted, target, &OWN_ATTRIBUTES),
            // An item that was not carried over may stand at its place in the source, on the way back.
            (Ok(None), Some(target)) => !self.mapping().may_own(target),
            (Ok(None), None) => true,
            (Ok(Some(_)), None) | (Err(_), _) => false,
        }
    }
}
