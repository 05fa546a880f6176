//! Hashes of what a state is made of. Attributes of an item have no order, so theirs are added up.

use std::hash::{DefaultHasher, Hash, Hasher};

use keyfold_core::retrofit::{ItemSeen, Response};
use keyfold_core::value::{AttributeValue, Item};

/// One hash of several.
pub(in crate::simulate) fn mix<T: Hash>(before: u64, with: T) -> u64 {
    let mut hasher = DefaultHasher::new();
    (before, with).hash(&mut hasher);
    hasher.finish()
}

pub(in crate::simulate) fn of_item(item: &Item) -> u64 {
    item.iter().fold(0, |sum: u64, (name, value)| sum.wrapping_add(mix(of_value(value), name)))
}

fn of_value(value: &AttributeValue) -> u64 {
    match value {
        AttributeValue::S(text) => mix(1, text),
        AttributeValue::N(text) => mix(2, text),
        AttributeValue::Bool(value) => mix(3, value),
        AttributeValue::M(members) => {
            members.iter().fold(4, |sum: u64, (name, value)| sum.wrapping_add(mix(of_value(value), name)))
        }
        _ => unreachable!("no item here has such a value"),
    }
}

pub(in crate::simulate) fn of_outcome(outcome: &Response) -> u64 {
    let of = |item: &Option<Item>| item.as_ref().map(of_item);
    match outcome {
        Response::Item(item) => mix(1, of(item)),
        Response::Written => 2,
        Response::Refused(ItemSeen::Unknown) => 3,
        Response::Refused(ItemSeen::Nothing) => 4,
        Response::Refused(ItemSeen::Item(item)) => mix(5, of_item(item)),
        Response::Cancelled(held) => mix(6, held),
        Response::Rejected(code) => mix(7, code),
        Response::Outdated => 8,
    }
}
