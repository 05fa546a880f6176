//! The order of items in an answer: by attributes, absent ones first, numbers by value, texts by their bytes.

use std::cmp::Ordering;

use crate::model::OrderBy;
use crate::value::{AttributeValue, Item, compare, type_letter};

/// The order of two items.
pub fn compare_items(order: &[OrderBy], a: &Item, b: &Item) -> Ordering {
    order
        .iter()
        .map(|by| {
            let ascending = compare_values(a.get(&by.attribute), b.get(&by.attribute));
            if by.descending { ascending.reverse() } else { ascending }
        })
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The order of two values: an absent one first, then by type, then by value.
pub fn compare_values(a: Option<&AttributeValue>, b: Option<&AttributeValue>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => compare(a, b).unwrap_or_else(|| type_letter(a).cmp(type_letter(b))),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}
