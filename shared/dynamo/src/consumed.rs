//! The consumed capacity of a call, from `ReturnConsumedCapacity=INDEXES`.

use aws_sdk_dynamodb::types::{Capacity, ConsumedCapacity};

pub use keyfold_core::execute::Consumed;

/// The reported capacity of one call; zero without a report.
pub(crate) fn of(reported: Option<&ConsumedCapacity>) -> Consumed {
    let Some(reported) = reported else { return Consumed::default() };
    let local = reported.local_secondary_indexes().into_iter().flatten();
    let global = reported.global_secondary_indexes().into_iter().flatten();
    Consumed {
        units: reported.capacity_units().unwrap_or_default(),
        table_units: reported.table().map(units).unwrap_or_default(),
        index_units: local.chain(global).map(|(name, capacity)| (name.clone(), units(capacity))).collect(),
    }
}

/// The capacity of a call on one table whose API could name several.
pub(crate) fn of_all(reported: &[ConsumedCapacity]) -> Consumed {
    let mut sum = Consumed::default();
    for one in reported {
        sum.add(&of(Some(one)));
    }
    sum
}

fn units(capacity: &Capacity) -> f64 {
    capacity.capacity_units().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
        let sum = of_all(&[report(1.5, 1.0, 0.5), report(4.0, 1.0, 3.0)]);
        assert_eq!((sum.units, sum.table_units), (5.5, 2.0));
        assert_eq!(sum.index_units, BTreeMap::from([("byDate".to_owned(), 3.5)]));
    }

    #[test]
    fn a_call_that_reports_nothing_cost_nothing() {
        assert_eq!(of(None), Consumed::default());
    }
}
