//! The price of a table in a month, by the documented rules for writes and storage.
//!
//! Each write puts a whole item. [`changes`] gives its units in each index.

use keyfold_core::cost::Prices;
use keyfold_core::index::changes;
use keyfold_core::model::Table;
use serde::Serialize;

use crate::workload::Kind;

const MILLION: f64 = 1e6;
const GB: f64 = 1024.0 * 1024.0 * 1024.0;

/// Dollars a month.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Cost {
    /// For writes.
    pub writes: f64,
    /// For storage.
    pub storage: f64,
    /// For reads.
    pub reads: f64,
}

impl Cost {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.writes + self.storage + self.reads
    }

    /// The difference in writes and storage. The reads stay.
    pub(crate) fn without(self, other: Cost) -> Cost {
        Cost { writes: self.writes - other.writes, storage: self.storage - other.storage, reads: self.reads }
    }
}

/// The writes and the storage of a table with all its indexes. `None` if an item does not fit one of its keys.
pub(crate) fn of(table: &Table, kinds: &[Kind], prices: &Prices) -> Option<Cost> {
    let mut cost = Cost::default();
    for kind in kinds {
        let item = table.with_keys(kind.item.clone()).ok()?;
        let units = changes(table, None, Some(&item)).total().get() as f64;
        cost.writes += units * kind.writes_a_month * prices.write_million / MILLION;
        cost.storage += table.storage_bytes(&item) as f64 * kind.items / GB * prices.storage_gb_month;
    }
    Some(cost)
}

/// Dollars for reads.
pub(crate) fn of_reads(units: f64, times: f64, prices: &Prices) -> f64 {
    units * times * prices.read_million / MILLION
}
