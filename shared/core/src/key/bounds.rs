//! Ranges of values as ranges of texts, for codecs that keep an order.

use std::ops::Bound;

use super::codec::{Codec, KeyMode};
use super::encode::{number, push_padded};
use super::field::Field;
use super::follow::{after_all, previous_char};
use super::{ordered, time};
use crate::attribute::{AttributeKind, Precision};
use crate::value::{AttributeValue, Number};

/// The texts that pass a test of one part, whatever follows the part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Narrowed {
    /// No restriction.
    Open,
    /// No value passes.
    Nothing,
    /// Texts with this prefix. `exact`: every such text passes.
    Prefix { text: String, exact: bool },
    /// Texts between two ends. Every such text passes.
    Between { low: End, high: End },
}

/// One end of a range of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    None,
    Included(String),
    /// Excludes the text itself.
    Excluded(String),
}

impl End {
    /// A lower end that excludes the empty text, given the first possible text.
    pub(super) fn present(self, least: &str) -> End {
        match self {
            End::Included(text) if !text.is_empty() => End::Included(text),
            End::Excluded(text) => End::Excluded(text),
            _ if least.is_empty() => End::Excluded(String::new()),
            _ => End::Included(least.to_owned()),
        }
    }
}

impl Field {
    /// The texts of values within a range.
    pub(super) fn between(&self, low: &Bound<&AttributeValue>, high: &Bound<&AttributeValue>) -> Narrowed {
        let comparable = |bound: &Bound<&AttributeValue>| match bound {
            Bound::Unbounded => true,
            Bound::Included(value) | Bound::Excluded(value) => {
                crate::value::type_letter(value) == self.kind.type_letter()
            }
        };
        if !comparable(low) || !comparable(high) {
            return Narrowed::Nothing;
        }
        match &self.codec {
            Codec::Integer { width } => self.integers(*width, low, high),
            Codec::Number => self.numbers(low, high),
            Codec::Timestamp(precision) => self.times(low, high, &|text| match stamp(text, *precision) {
                Some((whole, cut)) => (whole, Some(cut)),
                None => (text.to_owned(), None),
            }),
            Codec::LowerTimestamp(precision) => {
                self.times(low, high, &|text| match stamp(text, *precision) {
                    Some((whole, cut)) => (whole.to_ascii_lowercase(), Some(cut)),
                    None => (in_lower_order(text, *precision), None),
                })
            }
            Codec::Date => self.times(low, high, &|text| match date(text) {
                Some((whole, cut)) => (whole, Some(cut)),
                None => (text.to_owned(), None),
            }),
            Codec::Text if self.kind != AttributeKind::Number => self.texts(low, high),
            Codec::Hex if self.follow.is_last() => self.hex(low, high),
            _ => Narrowed::Open,
        }
    }

    /// The texts of values that begin with a text.
    pub(super) fn beginning(&self, prefix: &AttributeValue) -> Narrowed {
        let mut text = String::new();
        match (&self.codec, prefix) {
            (Codec::Hex, AttributeValue::B(_)) => match self.write(prefix, &mut text) {
                Ok(()) => Narrowed::Prefix { text, exact: true },
                Err(_) => Narrowed::Nothing,
            },
            // A longer prefix would reach into the text that follows this part.
            (Codec::Timestamp(precision), AttributeValue::S(prefix))
                if prefix.len() <= precision.length() =>
            {
                Narrowed::Prefix { text: prefix.clone(), exact: true }
            }
            (Codec::LowerTimestamp(precision), AttributeValue::S(prefix))
                if prefix.len() <= precision.length() =>
            {
                Narrowed::Prefix { text: in_lower_order(prefix, *precision), exact: true }
            }
            (Codec::Date, AttributeValue::S(prefix)) if prefix.len() <= DATE_LENGTH => {
                Narrowed::Prefix { text: prefix.clone(), exact: true }
            }
            (Codec::Text, AttributeValue::S(prefix)) if self.kind == AttributeKind::String => {
                self.free_prefix(prefix, true)
            }
            (Codec::Text, AttributeValue::B(bytes)) if self.kind == AttributeKind::Binary => {
                // Bytes may end in the middle of a character; the part before it is text.
                let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
                self.free_prefix(valid, valid.len() == bytes.len())
            }
            (Codec::Lower, AttributeValue::S(prefix)) => {
                self.free_prefix(&prefix.chars().flat_map(char::to_lowercase).collect::<String>(), false)
            }
            (Codec::Upper, AttributeValue::S(prefix)) => {
                self.free_prefix(&prefix.chars().flat_map(char::to_uppercase).collect::<String>(), false)
            }
            _ => Narrowed::Nothing,
        }
    }

    fn free_prefix(&self, prefix: &str, exact: bool) -> Narrowed {
        let mut text = String::new();
        if self.mode == KeyMode::Verbatim && !self.follow.is_last() {
            let end = prefix.find(|letter| self.follow.begins(letter)).unwrap_or(prefix.len());
            return Narrowed::Prefix { text: prefix[..end].to_owned(), exact: exact && end == prefix.len() };
        }
        match self.write_text(prefix, &mut text) {
            Ok(()) => Narrowed::Prefix { text, exact },
            Err(_) => Narrowed::Open,
        }
    }

