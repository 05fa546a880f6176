//! Can two templates produce the same key?
//!
//! Each template becomes a pattern of fixed characters, classes of one character, and classes that repeat. Two patterns
//! are compared step by step. A pattern matches at least the keys of its template and may match more, so "no" is
//! certain and "yes" is not.

use std::collections::BTreeSet;

use super::codec::{Codec, KeyMode};
use super::field::Field;
use super::template::{Element, Template};
use crate::attribute::AttributeKind;
use crate::value::AttributeValue;

/// Maximum number of patterns for one template: one for each combination of its listed values. Above it, listed values
/// are treated as free text.
const PATTERNS_MAX: usize = 64;

/// The values that an attribute is known to have.
type KnownValues<'v> = dyn Fn(&str) -> Option<&'v [AttributeValue]> + 'v;

/// The characters allowed at one position.
#[derive(Debug, Clone, PartialEq)]
enum CharClass {
    Is(char),
    OneOf(&'static str),
    NoneOf(Vec<char>),
}

/// One step of a pattern.
#[derive(Debug, Clone)]
struct PatternStep {
    class: CharClass,
    /// Does the class repeat, zero or more times?
    repeats: bool,
}

const DIGITS: &str = "0123456789";
const HEX_DIGITS: &str = "0123456789abcdef";
const PLAIN_NUMBER: &str = "-.0123456789";
const ORDERED_NUMBER: &str = "!0123456789nop~";
/// A number whose digits may be escaped: `%39` for `9`, where `9` follows.
const ESCAPED_NUMBER: &str = "-.%0123456789ABCDEF";
/// The characters of an escaped character.
const ESCAPE: &str = "%0123456789ABCDEF";

impl CharClass {
    fn meets(&self, other: &CharClass) -> bool {
        match (self, other) {
            (CharClass::Is(one), class) | (class, CharClass::Is(one)) => class.has(*one),
            (CharClass::OneOf(letters), class) | (class, CharClass::OneOf(letters)) => {
                letters.chars().any(|letter| class.has(letter))
            }
            // Each leaves out a few characters of very many.
            (CharClass::NoneOf(_), CharClass::NoneOf(_)) => true,
        }
    }

    fn has(&self, letter: char) -> bool {
        match self {
            CharClass::Is(only) => *only == letter,
            CharClass::OneOf(letters) => letters.contains(letter),
            CharClass::NoneOf(letters) => !letters.contains(&letter),
        }
    }
}

impl Template {
    /// Can a key of this template equal one of the other? `known` and `other_known`: the values that attributes have in
    /// the items of each template.
    pub(crate) fn can_equal<'v>(
        &self,
        known: &KnownValues<'v>,
        other: &Template,
        other_known: &KnownValues<'v>,
    ) -> bool {
        let (these, those) = (self.patterns(known), other.patterns(other_known));
        these.iter().any(|one| those.iter().any(|other| meet(one, other)))
    }

    fn patterns(&self, known: &KnownValues<'_>) -> Vec<Vec<PatternStep>> {
        let levels = self.elements.iter().map(Element::level).max().unwrap_or(0);
        (0..=levels).flat_map(|level| self.patterns_to(level, known)).collect()
    }

    /// The patterns of the keys with this many optional tails.
    fn patterns_to(&self, level: usize, known: &KnownValues<'_>) -> Vec<Vec<PatternStep>> {
        let mut patterns: Vec<Vec<PatternStep>> = vec![Vec::new()];
        for element in self.elements.iter().filter(|element| element.level() <= level) {
            let choices = match element {
                Element::Literal { text, .. } => vec![fixed(text)],
                Element::Field { field, .. } => field.choices(known, PATTERNS_MAX / patterns.len()),
            };
            patterns = patterns
                .iter()
                .flat_map(|started| choices.iter().map(|choice| [started.as_slice(), choice].concat()))
                .collect();
        }
        patterns
    }
}

