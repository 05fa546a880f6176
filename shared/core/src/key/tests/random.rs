//! Random templates with all codecs, separators that resemble values, and nested tails.

use std::collections::BTreeMap;

use super::choices::Choices;
use super::{number, text};
use crate::attribute::{Attribute, AttributeKind, Precision};
use crate::key::{Codec, KeyMode, KeyRole, Part, Template};
use crate::value::AttributeValue;

/// Separators: digits, letters, self-overlapping ones, ones that codecs use, and the ends of Unicode.
const SEPARATORS: [&str; 24] = [
    "#",
    "-",
    "--",
    "aba",
    "·",
    "→-",
    "0",
    "9",
    "a",
    "ab",
    "A",
    "_",
    " ",
    "\u{10FFFF}",
    "\u{0}",
    "!",
    "~",
    ":",
    "Z",
    "T",
    "ss",
    "]",
    "{",
    "%",
];

/// Separators with which the listed values and codes below end.
const NEAR_LISTED: [&str; 6] = ["-", "--", "-#", "y", "b", "x"];

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// A field of a random template.
#[derive(Debug, Clone)]
struct Drawn {
    attribute: Attribute,
    codec: String,
    self_delimiting: bool,
}

/// A random template.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) template: Template,
    pub(super) attributes: BTreeMap<String, Attribute>,
}

impl Case {
    /// A template that parses, if one is drawn in a few attempts.
    pub(super) fn draw(choices: &mut Choices, mode: KeyMode) -> Option<Case> {
        (0..3).find_map(|_| attempt(choices, mode))
    }

    /// The type of an attribute.
    pub(super) fn kind(&self, name: &str) -> AttributeKind {
        self.attributes[name].kind
    }

    /// The codec of an attribute, if the key holds it completely.
    pub(super) fn codec(&self, name: &str) -> Option<&Codec> {
        self.template.parts().iter().find_map(|part| match part {
            Part::Literal(_) => None,
            Part::Attribute { name: own, codec, .. } => {
                (own == name && codec.shards().is_none()).then_some(codec)
            }
        })
    }

    /// The text of one attribute with nothing after it, as in a plain join.
    pub(super) fn plain(&self, part: &Part, value: &AttributeValue) -> Option<String> {
        let Part::Attribute { name, codec, .. } = part else { return None };
        let alone = format!("={{{name}{}}}", codec_text(codec));
        let template =
            Template::parse(&alone, &self.attributes, KeyRole::Partition, KeyMode::Escaped).unwrap();
        let item = std::collections::HashMap::from([(name.clone(), value.clone())]).into();
        template.fold(&item).ok()?.map(|key| key[1..].to_owned())
    }
}

fn codec_text(codec: &Codec) -> String {
    match codec {
        Codec::Text | Codec::Enumerated | Codec::Timestamp(_) | Codec::Date => String::new(),
        Codec::Integer { width } => format!(":0{width}"),
        Codec::Number => ":number".to_owned(),
        Codec::Lower | Codec::LowerTimestamp(_) => "|lower".to_owned(),
        Codec::Upper => "|upper".to_owned(),
        Codec::Map(map) => format!("|map:{map}"),
        Codec::Shard(shards) => format!("|shard:{shards}"),
        Codec::Modulo(shards) => format!("|mod:{shards}"),
        Codec::Hex => "|hex".to_owned(),
    }
}

fn attempt(choices: &mut Choices, mode: KeyMode) -> Option<Case> {
    let fields: Vec<Drawn> = (0..1 + choices.pick(5)).map(|at| draw(choices, NAMES[at])).collect();
    let attributes =
        fields.iter().map(|drawn| (drawn.attribute.name.clone(), drawn.attribute.clone())).collect();
    let text = lay_out(choices, &fields);
    let role = choices.one(&[KeyRole::Sort, KeyRole::Partition]);
    let template = Template::parse(&text, &attributes, role, mode).ok()?;
    Some(Case { template, attributes })
}

