//! How DynamoDB compares two values: numbers by value, strings by UTF-8 bytes, other types never with each other.

use std::cmp::Ordering;

use serde_dynamo::AttributeValue;

use super::number::Number;

/// The order of two values of one scalar type; `None` where DynamoDB's comparators never match.
pub fn compare(a: &AttributeValue, b: &AttributeValue) -> Option<Ordering> {
    match (a, b) {
        (AttributeValue::S(a), AttributeValue::S(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (AttributeValue::B(a), AttributeValue::B(b)) => Some(a.cmp(b)),
        (AttributeValue::N(a), AttributeValue::N(b)) => compare_numbers(a, b),
        _ => None,
    }
}

fn compare_numbers(a: &str, b: &str) -> Option<Ordering> {
    Some(a.parse::<Number>().ok()?.cmp(&b.parse().ok()?))
}
