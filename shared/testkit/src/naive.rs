//! The answer without a plan: every item is checked, then sorted. It shares no code with the planner: conditions,
//! entities and order are evaluated from the generator's own form.

use std::cmp::Ordering;

use keyfold_core::model::Table;
use keyfold_core::query::check::Caller;
use keyfold_core::value::{AttributeValue, Item};

use crate::generate::asked::{self, is_of};
use crate::generate::{Asking, CaseItem};

/// Does this item match? Tombstones never do.
pub fn wanted(table: &Table, asking: &Asking, item: &CaseItem) -> bool {
    item.seen.as_ref().is_some_and(|item| fulfils(table, asking, item))
}

/// Does an item, as a reader sees it, match?
pub fn fulfils(table: &Table, asking: &Asking, item: &Item) -> bool {
    asking.asked.holds(item) && of_entity(table, asking, item) && in_scope(table, &asking.caller, item)
}

/// The matching items, in the requested order. Equal items can come in either order.
pub fn answer<'i>(
    table: &Table,
    asking: &Asking,
    items: impl IntoIterator<Item = &'i CaseItem>,
) -> Vec<&'i Item> {
    let seen = items.into_iter().filter_map(|item| item.seen.as_ref());
    let mut found: Vec<&Item> = seen.filter(|item| fulfils(table, asking, item)).collect();
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
            (Some(a), Some(b)) => asked::order(a, b).unwrap_or(Ordering::Equal),
        };
        let turned = if descending { ascending.reverse() } else { ascending };
        if turned.is_ne() {
            return turned;
        }
    }
    Ordering::Equal
}

fn of_entity(table: &Table, asking: &Asking, item: &Item) -> bool {
    let names = &asking.request.entity;
    names.is_empty()
        || table.entities.iter().any(|entity| names.contains(&entity.name) && is_of(entity, item))
}

fn in_scope(table: &Table, caller: &Caller, item: &Item) -> bool {
    let Caller::Claims(claims) = caller else { return true };
    table.scope.iter().all(|(name, claim)| match (item.get(name), claims.get(claim)) {
        (Some(AttributeValue::S(own)), Some(claimed)) => own == claimed,
        _ => false,
    })
}