    /// Free text: ordered if nothing follows it, otherwise the common prefix of both ends.
    fn texts(&self, low: &Bound<&AttributeValue>, high: &Bound<&AttributeValue>) -> Narrowed {
        let text = |bound: &Bound<&AttributeValue>| {
            bound.as_ref().map(|value| match value {
                AttributeValue::S(text) => Some(text.clone()),
                AttributeValue::B(bytes) => String::from_utf8(bytes.clone()).ok(),
                _ => None,
            })
        };
        let (low, high) = (text(low), text(high));
        if [&low, &high].iter().any(|bound| matches!(bound, Bound::Included(None) | Bound::Excluded(None))) {
            return Narrowed::Open;
        }
        let (low, high) = (low.map(Option::unwrap_or_default), high.map(Option::unwrap_or_default));
        if !self.follow.is_last() {
            let (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) =
                (low, high)
            else {
                return Narrowed::Open;
            };
            let same = low
                .chars()
                .zip(high.chars())
                .take_while(|(a, b)| a == b)
                .map(|(letter, _)| letter)
                .collect::<String>();
            return if same.is_empty() { Narrowed::Open } else { self.free_prefix(&same, false) };
        }
        let end = |bound| match bound {
            Bound::Unbounded => End::None,
            Bound::Included(text) => End::Included(text),
            Bound::Excluded(text) => End::Excluded(text),
        };
        Narrowed::Between { low: end(low), high: end(high) }
    }

    fn hex(&self, low: &Bound<&AttributeValue>, high: &Bound<&AttributeValue>) -> Narrowed {
        let end = |bound: &Bound<&AttributeValue>| {
            let mut text = String::new();
            match bound {
                Bound::Unbounded => End::None,
                Bound::Included(value) => {
                    self.write(value, &mut text).map_or(End::None, |()| End::Included(text))
                }
                Bound::Excluded(value) => {
                    self.write(value, &mut text).map_or(End::None, |()| End::Excluded(text))
                }
            }
        };
        Narrowed::Between { low: end(low), high: end(high) }
    }

    /// The lower end above this value and all texts that can follow it.
    fn beyond(&self, text: &str) -> End {
        if self.follow.is_last() {
            return End::Included(format!("{text} "));
        }
        match self.follow.above() {
            Some(above) => End::Included(format!("{text}{above}")),
            None => after_all(text).map_or(End::None, End::Included),
        }
    }

    /// The upper end that includes this value with any text that can follow it.
    fn up_to(&self, text: String) -> End {
        if self.follow.is_last() {
            return End::Included(text);
        }
        match self.follow.above() {
            Some(above) => End::Included(format!("{text}{above}")),
            None => after_all(&text).map_or(End::None, End::Excluded),
        }
    }

    /// The upper end below this value. Texts of one codec differ before they end, so the last character can step back.
    fn below(&self, text: String) -> End {
        let follow = &self.follow;
        if !follow.is_last() && (!follow.end || follow.above().is_none()) {
            return End::Excluded(text);
        }
        let Some(before) = text.chars().next_back().and_then(previous_char) else {
            return End::Excluded(text);
        };
        let mut lower = text;
        lower.pop();
        lower.push(before);
        if lower == "n" {
            // All negative numbers are below zero.
            lower.push('~');
        }
        self.up_to(lower)
    }

    /// The first text that a value can have.
    pub(super) fn least(&self) -> &'static str {
        match &self.codec {
            Codec::Number => "n",
            Codec::Integer { .. } | Codec::Timestamp(_) | Codec::LowerTimestamp(_) | Codec::Date => "0",
            _ => "",
        }
    }

    fn integers(&self, width: u32, low: &Bound<&AttributeValue>, high: &Bound<&AttributeValue>) -> Narrowed {
        let largest = 10u128.pow(width) - 1;
        let Some(first) = first_integer(low) else { return Narrowed::Nothing };
        let Some(last) = last_integer(high, largest) else { return Narrowed::Nothing };
        if first > last.min(largest) {
            return Narrowed::Nothing;
        }
        let padded = |value: u128| {
            let mut text = String::new();
            push_padded(value, width, &mut text);
            text
        };
        Narrowed::Between { low: End::Included(padded(first)), high: self.up_to(padded(last.min(largest))) }
    }

    fn numbers(&self, low: &Bound<&AttributeValue>, high: &Bound<&AttributeValue>) -> Narrowed {
        let text = |value: &AttributeValue| {
            let AttributeValue::N(value) = value else { return None };
            let mut text = String::new();
            ordered::write(&number(value).ok()?, &mut text);
            Some(text)
        };
        let low = match low {
            Bound::Unbounded => Some(End::None),
            Bound::Included(value) => text(value).map(End::Included),
            Bound::Excluded(value) => text(value).map(|text| self.beyond(&text)),
        };
        let high = match high {
            Bound::Unbounded => Some(End::None),
            Bound::Included(value) => text(value).map(|text| self.up_to(text)),
            Bound::Excluded(value) => text(value).map(|text| self.below(text)),
        };
        match (low, high) {
            (Some(low), Some(high)) => Narrowed::Between { low, high },
            _ => Narrowed::Nothing,
        }
    }

    /// Timestamps and dates: a complete one in its canonical form, a prefix (`2017-03`) as text. `read` returns the
    /// text of a bound in the key and, if the bound is complete, whether digits were cut off.
    fn times(
        &self,
        low: &Bound<&AttributeValue>,
        high: &Bound<&AttributeValue>,
        read: &dyn Fn(&str) -> (String, Option<bool>),
    ) -> Narrowed {
        let low = match low {
            Bound::Included(AttributeValue::S(text)) | Bound::Excluded(AttributeValue::S(text)) => {
                match read(text) {
                    (text, None) => End::Included(text),
                    // A cut bound lies above the canonical form.
                    (whole, Some(cut)) if cut || matches!(low, Bound::Excluded(_)) => self.beyond(&whole),
                    (whole, Some(_)) => End::Included(whole),
                }
            }
            _ => End::None,
        };
        let high = match high {
            Bound::Included(AttributeValue::S(text)) | Bound::Excluded(AttributeValue::S(text)) => {
                match read(text) {
                    (text, None) => End::Included(text),
                    (whole, Some(cut)) if cut || matches!(high, Bound::Included(_)) => self.up_to(whole),
                    (whole, Some(_)) => self.below(whole),
                }
            }
            _ => End::None,
        };
        Narrowed::Between { low, high }
    }
}

