//! What a call really cost, as DynamoDB reports it.

use std::collections::BTreeMap;

/// Consumed capacity units: read units of a read, write units of a write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Consumed {
    /// All of it.
    pub units: f64,
    /// The table's share.
    pub table_units: f64,
    /// The share of each index that was touched, by its name.
    pub index_units: BTreeMap<String, f64>,
}

impl Consumed {
    /// Adds what another call has cost.
    pub fn add(&mut self, other: &Consumed) {
        self.units += other.units;
        self.table_units += other.table_units;
        for (index, units) in &other.index_units {
            match self.index_units.get_mut(index) {
                Some(sum) => *sum += units,
                None => _ = self.index_units.insert(index.clone(), *units),
            }
        }
    }
}
