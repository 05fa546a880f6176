//! A plan's answer, by checking every item.

use std::collections::BTreeMap;

use keyfold_core::query::plan::{Access, Operation, SortTest};
use keyfold_core::query::{Comparison, Condition, Path, QueryPlan};
use keyfold_core::value::Item;

use crate::views;

/// The items that match a plan, by their `at`.
pub(crate) fn all_matching(plan: &QueryPlan, items: &BTreeMap<i64, Item>) -> Vec<i64> {
    let matches = |item: &Item| plan.accesses.iter().any(|access| matches(access, item));
    items.iter().filter(|(_, item)| matches(item)).map(|(at, _)| *at).collect()
}

fn matches(access: &Access, item: &Item) -> bool {
    let table = views::table();
    let in_index = match access.source.index().and_then(|name| table.index(name)) {
        Some(index) => index.key_attributes().all(|key| item.contains_key(&key.name)),
        None => true,
    };
    let key = key_condition(&access.operation);
    in_index && key.holds(item) && access.filter.holds(item) && access.recheck.holds(item)
}

fn key_condition(operation: &Operation) -> Condition {
    let Operation::Query { partition, sort } = operation else { return Condition::always() };
    let equal = |name: &str, value| Condition::Is(Path::attribute(name), Comparison::Equal(value));
    let partition = partition.iter().map(|key| equal(&key.attribute, key.value.clone()));
    let sort = sort.iter().map(|condition| {
        let comparison = match condition.test.clone() {
            SortTest::Equal(value) => Comparison::Equal(value),
            SortTest::BeginsWith(value) => Comparison::BeginsWith(value),
            SortTest::Between(low, high) => Comparison::Between(low, high),
            SortTest::AtLeast(value) => Comparison::GreaterOrEqual(value),
            SortTest::Above(value) => Comparison::Greater(value),
            SortTest::AtMost(value) => Comparison::LessOrEqual(value),
            SortTest::Below(value) => Comparison::Less(value),
        };
        Condition::Is(Path::attribute(condition.attribute.as_str()), comparison)
    });
    Condition::all(partition.chain(sort))
}
