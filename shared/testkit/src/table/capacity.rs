//! The consumption of a read or a write, for the table and each index.

use std::collections::BTreeMap;

use keyfold_core::cost::{Consistency, ReadUnits, WriteUnits, lsi_fetch_read_units, query_read_units};
use keyfold_core::index::TableWrite;

/// The consumption of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadConsumed {
    /// Of the table.
    pub table: ReadUnits,
    /// Of each index that was read.
    pub indexes: BTreeMap<String, ReadUnits>,
}

/// The consumption of a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteConsumed {
    /// Of the table.
    pub table: WriteUnits,
    /// Of each index that was written.
    pub indexes: BTreeMap<String, WriteUnits>,
}

impl ReadConsumed {
    /// All of it.
    pub fn total(&self) -> ReadUnits {
        self.indexes.values().fold(self.table, |sum, units| sum + *units)
    }

    /// A page of entries, of the table or of an index.
    pub(super) fn page(index: Option<&str>, bytes: &[u64], consistent: bool) -> ReadConsumed {
        let units = query_read_units(bytes.iter().copied(), consistency(consistent));
        match index {
            None => ReadConsumed { table: units, indexes: BTreeMap::new() },
            Some(name) => {
                ReadConsumed { table: ReadUnits::ZERO, indexes: BTreeMap::from([(name.to_owned(), units)]) }
            }
        }
    }

    /// A page of a local index, and the items fetched from the table for it: each rounded up separately.
    pub(super) fn fetched(index: &str, entries: &[u64], items: &[u64], consistent: bool) -> ReadConsumed {
        let of_entries = query_read_units(entries.iter().copied(), consistency(consistent));
        let all =
            lsi_fetch_read_units(entries.iter().copied(), items.iter().copied(), consistency(consistent));
        ReadConsumed {
            table: ReadUnits::from_halves(all.halves().saturating_sub(of_entries.halves())),
            indexes: BTreeMap::from([(index.to_owned(), of_entries)]),
        }
    }
}

impl From<TableWrite<'_>> for WriteConsumed {
    fn from(write: TableWrite<'_>) -> WriteConsumed {
        let touched = write.indexes.iter().filter(|index| index.units != WriteUnits::ZERO);
        WriteConsumed {
            table: write.table_units,
            indexes: touched.map(|index| (index.index.to_owned(), index.units)).collect(),
        }
    }
}

pub(super) fn consistency(consistent: bool) -> Consistency {
    if consistent { Consistency::Strong } else { Consistency::Eventual }
}
