//! The answer without any plan: every item is looked at, then sorted. It shares no code with the planner: conditions,
//! entities and order are worked out from the generator's own words.

use std::cmp::Ordering;

use keyfold_core::model::{Table, WhenTest};
use keyfold_core::query::check::Caller;
use keyfold_core::value::{AttributeValue, Item, Number};

use crate::generate::Asking;

/// Is this item asked for?
pub fn wanted(table: &Table, asking: &Asking, item: &Item) -> bool {
    asking.asked.holds(item) && of_entity(table, asking, item) && in_scope(table, &asking.caller, item)
}

/// The items asked for, in the order asked for. Equal items can come in either order.
pub fn answer<'i>(
    table: &Table,
    asking: &Asking,
    items: impl IntoIterator<Item = &'i Item>,
) -> Vec<&'i Item> {
    let mut found: Vec<&Item> = items.into_iter().filter(|item| wanted(table, asking, item)).collect();
    found.sort_by(|a, b| compare(&asking.request.order, a, b));
    found
}

/// The order of two items by a request's `order`: an absent value before every other.
pub fn compare(order: &[String], a: &Item, b: &Item) -> Ordering {
    for by in order {
        let (name, descending) = by.strip_prefix('-').map_or((by.as_str(), false), |name| (name, true));
        let ascending = match (a.get(name), b.get(name)) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => compare_values(a, b),
        };
        let turned = if descending { ascending.reverse() } else { ascending };
        if turned.is_ne() {
            return turned;
        }
    }
    Ordering::Equal
}

fn compare_values(a: &AttributeValue, b: &AttributeValue) -> Ordering {
    match (a, b) {
        (AttributeValue::S(a), AttributeValue::S(b)) => a.as_bytes().cmp(b.as_bytes()),
        (AttributeValue::B(a), AttributeValue::B(b)) => a.cmp(b),
        (AttributeValue::N(a), AttributeValue::N(b)) => match (a.parse::<Number>(), b.parse::<Number>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            _ => Ordering::Equal,
        },
        _ => Ordering::Equal,
    }
}

fn of_entity(table: &Table, asking: &Asking, item: &Item) -> bool {
    let names = &asking.request.entity;
    names.is_empty()
        || table.entities.iter().filter(|entity| names.contains(&entity.name)).any(|entity| {
            entity.when.iter().all(|when| match (&when.test, item.get(&when.attribute)) {
                (WhenTest::Exists(wanted), value) => value.is_some() == *wanted,
                (WhenTest::In(values), Some(value)) => values.contains(value),
                (WhenTest::BeginsWith(prefix), Some(AttributeValue::S(text))) => text.starts_with(prefix),
                (WhenTest::In(_), None) | (WhenTest::BeginsWith(_), _) => false,
            })
        })
}

fn in_scope(table: &Table, caller: &Caller, item: &Item) -> bool {
    let Caller::Claims(claims) = caller else { return true };
    table.scope.iter().all(|(name, claim)| match (item.get(name), claims.get(claim)) {
        (Some(AttributeValue::S(own)), Some(claimed)) => own == claimed,
        _ => false,
    })
}
