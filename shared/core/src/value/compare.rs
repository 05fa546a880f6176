//! How DynamoDB compares two values: numbers by value, strings by UTF-8 bytes, other types never with each other.

use std::cmp::Ordering;

use super::{AttributeValue, Number};

/// The order of two values of one scalar type; `None` where DynamoDB's comparators never match.
pub fn compare(a: &AttributeValue, b: &AttributeValue) -> Option<Ordering> {
    match (a, b) {
        (AttributeValue::S(a), AttributeValue::S(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (AttributeValue::B(a), AttributeValue::B(b)) => Some(a.cmp(b)),
        (AttributeValue::N(a), AttributeValue::N(b)) => compare_numbers(a, b),
        _ => None,
    }
}

/// Equal as DynamoDB's `=` sees it: numbers by value, sets without order, documents member by member.
pub fn equal(a: &AttributeValue, b: &AttributeValue) -> bool {
    match (a, b) {
        (AttributeValue::N(a), AttributeValue::N(b)) => {
            a == b || compare_numbers(a, b) == Some(Ordering::Equal)
        }
        (AttributeValue::L(a), AttributeValue::L(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (AttributeValue::M(a), AttributeValue::M(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        (AttributeValue::Ss(a), AttributeValue::Ss(b)) => same_members(a, b, |a, b| a == b),
        (AttributeValue::Bs(a), AttributeValue::Bs(b)) => same_members(a, b, |a, b| a == b),
        (AttributeValue::Ns(a), AttributeValue::Ns(b)) => {
            same_members(a, b, |a, b| a == b || compare_numbers(a, b) == Some(Ordering::Equal))
        }
        _ => a == b,
    }
}

fn compare_numbers(a: &str, b: &str) -> Option<Ordering> {
    Some(a.parse::<Number>().ok()?.cmp(&b.parse().ok()?))
}

fn same_members<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().all(|a| b.iter().any(|b| same(a, b)))
}
