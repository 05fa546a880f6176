//! Tests of items without the codec: timestamps as instants, everything else as DynamoDB compares.

use std::cmp::Ordering;
use std::ops::Bound;

use jiff::SignedDuration;
use jiff::civil::DateTime;

use super::random::Case;
use crate::attribute::{AttributeKind, Precision};
use crate::condition::Comparison;
use crate::key::Test;
use crate::value::{AttributeValue, Item, Number, compare};

/// Does an item pass a test?
pub(super) fn passes(case: &Case, name: &str, test: Test<&AttributeValue>, item: &Item) -> bool {
    let Some(value) = item.get(name) else { return test == Test::Absent };
    let ordered = |bound: &AttributeValue| order(case.kind(name), value, bound);
    match test {
        Test::Absent => false,
        Test::Equal(wanted) => match (case.kind(name), value, wanted) {
            (AttributeKind::Timestamp(_), AttributeValue::S(value), AttributeValue::S(wanted)) => {
                instant(wanted).is_some_and(|wanted| instant(value) == Some(wanted))
            }
            _ => Comparison::Equal(wanted.clone()).holds(Some(value)),
        },
        Test::BeginsWith(prefix) => match (case.kind(name), value, prefix) {
            (AttributeKind::Timestamp(precision), AttributeValue::S(value), AttributeValue::S(prefix)) => {
                canonical(value, precision).starts_with(prefix.as_str())
            }
            _ => Comparison::BeginsWith(prefix.clone()).holds(Some(value)),
        },
        Test::Range { low, high } => {
            let above = match low {
                Bound::Unbounded => true,
                Bound::Included(low) => ordered(low).is_some_and(Ordering::is_ge),
                Bound::Excluded(low) => ordered(low).is_some_and(Ordering::is_gt),
            };
            let below = match high {
                Bound::Unbounded => true,
                Bound::Included(high) => ordered(high).is_some_and(Ordering::is_le),
                Bound::Excluded(high) => ordered(high).is_some_and(Ordering::is_lt),
            };
            above && below
        }
    }
}

/// The order of an item's value and a bound.
fn order(kind: AttributeKind, value: &AttributeValue, bound: &AttributeValue) -> Option<Ordering> {
    let (AttributeKind::Timestamp(precision), AttributeValue::S(value), AttributeValue::S(bound)) =
        (kind, value, bound)
    else {
        return compare(value, bound);
    };
    Some(match instant(bound) {
        Some(bound) => instant(value)?.cmp(&bound),
        None => canonical(value, precision).as_str().cmp(bound),
    })
}

/// The order of two values of one attribute: booleans too.
pub(super) fn value_order(kind: AttributeKind, a: &AttributeValue, b: &AttributeValue) -> Ordering {
    match (a, b) {
        (AttributeValue::Bool(a), AttributeValue::Bool(b)) => a.cmp(b),
        _ => order(kind, a, b).unwrap_or_else(|| panic!("{a:?} and {b:?} have no order")),
    }
}

/// The canonical form of a value, as a key keeps it.
pub(super) fn canonical_value(kind: AttributeKind, value: &AttributeValue) -> AttributeValue {
    match (kind, value) {
        (AttributeKind::Timestamp(precision), AttributeValue::S(text)) => {
            AttributeValue::S(canonical(text, precision))
        }
        (_, AttributeValue::N(text)) => AttributeValue::N(text.parse::<Number>().unwrap().to_string()),
        _ => value.clone(),
    }
}

fn canonical(text: &str, precision: Precision) -> String {
    let nanoseconds = instant(text).unwrap_or_else(|| panic!("{text} was folded")) / FINER;
    let places = precision.places() as usize;
    let utc = EPOCH.checked_add(SignedDuration::from_nanos_i128(nanoseconds)).unwrap();
    let fraction = format!("{:09}", utc.subsec_nanosecond());
    let point = if places > 0 { "." } else { "" };
    let seconds = format!("{:02}:{:02}:{:02}", utc.hour(), utc.minute(), utc.second());
    format!("{}T{seconds}{point}{}Z", utc.date(), &fraction[..places])
}

/// The instant of a complete timestamp, in millionths of a nanosecond; `None` if the text is invalid. Bounds can have
/// more decimal places than any value.
fn instant(text: &str) -> Option<i128> {
    let (head, rest) = text.split_at_checked(19)?;
    if !matches!(head.as_bytes()[10], b'T' | b't' | b' ') || head.as_bytes()[4] != b'-' {
        return None;
    }
    let local: DateTime = head.replace(['t', ' '], "T").parse().ok()?;
    let zone_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (fraction, zone) = rest.split_at(zone_at);
    let fraction = match fraction.strip_prefix('.') {
        None if fraction.is_empty() => 0,
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{digits:0<15}")[..15].parse::<i128>().ok()?
        }
        _ => return None,
    };
    let digits =
        |text: Option<&str>| text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok();
    let offset: i128 = match zone {
        "" | "Z" | "z" => 0,
        _ if zone.len() == 6 && zone.as_bytes()[3] == b':' => {
            let (hours, minutes): (i128, i128) = (digits(zone.get(1..3))?, digits(zone.get(4..6))?);
            let seconds = hours * 3600 + minutes * 60;
            if hours > 23 || minutes > 59 {
                return None;
            }
            if zone.starts_with('-') { -seconds } else { seconds }
        }
        _ => return None,
    };
    let nanoseconds = |moment: DateTime| moment.duration_since(EPOCH).as_nanos();
    let moment = (nanoseconds(local) - offset * 1_000_000_000) * FINER + fraction;
    let range = nanoseconds(YEAR_0) * FINER..(nanoseconds(DateTime::MAX) + 1) * FINER;
    range.contains(&moment).then_some(moment)
}

/// Units of an instant in a nanosecond.
const FINER: i128 = 1_000_000;
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
/// The first instant that a key can hold; `DateTime::MAX` is the last.
const YEAR_0: DateTime = DateTime::constant(0, 1, 1, 0, 0, 0, 0);
