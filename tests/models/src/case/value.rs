//! Values: found, compared, and written so that equal ones are equal texts.

use std::cmp::Ordering;

use keyfold_core::value::{AttributeValue, Item, Number};

/// The value of an attribute, or of a place inside of one that is a map.
pub fn find<'a>(item: &'a Item, path: &str) -> Option<&'a AttributeValue> {
    if let Some(value) = item.get(path) {
        return Some(value);
    }
    let mut steps = path.split('.');
    let first = item.get(steps.next()?)?;
    steps.try_fold(first, |value, step| match value {
        AttributeValue::M(members) => members.get(step),
        _ => None,
    })
}

/// Is this a part of the text, or a member of the set or list?
pub(super) fn contains(have: &AttributeValue, part: &AttributeValue) -> bool {
    match (have, part) {
        (AttributeValue::S(text), AttributeValue::S(part)) => text.contains(part),
        (AttributeValue::Ss(set), AttributeValue::S(member)) => set.contains(member),
        (AttributeValue::Ns(set), AttributeValue::N(member)) => {
            set.iter().any(|one| number(one) == number(member))
        }
        (AttributeValue::L(list), part) => list.iter().any(|member| canonical(member) == canonical(part)),
        _ => false,
    }
}

/// The order of two texts, two numbers or two binaries.
pub(super) fn order(a: &AttributeValue, b: &AttributeValue) -> Option<Ordering> {
    match (a, b) {
        (AttributeValue::S(a), AttributeValue::S(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (AttributeValue::B(a), AttributeValue::B(b)) => Some(a.cmp(b)),
        (AttributeValue::N(a), AttributeValue::N(b)) => {
            Some(a.parse::<Number>().ok()?.cmp(&b.parse::<Number>().ok()?))
        }
        _ => None,
    }
}

/// A text that two values share exactly if DynamoDB holds them for equal: `1` and `1.0`, `{a, b}` and `{b, a}`.
pub fn canonical(value: &AttributeValue) -> String {
    let joined = |kind: &str, mut parts: Vec<String>, sorted: bool| {
        if sorted {
            parts.sort_unstable();
        }
        format!("{kind}{parts:?}")
    };
    match value {
        AttributeValue::N(text) => format!("N{}", number(text)),
        AttributeValue::Ns(set) => joined("NS", set.iter().map(|text| number(text)).collect(), true),
        AttributeValue::Ss(set) => joined("SS", set.clone(), true),
        AttributeValue::Bs(set) => joined("BS", set.iter().map(|bytes| format!("{bytes:?}")).collect(), true),
        AttributeValue::L(list) => joined("L", list.iter().map(canonical).collect(), false),
        AttributeValue::M(members) => {
            let member = |(name, value): (&String, &AttributeValue)| format!("{name:?}:{}", canonical(value));
            joined("M", members.iter().map(member).collect(), true)
        }
        other => format!("{other:?}"),
    }
}

fn number(text: &str) -> String {
    text.parse::<Number>().map_or_else(|_| text.to_owned(), |number| number.to_string())
}
