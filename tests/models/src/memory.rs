//! A plan carried out by the letter, over items in memory: slow, and too simple to be wrong in the executor's ways.
//!
//! What it finds wrong is the plan's fault, or the manifest's.

use std::cmp::Ordering;

use keyfold_core::model::{KeyAttribute, Table};
use keyfold_core::query::order::compare_items;
use keyfold_core::query::plan::{Access, Delivery, Hydration, Operation, SortTest};
use keyfold_core::query::{Condition, QueryPlan};
use keyfold_core::value::{AttributeValue, Item, compare, equal, type_letter};

/// What the plan answers, all of it, whatever its limit. `Err` if the plan promises an order that it does not give.
pub fn answer(table: &Table, stored: &[Item], plan: &QueryPlan) -> Result<Vec<Item>, String> {
    let mut answer = Vec::new();
    for access in &plan.accesses {
        let items = read(table, stored, access)?;
        let is_ordered = items.is_sorted_by(|a, b| compare_items(&plan.order, a, b).is_le());
        if !matches!(plan.delivery, Delivery::SortedInMemory { .. }) && !plan.count && !is_ordered {
            return Err(format!("{:?} does not give the order it promises", access.source));
        }
        answer.extend(items);
    }
    // Stable: the lanes of a merge stay in their order among equals.
    answer.sort_by(|a, b| compare_items(&plan.order, a, b));
    Ok(answer)
}

fn read(table: &Table, stored: &[Item], access: &Access) -> Result<Vec<Item>, String> {
    let index = match access.source.index() {
        Some(name) => Some(table.index(name).ok_or_else(|| format!("no index `{name}`"))?),
        None => None,
    };
    let keys: Vec<&KeyAttribute> = match index {
        Some(index) => index.key_attributes().collect(),
        None => table.key_attributes().collect(),
    };
    let sort: Vec<&KeyAttribute> = match index {
        Some(index) => index.sort.iter().collect(),
        None => table.sort.iter().collect(),
    };
    let mut found: Vec<&Item> = stored.iter().filter(|item| has_keys(item, &keys)).collect();
    found.retain(|item| is_selected(item, &access.operation));
    check_filter(access, &keys)?;
    found.retain(|item| access.filter.holds(item));
    // Whatever is fetched later is looked at later.
    let seen = |condition: &Condition| {
        let held = |name: &str| index.is_none_or(|index| holds(table, index, name));
        access.hydration != Hydration::None || condition.only_uses(&held)
    };
    if !seen(&access.filter) || !seen(&access.recheck) {
        return Err("a condition looks at what the index does not hold".to_owned());
    }
    found.retain(|item| access.recheck.holds(item));
    found.sort_by(|a, b| {
        let by = |key: &&KeyAttribute| match (a.get(&key.name), b.get(&key.name)) {
            (Some(a), Some(b)) => compare(a, b).unwrap_or(Ordering::Equal),
            _ => Ordering::Equal,
        };
        let ascending = sort.iter().map(by).find(|order| order.is_ne()).unwrap_or(Ordering::Equal);
        if access.descending { ascending.reverse() } else { ascending }
    });
    Ok(found.into_iter().cloned().collect())
}

/// DynamoDB refuses a filter on the key that is queried by.
fn check_filter(access: &Access, keys: &[&KeyAttribute]) -> Result<(), String> {
    let is_query = matches!(access.operation, Operation::Query { .. });
    if is_query && !access.filter.only_uses(&|name| keys.iter().all(|key| key.name != name)) {
        return Err("a filter on the key that is queried by".to_owned());
    }
    Ok(())
}

fn holds(table: &Table, index: &keyfold_core::model::Index, name: &str) -> bool {
    use keyfold_core::model::Projection;
    table.key_attributes().chain(index.key_attributes()).any(|key| key.name == name)
        || match &index.projection {
            Projection::All => true,
            Projection::KeysOnly => false,
            Projection::Include(names) => names.iter().any(|held| held == name),
        }
}

fn has_keys(item: &Item, keys: &[&KeyAttribute]) -> bool {
    keys.iter().all(|key| item.get(&key.name).is_some_and(|value| type_letter(value) == key.scalar.letter()))
}

fn is_selected(item: &Item, operation: &Operation) -> bool {
    let Operation::Query { partition, sort } = operation else { return true };
    partition.iter().all(|key| item.get(&key.attribute).is_some_and(|value| equal(value, &key.value)))
        && sort.iter().all(|key| item.get(&key.attribute).is_some_and(|value| passes(value, &key.test)))
}

fn passes(value: &AttributeValue, test: &SortTest) -> bool {
    let order = |bound: &AttributeValue| compare(value, bound);
    match test {
        SortTest::Equal(wanted) => equal(value, wanted),
        SortTest::BeginsWith(prefix) => match (value, prefix) {
            (AttributeValue::S(text), AttributeValue::S(prefix)) => text.starts_with(prefix),
            (AttributeValue::B(bytes), AttributeValue::B(prefix)) => bytes.starts_with(prefix),
            _ => false,
        },
        SortTest::Between(low, high) => {
            order(low).is_some_and(Ordering::is_ge) && order(high).is_some_and(Ordering::is_le)
        }
        SortTest::AtLeast(low) => order(low).is_some_and(Ordering::is_ge),
        SortTest::Above(low) => order(low).is_some_and(Ordering::is_gt),
        SortTest::AtMost(high) => order(high).is_some_and(Ordering::is_le),
        SortTest::Below(high) => order(high).is_some_and(Ordering::is_lt),
    }
}
