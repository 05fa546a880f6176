//! Random key templates.

use super::random::Random;

/// Namespaces, some of which begin with others.
const PREFIXES: &[&str] = &["", "", "", "dog:", "dog", "dog#", "do", "dog:a:", "cat:", "a", "a-", "%", "É:"];
const SEPARATORS: &[&str] = &["-", "#", ":", "/", "|", "::", "_", "."];

/// The kind of an attribute, as far as keys depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Text,
    Listed,
    Mapped,
    Number,
    ListedNumber,
    Time,
    Date,
    Boolean,
    Binary,
    /// A text that may be stored only in a key.
    KeyPart,
    /// Never part of a key.
    Document,
}

impl ValueKind {
    pub(super) fn is_scalar(self) -> bool {
        !matches!(self, ValueKind::Boolean | ValueKind::KeyPart | ValueKind::Document)
    }

    pub(super) fn is_foldable(self) -> bool {
        self != ValueKind::Document
    }
}

/// A template of these attributes, in this order.
pub(super) fn template(attributes: &[(String, ValueKind)], sort: bool, random: &mut Random) -> String {
    let separator = *random.pick(SEPARATORS);
    let mut text = (*random.pick(PREFIXES)).to_owned();
    // The tail that may be absent begins here.
    let tail =
        (sort && attributes.len() > 1 && random.chance(30)).then(|| random.between(1, attributes.len() - 1));
    let mut open = 0;
    for (at, (name, kind)) in attributes.iter().enumerate() {
        if tail.is_some_and(|tail| at >= tail) {
            text.push('[');
            open += 1;
        }
        if at > 0 {
            text.push_str(if random.chance(85) { separator } else { random.pick::<&str>(SEPARATORS) });
        }
        text.push_str(&part(name, *kind, !sort && at + 1 == attributes.len(), random));
    }
    text.extend(std::iter::repeat_n(']', open));
    if open == 0 && random.chance(8) {
        text.push_str(random.pick::<&str>(&["#", ":end", "-z"]));
    }
    text
}

fn part(name: &str, kind: ValueKind, may_shard: bool, random: &mut Random) -> String {
    if may_shard && random.chance(12) {
        return format!("{{{name}|shard:{}}}", random.between(2, 5));
    }
    match kind {
        ValueKind::Text | ValueKind::KeyPart if random.chance(15) => {
            format!("{{{name}|{}}}", random.pick(&["upper", "lower"]))
        }
        ValueKind::Number => match random.below(8) {
            0 => format!("{{{name}}}"),
            1 | 2 => format!("{{{name}:03}}"),
            3 | 4 => format!("{{{name}:010}}"),
            5 => format!("{{{name}|mod:{}}}", random.between(2, 12)),
            _ => format!("{{{name}:number}}"),
        },
        ValueKind::Time | ValueKind::Date if random.chance(25) => format!("{{{name}|lower}}"),
        ValueKind::Binary => format!("{{{name}|hex}}"),
        ValueKind::Mapped => format!("{{{name}|map:codes}}"),
        _ => format!("{{{name}}}"),
    }
}
