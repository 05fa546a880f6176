//! Random values, rich in separators, escapes and near misses; items made of them; tests of those.

use std::collections::HashMap;
use std::ops::Bound;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};

use super::choices::Choices;
use super::random::Case;
use super::{number, text};
use crate::attribute::AttributeKind;
use crate::key::{Codec, Part, Test};
use crate::value::{AttributeValue, Item};

const PIECES: [&str; 28] = [
    "x",
    "a",
    "b",
    "ab",
    "aba",
    "-",
    "--",
    "#",
    "%",
    "%2D",
    "%25",
    "%2",
    "·",
    "→",
    "é",
    "ß",
    "İ",
    "Σ",
    "ς",
    "A",
    "0",
    "9",
    " ",
    "!",
    "~",
    "\u{0}",
    "\u{10FFFF}",
    "]",
];

const NUMBERS: [&str; 30] = [
    "5",
    "5.0",
    "50e-1",
    "0",
    "-0",
    "1",
    "-1",
    "-5",
    "2",
    "9",
    "10",
    "1.5",
    "0.5",
    "-0.5",
    "99",
    "100",
    "101",
    "999999",
    "1000000",
    "99999999999999999999",
    "100000000000000000000",
    "5.0000000000000000000000000000000000001",
    "4.9999999999999999999999999999999999999",
    "99999999999999999999999999999999999999",
    "1E-130",
    "-1E-130",
    "9.99E+125",
    "-9.99E+125",
    "1E+125",
    "0.10",
];

/// A text of a few pieces; rarely one close to the length limit.
pub(super) fn free_text(choices: &mut Choices) -> String {
    if choices.rarely(200) {
        return choices.one(&["x", "é", "-"]).repeat(500 + 2 * choices.pick(256));
    }
    (0..choices.pick(5)).map(|_| choices.one(&PIECES)).collect()
}

fn date(choices: &mut Choices) -> Date {
    let (year, month, day) =
        choices.one(&[(2017, 3, 1), (2016, 2, 29), (1969, 12, 31), (2017, 2, 28), (0, 1, 1), (9999, 12, 31)]);
    Date::constant(year, month, day)
}

/// A timestamp in one of the forms found in items.
fn timestamp(choices: &mut Choices, places_max: usize) -> String {
    let mut moment = DateTime::from_parts(date(choices), jiff::civil::Time::midnight());
    let seconds = choices.one(&[0, 1, 59, 60, 3599, 43200, 86399]);
    moment = moment.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(moment);
    let fraction =
        choices.one(&["", ".0", ".5", ".001", ".999", ".000001", ".123456789", ".999999999", ".000"]);
    let fraction = if fraction.len() > places_max + 1 && !choices.rarely(8) { "" } else { fraction };
    let (zone, offset) =
        choices.one(&[("Z", 0), ("", 0), ("z", 0), ("+02:00", 7200), ("-05:30", -19800), ("+23:59", 86340)]);
    let local = moment.checked_add(SignedDuration::from_secs(offset)).unwrap_or(moment);
    let sign = choices.one(&["T", " ", "t"]);
    format!("{}{sign}{}{fraction}{zone}", local.date(), local.time())
}

/// A value for an attribute of a case.
pub(super) fn value(choices: &mut Choices, case: &Case, name: &str) -> AttributeValue {
    let attribute = &case.attributes[name];
    if choices.rarely(100) {
        return if choices.pick(2) == 0 { number("7") } else { text("7") };
    }
    if let Some(values) = attribute.values.as_ref().filter(|_| !choices.rarely(20)) {
        return values[choices.pick(values.len())].clone();
    }
    if let Some(map) = attribute.maps.get("codes").filter(|_| !choices.rarely(20)) {
        let from = map.keys().nth(choices.pick(map.len())).unwrap();
        return if attribute.kind == AttributeKind::Number { number(from) } else { text(from) };
    }
    match attribute.kind {
        AttributeKind::Number => match case.codec(name) {
            Some(Codec::Integer { width }) => integer(choices, *width),
            _ => number(choices.one(&NUMBERS)),
        },
        AttributeKind::Boolean => AttributeValue::Bool(choices.pick(2) == 1),
        AttributeKind::Binary => {
            let mut bytes = free_text(choices).into_bytes();
            if choices.rarely(8) {
                bytes.push(choices.one(&[0xff, 0xc3, 0x00, 0x2d]));
            }
            AttributeValue::B(bytes)
        }
        AttributeKind::Timestamp(precision) => text(&timestamp(choices, precision.places() as usize)),
        AttributeKind::Date => text(&date(choices).to_string()),
        _ => text(&free_text(choices)),
    }
}

