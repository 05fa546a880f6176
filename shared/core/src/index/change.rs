//! The effect of one write on a table and its indexes, in write units.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ThroughputConsiderations.Writes>
//!
//! | entry before | entry after                | the index does       | units                       |
//! |--------------|----------------------------|----------------------|-----------------------------|
//! | none         | none                       | nothing              | 0                           |
//! | none         | there                      | put                  | by the new size             |
//! | there        | none                       | delete               | by the old size             |
//! | there        | other key                  | delete, then put     | each by its own size, added |
//! | there        | same key, other attributes | put                  | by the larger size          |
//! | there        | the same                   | nothing              | 0                           |
//!
//! Local and global indexes follow the same rules.

use crate::cost::WriteUnits;
use crate::index::size::{attribute_bytes, item_bytes};
use crate::model::{Index, KeyAttribute, Table};
use crate::value::{Item, equal};

/// The cost of one write, for the table and each index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableWrite<'t> {
    /// The units of the table itself.
    pub table_units: WriteUnits,
    /// The effect on each index, in the table's order, including indexes that do not change.
    pub indexes: Vec<IndexWrite<'t>>,
}

impl TableWrite<'_> {
    /// All units: the table's and the indexes'.
    pub fn total(&self) -> WriteUnits {
        self.table_units + self.indexes.iter().map(|index| index.units).sum()
    }

    /// The same write inside a transaction: the table's units double, those of the indexes do not.
    ///
    /// The documentation speaks of two units per KB of the item and is silent on indexes; consumed capacity as
    /// DynamoDB reports it shows index units unchanged.
    #[must_use]
    pub fn transactional(mut self) -> Self {
        self.table_units = self.table_units.transactional();
        self
    }
}

/// The effect of one write on one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexWrite<'t> {
    /// The index's name.
    pub index: &'t str,
    /// The action.
    pub action: IndexAction,
    /// The units it consumes.
    pub units: WriteUnits,
}

/// The action of an index for a write to the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexAction {
    /// The entry does not change, or does not exist.
    None,
    /// A new entry, or other attributes under the same key.
    Put,
    /// The entry is deleted.
    Delete,
    /// The key changes: the entry moves.
    DeleteThenPut,
}

/// The cost of replacing `old` by `new`; `None`: no item.
///
/// Usually both have the same primary key. If the keys differ, it is the cost of deleting one item and putting the
/// other. With neither, it is the delete of a missing item.
pub fn changes<'t>(table: &'t Table, old: Option<&Item>, new: Option<&Item>) -> TableWrite<'t> {
    let (old_bytes, new_bytes) = (old.map(item_bytes), new.map(item_bytes));
    let table_units = match (old, new, old_bytes, new_bytes) {
        (Some(old), Some(new), Some(old_bytes), Some(new_bytes))
            if moved(table.key_attributes(), old, new) =>
        {
            WriteUnits::of(old_bytes) + WriteUnits::of(new_bytes)
        }
        _ => WriteUnits::of_change(old_bytes, new_bytes),
    };
    let indexes = table.indexes.iter().map(|index| index_write(table, index, old, new)).collect();
    TableWrite { table_units, indexes }
}

fn index_write<'t>(
    table: &Table,
    index: &'t Index,
    old: Option<&Item>,
    new: Option<&Item>,
) -> IndexWrite<'t> {
    let present = |item: Option<&'_ Item>| item.is_some_and(|item| index.absence(item).is_none());
    let old = old.filter(|item| present(Some(item)));
    let new = new.filter(|item| present(Some(item)));
    let units = |item| WriteUnits::of(projected_bytes(table, index, item));
    let (action, units) = match (old, new) {
        (None, None) => (IndexAction::None, WriteUnits::ZERO),
        (None, Some(new)) => (IndexAction::Put, units(new)),
        (Some(old), None) => (IndexAction::Delete, units(old)),
        // An index entry's identity includes the table's key.
        (Some(old), Some(new)) if moved(index.key_attributes().chain(table.key_attributes()), old, new) => {
            (IndexAction::DeleteThenPut, units(old) + units(new))
        }
        (Some(old), Some(new)) if same_entry(table, index, old, new) => (IndexAction::None, WriteUnits::ZERO),
        (Some(old), Some(new)) => (IndexAction::Put, units(old).max(units(new))),
    };
    IndexWrite { index: &index.name, action, units }
}

fn projected_bytes(table: &Table, index: &Index, item: &Item) -> u64 {
    index.projected(table, item).map(|(name, value)| attribute_bytes(name, value)).sum()
}

/// Does one of these key attributes differ?
fn moved<'a>(mut keys: impl Iterator<Item = &'a KeyAttribute>, old: &Item, new: &Item) -> bool {
    keys.any(|key| match (old.get(&key.name), new.get(&key.name)) {
        (Some(old), Some(new)) => !equal(old, new),
        (old, new) => old.is_some() != new.is_some(),
    })
}

fn same_entry(table: &Table, index: &Index, old: &Item, new: &Item) -> bool {
    let count = |item| index.projected(table, item).count();
    count(old) == count(new)
        && index.projected(table, old).all(|(name, value)| new.get(name).is_some_and(|new| equal(value, new)))
}