fn lay_out(choices: &mut Choices, fields: &[Drawn]) -> String {
    let mut written = String::new();
    if choices.rarely(3) {
        push_literal(choices, &SEPARATORS, &mut written);
    }
    let (mut tails, mut touches) = (0, true);
    let mut near: &[&str] = &SEPARATORS;
    for (at, field) in fields.iter().enumerate() {
        if choices.rarely(3) && (at > 0 || !written.is_empty()) {
            written.push('[');
            tails += 1;
        }
        if !touches || choices.pick(2) == 0 && at > 0 {
            push_literal(choices, near, &mut written);
        }
        let name = &field.attribute.name;
        if field.codec.is_empty() && choices.rarely(6) {
            written.push_str(&format!("{{{name}|shard:{}}}", choices.one(&[2, 3, 11])));
        }
        written.push_str(&format!("{{{name}{}}}", field.codec));
        touches = field.self_delimiting;
        let few = field.attribute.values.is_some() || !field.attribute.maps.is_empty();
        near = if few && choices.pick(2) == 0 { &NEAR_LISTED } else { &SEPARATORS };
    }
    if choices.rarely(5) {
        push_literal(choices, near, &mut written);
    }
    written.extend(std::iter::repeat_n(']', tails));
    written
}

fn push_literal(choices: &mut Choices, separators: &[&str], written: &mut String) {
    for letter in choices.one(separators).chars() {
        written.push(letter);
        if "[]{}".contains(letter) {
            written.push(letter);
        }
    }
}

fn draw(choices: &mut Choices, name: &str) -> Drawn {
    use AttributeKind as K;
    let drawn = |kind, codec: &str, self_delimiting| Drawn {
        attribute: Attribute::new(name, kind),
        codec: codec.to_owned(),
        self_delimiting,
    };
    match choices.pick(23) {
        0..=2 => drawn(K::String, "", false),
        3 => drawn(K::String, choices.one(&["|lower", "|upper"]), false),
        4 => listed(name, choices),
        5 => mapped(name, choices),
        6 => drawn(K::Number, "", false),
        7 | 8 => drawn(K::Number, ":number", true),
        9 | 10 => drawn(K::Number, choices.one(&[":01", ":02", ":06", ":020"]), true),
        11 | 12 => drawn(K::Timestamp(precision(choices)), "", true),
        13 => drawn(K::Date, "", true),
        14 => drawn(K::Boolean, "", true),
        15 => drawn(K::Binary, choices.one(&["", "|hex"]), false),
        16 => listed(name, choices),
        17 => mapped(name, choices),
        18 => {
            let kind = choices.one(&[K::String, K::Number, K::Date, K::Boolean, K::Binary]);
            drawn(kind, choices.one(&["|shard:2", "|shard:11"]), true)
        }
        19 => drawn(K::Timestamp(precision(choices)), "|shard:3", true),
        20 => drawn(K::Timestamp(precision(choices)), "|lower", true),
        21 => drawn(K::Number, "|mod:7", true),
        _ => drawn(K::Number, "|mod:12", false),
    }
}

fn precision(choices: &mut Choices) -> Precision {
    use Precision as P;
    choices.one(&[P::Milliseconds, P::Seconds, P::Microseconds, P::Nanoseconds])
}

fn listed(name: &str, choices: &mut Choices) -> Drawn {
    let lists: [&[&str]; 7] = [
        &["viewed", "edited", "deleted"],
        &["a", "ab", "abc"],
        &["", "x"],
        &["x-", "x", "x--", "xy"],
        &["%", "%2D", "-"],
        &[""],
        &["10", "2", "1.50"],
    ];
    let at = choices.pick(lists.len());
    let mut attribute =
        Attribute::new(name, if at == 6 { AttributeKind::Number } else { AttributeKind::String });
    attribute.values =
        Some(lists[at].iter().map(|value| if at == 6 { number(value) } else { text(value) }).collect());
    Drawn { attribute, codec: String::new(), self_delimiting: at == 0 || at == 5 }
}

fn mapped(name: &str, choices: &mut Choices) -> Drawn {
    let maps: [&[(&str, &str)]; 4] = [
        &[("open", "1"), ("done", "2")],
        &[("open", "x"), ("done", "xy"), ("-", "")],
        &[("1", "low"), ("2.50", "mid"), ("1e1", "top")],
        &[("1", "b"), ("2", "a"), ("3", "ab")],
    ];
    let at = choices.pick(maps.len());
    let mut attribute =
        Attribute::new(name, if at >= 2 { AttributeKind::Number } else { AttributeKind::String });
    let map = maps[at].iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
    attribute.maps = BTreeMap::from([("codes".to_owned(), map)]);
    Drawn { attribute, codec: "|map:codes".to_owned(), self_delimiting: at == 0 || at == 2 }
}