fn integer(choices: &mut Choices, width: u32) -> AttributeValue {
    let largest = 10u128.pow(width) - 1;
    let value = match choices.pick(4) {
        0 => choices.pick(12) as u128,
        1 => largest - choices.pick(3) as u128,
        2 => largest / 2 + choices.pick(2) as u128,
        _ => return number(choices.one(&NUMBERS)),
    };
    number(&value.to_string())
}

/// An item for a case: complete up to some tail, rarely with a gap.
pub(super) fn item(choices: &mut Choices, case: &Case) -> Item {
    let mut values = HashMap::new();
    for part in case.template.parts() {
        let Part::Attribute { name, optional, .. } = part else { continue };
        if *optional && choices.rarely(4) {
            if choices.rarely(8) {
                continue;
            }
            break;
        }
        values.entry(name.clone()).or_insert_with(|| value(choices, case, name));
    }
    values.into()
}

/// Similar items: each differs from an earlier one in one or two attributes.
pub(super) fn items(choices: &mut Choices, case: &Case, many: usize) -> Vec<Item> {
    let names: Vec<&str> = case.template.attributes().collect();
    let mut items = vec![item(choices, case)];
    while items.len() < many {
        if names.is_empty() || choices.rarely(3) {
            items.push(item(choices, case));
            continue;
        }
        let mut next = items[choices.pick(items.len())].clone();
        if choices.rarely(3) {
            disguise(choices, case, &names, &mut next);
        }
        for _ in 0..choices.pick(3) {
            let name = choices.one(&names);
            if choices.rarely(6) {
                next.remove(name);
            } else {
                next.insert(name.to_owned(), value(choices, case, name));
            }
        }
        items.push(next);
    }
    items
}

/// Makes an item look like another in a plain join: moves text across a separator, or writes a character as its escape.
fn disguise(choices: &mut Choices, case: &Case, names: &[&str], item: &mut Item) {
    let at = choices.pick(names.len());
    let (first, second) = (names[at], names[(at + 1) % names.len()]);
    let separator = case.template.parts().iter().find_map(|part| match part {
        Part::Literal(literal) => Some(literal.as_str()),
        Part::Attribute { .. } => None,
    });
    let separator = separator.unwrap_or("-");
    let (Some(AttributeValue::S(a)), Some(AttributeValue::S(b))) = (item.get(first), item.get(second)) else {
        return;
    };
    let (a, b) = match choices.pick(3) {
        0 => {
            let joined = format!("{a}{separator}{b}");
            let places: Vec<usize> = joined.match_indices(separator).map(|(place, _)| place).collect();
            let place = choices.one(&places);
            (joined[..place].to_owned(), joined[place + separator.len()..].to_owned())
        }
        1 => (a.replace("%2D", "-").replace("%25", "%"), b.clone()),
        _ => (a.replace('%', "%25").replace('-', "%2D"), b.clone()),
    };
    item.insert(first, text(&a));
    item.insert(second, text(&b));
}

/// A test that some of the items most likely pass.
pub(super) fn test(choices: &mut Choices, case: &Case, name: &str, items: &[Item]) -> Test {
    let known = |choices: &mut Choices| {
        let found = items[choices.pick(items.len())].get(name).cloned();
        let value = found.filter(|_| !choices.rarely(4)).unwrap_or_else(|| value(choices, case, name));
        if choices.rarely(4) { trimmed(choices, value) } else { value }
    };
    match choices.pick(8) {
        0 | 1 => Test::Equal(known(choices)),
        2 => {
            let value = known(choices);
            Test::BeginsWith(beginning(choices, value))
        }
        3 => Test::Absent,
        _ => {
            let bound = |choices: &mut Choices| match choices.pick(5) {
                0 => Bound::Unbounded,
                1 | 2 => Bound::Included(known(choices)),
                _ => Bound::Excluded(known(choices)),
            };
            Test::Range { low: bound(choices), high: bound(choices) }
        }
    }
}

fn beginning(choices: &mut Choices, value: AttributeValue) -> AttributeValue {
    match value {
        AttributeValue::S(written) => {
            let letters = choices.pick(written.chars().count() + 1);
            text(&written.chars().take(letters).collect::<String>())
        }
        AttributeValue::B(bytes) => {
            let length = choices.pick(bytes.len() + 1);
            AttributeValue::B(bytes[..length].to_vec())
        }
        other => other,
    }
}

/// A prefix or an extension of the value.
fn trimmed(choices: &mut Choices, value: AttributeValue) -> AttributeValue {
    match value {
        AttributeValue::S(written) if choices.pick(2) == 0 => {
            text(&format!("{written}{}", choices.one(&PIECES)))
        }
        other => beginning(choices, other),
    }
}
