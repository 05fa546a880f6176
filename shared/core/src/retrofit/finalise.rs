//! When a retrofit is over: what it kept on the target's items, and the ledger, go.
//!
//! Nothing may be carried over any more by then, and what was under way must have ended: without fences and
//! tombstones, a late write would go through.

use super::control;
use super::mapping::{FENCE_ATTRIBUTE, OWN_ATTRIBUTES, OWNER_ATTRIBUTE, TOMBSTONE_ATTRIBUTE};
use super::protocol::LedgerRow;
use super::request::{Action, Guard, TableRole, Write};
use crate::model::Table;
use crate::value::Item;

/// The write that cleans an item of the target; `None` if there is nothing of the retrofit on it.
pub fn clean(target: &Table, item: &Item) -> Option<Write> {
    let key = target.key_of(item)?;
    let mark = item.get_key_value(FENCE_ATTRIBUTE).or_else(|| item.get_key_value(OWNER_ATTRIBUTE));
    let (attribute, value) = mark?;
    // Only what still has the mark that was read. An application that wrote the item meanwhile keeps what it wrote.
    let guard = Guard::equals(attribute, value.clone());
    let action = if item.contains_key(TOMBSTONE_ATTRIBUTE) {
        Action::Delete(key)
    } else {
        let kept = OWN_ATTRIBUTES.iter().filter(|name| item.contains_key(**name));
        Action::Update { key, set: Vec::new(), remove: kept.map(|name| (*name).to_owned()).collect() }
    };
    Some(Write { place: TableRole::Target, action, guard })
}

/// The write that takes a row out of this retrofit's ledger; `None` if the row is another.
pub fn forget(retrofit: &str, row: &Item) -> Option<Write> {
    let partition = control::text(row, control::PARTITION)?;
    let sort = control::text(row, control::SORT)?;
    if !partition.starts_with(&control::ledger_prefix(retrofit)) || sort != control::LEDGER_SORT {
        return None;
    }
    let known = LedgerRow::read(row)?;
    // A row that changed since it was read belongs to a worker that should not be at work any more: it stays, and is seen.
    let guard = Guard::equals(control::FENCE, known.fence.value());
    Some(Write { place: TableRole::Control, action: Action::Delete(control::key(partition, sort)), guard })
}
