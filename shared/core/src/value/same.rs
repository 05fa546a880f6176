//! Equality as in DynamoDB: numbers by value, sets in any order, everything else as written.
//!
//! DynamoDB normalises stored values, so writing `1.0` over `1` changes nothing and costs an index nothing.

use std::cmp::Ordering;

use serde_dynamo::AttributeValue;

use super::number::Number;

/// Are these values equal in DynamoDB?
pub fn equal(a: &AttributeValue, b: &AttributeValue) -> bool {
    match (a, b) {
        (AttributeValue::N(a), AttributeValue::N(b)) => a == b || number(a) == number(b),
        (AttributeValue::Ss(a), AttributeValue::Ss(b)) => same_set(a, b, String::as_str),
        (AttributeValue::Bs(a), AttributeValue::Bs(b)) => same_set(a, b, Vec::as_slice),
        (AttributeValue::Ns(a), AttributeValue::Ns(b)) => same_set(a, b, |text| number(text)),
        (AttributeValue::L(a), AttributeValue::L(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (AttributeValue::M(a), AttributeValue::M(b)) => {
            let in_b = |(name, a): (&String, _)| b.get(name).is_some_and(|b| equal(a, b));
            a.len() == b.len() && a.iter().all(in_b)
        }
        _ => a == b,
    }
}

/// Does this set contain an element twice, as DynamoDB compares?
pub(crate) fn has_duplicates(set: &AttributeValue) -> bool {
    match set {
        AttributeValue::Ss(texts) => repeats(texts, String::as_str),
        AttributeValue::Bs(binaries) => repeats(binaries, Vec::as_slice),
        AttributeValue::Ns(texts) => repeats(texts, |text| number(text)),
        _ => false,
    }
}

/// A number's value, or the text itself if it is not a number.
fn number(text: &str) -> Result<Number, &str> {
    text.parse().map_err(|_| text)
}

fn same_set<'a, T, K: Ord>(a: &'a [T], b: &'a [T], key: impl Fn(&'a T) -> K) -> bool {
    a.len() == b.len() && sorted(a, &key) == sorted(b, &key)
}

fn repeats<'a, T, K: Ord>(set: &'a [T], key: impl Fn(&'a T) -> K) -> bool {
    sorted(set, &key).windows(2).any(|pair| pair[0] == pair[1])
}

fn sorted<'a, T, K: Ord>(set: &'a [T], key: &impl Fn(&'a T) -> K) -> Vec<K> {
    let mut keys: Vec<K> = set.iter().map(key).collect();
    keys.sort_unstable();
    keys
}

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

/// The DynamoDB type of a value, by the letter that DynamoDB JSON uses: `S`, `N`, `B`, `BOOL`, ...
pub fn type_letter(value: &AttributeValue) -> &'static str {
    match value {
        AttributeValue::S(_) => "S",
        AttributeValue::N(_) => "N",
        AttributeValue::B(_) => "B",
        AttributeValue::Bool(_) => "BOOL",
        AttributeValue::Null(_) => "NULL",
        AttributeValue::M(_) => "M",
        AttributeValue::L(_) => "L",
        AttributeValue::Ss(_) => "SS",
        AttributeValue::Ns(_) => "NS",
        AttributeValue::Bs(_) => "BS",
    }
}
