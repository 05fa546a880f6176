//! What a call really cost, as DynamoDB reports it with `ReturnConsumedCapacity=INDEXES`.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{Capacity, ConsumedCapacity};

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
    /// What one call reports; nothing if it reports nothing.
    pub(crate) fn of(reported: Option<&ConsumedCapacity>) -> Consumed {
        let Some(reported) = reported else { return Consumed::default() };
        let local = reported.local_secondary_indexes().into_iter().flatten();
        let global = reported.global_secondary_indexes().into_iter().flatten();
        Consumed {
            units: reported.capacity_units().unwrap_or_default(),
            table_units: reported.table().map(units).unwrap_or_default(),
            index_units: local
                .chain(global)
                .map(|(name, capacity)| (name.clone(), units(capacity)))
                .collect(),
        }
    }

    /// What a call on one table reports that could have named several.
    pub(crate) fn of_all(reported: &[ConsumedCapacity]) -> Consumed {
        let mut sum = Consumed::default();
        for one in reported {
            sum.add(&Consumed::of(Some(one)));
        }
        sum
    }

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

fn units(capacity: &Capacity) -> f64 {
    capacity.capacity_units().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(units: f64, table: f64, local: f64) -> ConsumedCapacity {
        let capacity = |units: f64| Capacity::builder().capacity_units(units).build();
        ConsumedCapacity::builder()
            .capacity_units(units)
            .table(capacity(table))
            .local_secondary_indexes("byDate", capacity(local))
            .build()
    }

    #[test]
    fn the_shares_of_several_calls_add_up() {
        let sum = Consumed::of_all(&[report(1.5, 1.0, 0.5), report(4.0, 1.0, 3.0)]);
        assert_eq!((sum.units, sum.table_units), (5.5, 2.0));
        assert_eq!(sum.index_units, BTreeMap::from([("byDate".to_owned(), 3.5)]));
    }

    #[test]
    fn a_call_that_reports_nothing_cost_nothing() {
        assert_eq!(Consumed::of(None), Consumed::default());
    }
}
