//! The values of one case: a few for each attribute, out of awkward pools.

use std::collections::BTreeMap;

use keyfold_core::model::{Attribute, AttributeKind, Precision, Table, WhenTest};
use keyfold_core::value::AttributeValue;

use super::random::Random;

/// Texts with separators, escapes, prefixes of each other, other scripts, both ends of the order, and the empty text.
const TEXTS: &[&str] = &[
    "a",
    "b",
    "ab",
    "a-b",
    "a#b",
    "a:b",
    "a/b",
    "a|b",
    "a_b",
    "a.b",
    "-",
    "-a",
    "a-",
    "#",
    ":",
    "a:",
    ":a",
    "%",
    "%2D",
    "%23",
    "a%",
    "%a",
    "A",
    "B",
    "Ab",
    "aB",
    "ß",
    "é",
    "É",
    "İ",
    "London",
    "Londonderry",
    "Lond",
    "\u{1F600}",
    "\u{10FFFF}",
    "a\u{0}",
    "\u{0}",
    " ",
    "a b",
    "0",
    "1",
    "10",
    "",
    "~",
    "z",
    "zz",
    "dog",
    "dog:",
    "\u{7F}",
    "\u{FFFF}",
    "a\u{10FFFF}",
    "a\u{1}",
];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "9",
    "10",
    "11",
    "99",
    "100",
    "999",
    "1000",
    "-1",
    "-2",
    "-10",
    "0.5",
    "-0.5",
    "1.5",
    "1.25",
    "1E+3",
    "1E+125",
    "-1E+125",
    "1E-130",
    "-1E-130",
    "12345678901234567890123456789012345678",
    "99999999999999999999999999999999999999",
    "0.1",
    "1.0",
    "-0",
    "007",
    "9.99",
    "9999999999",
];
const WHOLE: &[&str] = &["0", "1", "2", "9", "10", "11", "99", "100", "999"];
/// Seconds, to which a fraction comes.
const SECONDS: &[&str] = &[
    "2017-03-01T08:00:00",
    "2017-03-01T00:00:00",
    "2017-02-28T23:59:59",
    "2017-03-31T23:59:59",
    "2017-04-01T00:00:00",
    "2017-03-15T12:00:00",
    "2016-12-31T23:59:59",
];
const FRACTIONS: &[&str] = &["000000000", "123456789", "500000000", "999999999", "000000001"];
const DATES: &[&str] = &[
    "2017-03-01",
    "2017-03-02",
    "2017-02-28",
    "2016-02-29",
    "2017-12-31",
    "2018-01-01",
    "2017-03-31",
    "2017-04-01",
];
const BINARIES: &[&[u8]] = &[&[0], &[1], &[0, 0], &[255], &[255, 255], &[97], &[97, 45], &[]];

/// The values in the items and requests of one case.
#[derive(Debug, Clone)]
pub struct Words {
    by_attribute: BTreeMap<String, Vec<AttributeValue>>,
}