/// The length of a date.
const DATE_LENGTH: usize = 10;

/// A text as a bound among timestamps in lower case. `T` and `Z` have fixed places; a letter below, equal to or above
/// them must keep that order in lower case.
fn in_lower_order(text: &str, precision: Precision) -> String {
    let moved = |letter: char, upper: char| match letter.cmp(&upper) {
        std::cmp::Ordering::Less => letter,
        std::cmp::Ordering::Equal => upper.to_ascii_lowercase(),
        std::cmp::Ordering::Greater => letter.max(char::from(upper.to_ascii_lowercase() as u8 + 1)),
    };
    let letter = |(at, letter)| match at {
        10 => moved(letter, 'T'),
        at if at + 1 == precision.length() => moved(letter, 'Z'),
        _ => letter,
    };
    text.char_indices().map(letter).collect()
}

/// The canonical form of a timestamp, and whether digits were cut off. Text after a canonical form counts as cut off.
fn stamp(text: &str, precision: Precision) -> Option<(String, bool)> {
    let Some(stamp) = time::read(text, precision) else {
        let head = text.get(..precision.length()).filter(|head| time::is_canonical(head, precision))?;
        return Some((head.to_owned(), true));
    };
    let mut whole = String::with_capacity(precision.length());
    time::write_stamp(&stamp, precision, &mut whole);
    Some((whole, stamp.cut))
}

fn date(text: &str) -> Option<(String, bool)> {
    let head = text.get(..DATE_LENGTH)?;
    time::read_date(head).map(|_| (head.to_owned(), head.len() < text.len()))
}

/// The first integer from zero on within a lower bound; `None` if it is larger than any key's.
fn first_integer(low: &Bound<&AttributeValue>) -> Option<u128> {
    match low {
        Bound::Included(AttributeValue::N(text)) => {
            let (floor, exact) = floor(text)?;
            Some(if exact { floor } else { floor + 1 })
        }
        Bound::Excluded(AttributeValue::N(text)) => match text.parse::<Number>().ok()?.is_negative() {
            true => Some(0),
            false => Some(floor(text)?.0 + 1),
        },
        _ => Some(0),
    }
}

/// The last integer from zero on within an upper bound; `None` if that is negative.
fn last_integer(high: &Bound<&AttributeValue>, largest: u128) -> Option<u128> {
    let (text, included) = match high {
        Bound::Included(AttributeValue::N(text)) => (text, true),
        Bound::Excluded(AttributeValue::N(text)) => (text, false),
        _ => return Some(largest),
    };
    if text.parse::<Number>().ok()?.is_negative() {
        return None;
    }
    match floor(text) {
        None => Some(largest),
        Some((floor, exact)) if exact && !included => floor.checked_sub(1),
        Some((floor, _)) => Some(floor),
    }
}

/// A number truncated to an integer (a negative one to zero), and whether it is exact; `None` beyond 20 digits.
fn floor(text: &str) -> Option<(u128, bool)> {
    let number: Number = text.parse().ok()?;
    if number.is_negative() || number.is_zero() {
        // The first key is zero, which every negative bound admits.
        return Some((0, true));
    }
    match number.exponent() {
        exponent @ 0.. => (number.magnitude() < 21)
            .then(|| (number.coefficient() * 10u128.pow(exponent.unsigned_abs()), true)),
        exponent => {
            let whole =
                10u128.checked_pow(exponent.unsigned_abs()).map_or(0, |scale| number.coefficient() / scale);
            (whole < 10u128.pow(21)).then_some((whole, false))
        }
    }
}
