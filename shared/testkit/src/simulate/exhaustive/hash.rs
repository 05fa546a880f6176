//! Hashes of what a state is made of. Attributes of an item have no order, so theirs are added up.

use std::hash::{DefaultHasher, Hash, Hasher};

use keyfold_core::retrofit::{Outcome, Seen};
use keyfold_core::value::{AttributeValue, Item};

/// One hash of several.
pub(super) fn mix<T: Hash>(before: u64, with: T) -> u64 {
    let mut hasher = DefaultHasher::new();
    (before, with).hash(&mut hasher);
    hasher.finish()
}

pub(super) fn of_item(item: &Item) -> u64 {
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

pub(super) fn of_outcome(outcome: &Outcome) -> u64 {
    let of = |item: &Option<Item>| item.as_ref().map(of_item);
    match outcome {
        Outcome::Got(item) => mix(1, of(item)),
        Outcome::Written => 2,
        Outcome::Refused(Seen::Unknown) => 3,
        Outcome::Refused(Seen::Nothing) => 4,
        Outcome::Refused(Seen::Item(item)) => mix(5, of_item(item)),
        Outcome::Cancelled(held) => mix(6, held),
        Outcome::Rejected(code) => mix(7, code),
    }
}