impl Words {
    /// A few values for each declared attribute of a table. Attributes of one kind share most of them, because keys
    /// would otherwise never collide.
    pub fn draw(table: &Table, random: &mut Random) -> Words {
        let texts = random.shuffled(TEXTS)[..random.between(2, 6)].to_vec();
        let whole_only = random.chance(80);
        let of = |attribute: &Attribute, random: &mut Random| -> Vec<AttributeValue> {
            if let Some(values) = &attribute.values {
                return values.clone();
            }
            let mapped: Vec<_> = attribute.maps.values().flat_map(|map| map.keys().cloned()).collect();
            match attribute.kind {
                AttributeKind::String if !mapped.is_empty() => {
                    mapped.into_iter().map(AttributeValue::S).collect()
                }
                AttributeKind::String => {
                    texts.iter().map(|text| AttributeValue::S((*text).to_owned())).collect()
                }
                AttributeKind::Number => numbers(if whole_only { WHOLE } else { NUMBERS }, random),
                AttributeKind::Timestamp(precision) => timestamps(precision, random),
                AttributeKind::Date => {
                    few(DATES, random).map(|text| AttributeValue::S(text.to_owned())).collect()
                }
                AttributeKind::Binary => {
                    few(BINARIES, random).map(|bytes| AttributeValue::B(bytes.to_vec())).collect()
                }
                AttributeKind::Boolean => vec![AttributeValue::Bool(false), AttributeValue::Bool(true)],
                AttributeKind::StringSet => sets(&texts, random),
                AttributeKind::NumberSet => vec![AttributeValue::Ns(vec!["1".to_owned(), "2".to_owned()])],
                AttributeKind::BinarySet => vec![AttributeValue::Bs(vec![vec![1], vec![2]])],
                AttributeKind::List => lists(&texts, random),
                AttributeKind::Map => maps(&texts, random),
            }
        };
        let mut by_attribute: BTreeMap<String, Vec<AttributeValue>> = table
            .attributes
            .values()
            .map(|attribute| (attribute.name.clone(), of(attribute, random)))
            .collect();
        // Requests also test the attributes that identify entities.
        for when in table.entities.iter().flat_map(|entity| &entity.when) {
            if let (WhenTest::In(values), Some(words)) = (&when.test, by_attribute.get_mut(&when.attribute)) {
                words.extend(
                    values.iter().filter(|value| !words.contains(value)).cloned().collect::<Vec<_>>(),
                );
            }
        }
        Words { by_attribute }
    }

    /// The values of one attribute.
    pub fn of(&self, attribute: &str) -> &[AttributeValue] {
        self.by_attribute.get(attribute).map_or(&[], Vec::as_slice)
    }
}

fn few<'a, T: ?Sized>(pool: &[&'a T], random: &mut Random) -> impl Iterator<Item = &'a T> + use<'a, T> {
    let count = random.between(2, 5);
    random.shuffled(pool).into_iter().take(count)
}

fn numbers(pool: &[&'static str], random: &mut Random) -> Vec<AttributeValue> {
    few(pool, random).map(|text| AttributeValue::N(text.to_owned())).collect()
}

/// Timestamps in the one form that keys have. (Items may hold others: keys then compare instants, and filters texts.)
fn timestamps(precision: Precision, random: &mut Random) -> Vec<AttributeValue> {
    let places = match precision {
        Precision::Seconds => 0,
        Precision::Milliseconds => 3,
        Precision::Microseconds => 6,
        Precision::Nanoseconds => 9,
    };
    let mut one = |_| {
        let (seconds, fraction) = (*random.pick(SECONDS), &random.pick(FRACTIONS)[..places]);
        AttributeValue::S(if places == 0 { format!("{seconds}Z") } else { format!("{seconds}.{fraction}Z") })
    };
    (0..6).map(&mut one).collect()
}

fn sets(texts: &[&str], random: &mut Random) -> Vec<AttributeValue> {
    let mut of =
        |count| AttributeValue::Ss(random.some(texts, count).into_iter().map(str::to_owned).collect());
    vec![of(1), of(2)]
}

fn lists(texts: &[&str], random: &mut Random) -> Vec<AttributeValue> {
    let text = |random: &mut Random| AttributeValue::S((*random.pick(texts)).to_owned());
    vec![
        AttributeValue::L(Vec::new()),
        AttributeValue::L(vec![text(random)]),
        AttributeValue::L(vec![text(random), AttributeValue::N("1".to_owned())]),
    ]
}

fn maps(texts: &[&str], random: &mut Random) -> Vec<AttributeValue> {
    let text = |random: &mut Random| AttributeValue::S((*random.pick(texts)).to_owned());
    let of = |members: Vec<(&str, AttributeValue)>| {
        AttributeValue::M(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    };
    vec![
        of(Vec::new()),
        of(vec![("inner", text(random))]),
        of(vec![("inner", text(random)), ("other", AttributeValue::N("1".to_owned()))]),
        of(vec![("inner", AttributeValue::N("1".to_owned()))]),
    ]
}