impl Field {
    /// The patterns of a field: one, or one for each listed value.
    fn choices(&self, known: &KnownValues<'_>, most: usize) -> Vec<Vec<PatternStep>> {
        let listed: Option<Vec<AttributeValue>> = match (known(&self.attribute), &self.finite) {
            (Some(values), _) => Some(values.to_vec()),
            (None, Some(finite)) => Some(finite.entries.iter().map(|(value, _)| value.clone()).collect()),
            (None, None) => None,
        };
        let write = |value: &AttributeValue| {
            let mut text = String::new();
            self.write(value, &mut text).ok().map(|()| fixed(&text))
        };
        match listed {
            Some(values) if values.len() <= most => values.iter().filter_map(write).collect(),
            _ => vec![self.pattern()],
        }
    }

    fn pattern(&self) -> Vec<PatternStep> {
        let many = |class| vec![PatternStep { class, repeats: true }];
        match &self.codec {
            Codec::Integer { width } => {
                vec![PatternStep { class: CharClass::OneOf(DIGITS), repeats: false }; *width as usize]
            }
            Codec::Timestamp(precision) => {
                shaped(&"0000-00-00T00:00:00.000000000"[..precision.length() - 1], "Z")
            }
            Codec::LowerTimestamp(precision) => {
                shaped(&"0000-00-00t00:00:00.000000000"[..precision.length() - 1], "z")
            }
            Codec::Date => shaped("0000-00-00", ""),
            Codec::Number => many(CharClass::OneOf(ORDERED_NUMBER)),
            Codec::Shard(_) | Codec::Modulo(_) => many(CharClass::OneOf(DIGITS)),
            Codec::Hex => many(CharClass::OneOf(HEX_DIGITS)),
            Codec::Text if self.kind == AttributeKind::Number => {
                many(CharClass::OneOf(if self.escapes() { ESCAPED_NUMBER } else { PLAIN_NUMBER }))
            }
            // Listed values may be unescaped, separators included.
            _ if self.finite.is_some() => many(CharClass::NoneOf(Vec::new())),
            _ => many(CharClass::NoneOf(self.excluded())),
        }
    }

    /// The characters that a value's text cannot contain, because they begin the text after it.
    fn excluded(&self) -> Vec<char> {
        let is_escaped = self.mode == KeyMode::Escaped;
        let separators = self.follow.separators.iter();
        let kept_out = separators.filter(|separator| is_escaped || separator.chars().count() == 1);
        let first = kept_out.filter_map(|text| text.chars().next());
        // `9` is written `%39`, which contains it.
        first.filter(|letter| !(is_escaped && ESCAPE.contains(*letter))).collect()
    }
}

/// A literal text.
fn fixed(text: &str) -> Vec<PatternStep> {
    text.chars().map(|letter| PatternStep { class: CharClass::Is(letter), repeats: false }).collect()
}

/// A text in which each `0` matches any digit, followed by `end`.
fn shaped(text: &str, end: &str) -> Vec<PatternStep> {
    let class = |letter| if letter == '0' { CharClass::OneOf(DIGITS) } else { CharClass::Is(letter) };
    text.chars()
        .chain(end.chars())
        .map(|letter| PatternStep { class: class(letter), repeats: false })
        .collect()
}

/// Is there a text that fits both patterns?
fn meet(one: &[PatternStep], other: &[PatternStep]) -> bool {
    let mut waiting = vec![(0, 0)];
    let mut seen: BTreeSet<(usize, usize)> = waiting.iter().copied().collect();
    while let Some((i, j)) = waiting.pop() {
        if i == one.len() && j == other.len() {
            return true;
        }
        let mut next = Vec::new();
        let (here, there) = (one.get(i), other.get(j));
        if here.is_some_and(|step| step.repeats) {
            next.push((i + 1, j));
        }
        if there.is_some_and(|step| step.repeats) {
            next.push((i, j + 1));
        }
        if let (Some(here), Some(there)) = (here, there)
            && here.class.meets(&there.class)
        {
            next.push((i + usize::from(!here.repeats), j + usize::from(!there.repeats)));
        }
        waiting.extend(next.into_iter().filter(|state| seen.insert(*state)));
    }
    false
}
