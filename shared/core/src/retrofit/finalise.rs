//! When a retrofit is over: what it kept on the target's items, and the ledger, go.
//!
//! By then no changes may be carried over, and requests in flight must have ended: without fences and
//! tombstones, a late write would go through.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::attributes::{
    FENCE_ATTRIBUTE, OWN_ATTRIBUTES, OWNER_ATTRIBUTE, PLACE_ATTRIBUTE, REMOVING_ATTRIBUTE,
    TOMBSTONE_ATTRIBUTE,
};
use super::control;
use super::mapping::reverse_name;
use super::protocol::LedgerRow;
use super::request::{Action, Guard, TableRole, Write, is};
use crate::condition::{Comparison, Condition};
use crate::cost::WriteUnits;
use crate::model::Table;
use crate::value::Item;

/// The most attributes that a tombstone is asked not to have, so that the condition stays below DynamoDB's 4 KB.
const ABSENT_MAX: usize = 100;

/// The marks of an item, in the order in which they show that it was written since. An application can keep some of them.
const MARKS: [&str; 4] = [FENCE_ATTRIBUTE, OWNER_ATTRIBUTE, PLACE_ATTRIBUTE, REMOVING_ATTRIBUTE];

/// The bytes that one read unit reads in a strongly consistent scan.
const SCAN_UNIT_KILOBYTES: u64 = 4;

/// The write that cleans an item of the target; `None` if there is nothing of the retrofit on it. A refused write is followed
/// by another read of the item: an application wrote it meanwhile.
pub fn clean(target: &Table, item: &Item) -> Option<Write> {
    let key = target.key_of(item)?;
    let mark = |attribute| Some((attribute, item.get(attribute)?));
    let (attribute, value) = MARKS.into_iter().find_map(mark)?;
    // Only what still has the mark that was read. An application that wrote the item meanwhile keeps what it wrote.
    let same = is(attribute, Comparison::Equal(value.clone()));
    if item.contains_key(TOMBSTONE_ATTRIBUTE) && !is_revived(target, item) {
        // An application's update of a tombstone keeps the mark: without the rest of the guard its item goes.
        let absent = own_names(target).map(|name| is(name, Comparison::Exists(false)));
        let guard = Guard::Present(Condition::all(absent.take(ABSENT_MAX).chain([same])));
        return Some(Write { role: TableRole::Target, action: Action::Delete(key), guard });
    }
    let kept = OWN_ATTRIBUTES.iter().filter(|name| item.contains_key(**name));
    let action = Action::Update {
        key: Arc::new(key),
        set: Vec::new(),
        remove: kept.map(|name| (*name).to_owned()).collect(),
    };
    Some(Write { role: TableRole::Target, action, guard: Guard::Present(same) })
}

/// About what it costs to take the marks off `items` items whose strongly consistent scan takes `scan_units` read units: each is
/// written again, with its entries in the indexes that show the marks.
pub fn write_units(target: &Table, items: u64, scan_units: u64) -> WriteUnits {
    let kilobytes = scan_units.saturating_mul(SCAN_UNIT_KILOBYTES).div_ceil(items.max(1));
    let showing =
        target.indexes.iter().filter(|index| index.projects(target, FENCE_ATTRIBUTE)).count() as u64;
    WriteUnits::new(items.saturating_mul(kilobytes).saturating_mul(1 + showing))
}

/// The write that takes a tombstone away, or its marks if an application has written over it; `None` for an item that is no
/// tombstone. For a target whose deletes leave no tombstones.
pub fn sweep(target: &Table, item: &Item) -> Option<Write> {
    let dead = is(TOMBSTONE_ATTRIBUTE, Comparison::Equal(item.get(TOMBSTONE_ATTRIBUTE)?.clone()));
    let mut write = clean(target, item)?;
    // The fence alone says that nothing of the retrofit has changed; the mark, that it is a tombstone still.
    if let Guard::Present(same) = write.guard {
        write.guard = Guard::Present(Condition::all([same, dead]));
    }
    Some(write)
}

/// Did an application write to this tombstone? It is the application's item then, and lives.
pub fn is_revived(target: &Table, item: &Item) -> bool {
    let is_key = |name: &str| target.key_attributes().any(|key| key.name == name);
    let own = |name: &str| OWN_ATTRIBUTES.contains(&name) || is_key(name);
    item.contains_key(TOMBSTONE_ATTRIBUTE) && !item.keys().all(|name| own(name))
}

/// The attributes, known from the manifest, that an item of the table can have in addition to its key.
fn own_names(target: &Table) -> impl Iterator<Item = &str> {
    let keys: BTreeSet<&str> = target.key_attributes().map(|key| key.name.as_str()).collect();
    let folded = target.every_key().map(|(_, key)| key.name.as_str());
    let names: BTreeSet<&str> = target.attributes.keys().map(String::as_str).chain(folded).collect();
    names.into_iter().filter(move |name| !keys.contains(name))
}

/// The write that takes a row out of this retrofit's ledger; `None` if the row is another.
pub fn forget(retrofit: &str, row: &Item) -> Option<Write> {
    let partition = control::text(row, control::PARTITION)?;
    let sort = control::text(row, control::SORT)?;
    let names = [retrofit.to_owned(), reverse_name(retrofit)];
    let is_own = names.iter().any(|name| partition.starts_with(&control::ledger_prefix(name)));
    if !is_own || sort != control::LEDGER_SORT {
        return None;
    }
    control::check_format(row).ok()?;
    let known = LedgerRow::read(row)?;
    // A row that changed since it was read belongs to a worker that should have ended: it stays, and is reported.
    let guard = LedgerRow::guard(Some(&known));
    Some(Write { role: TableRole::Control, action: Action::Delete(control::key(partition, sort)), guard })
}
