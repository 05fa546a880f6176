//! Unfolding: reads a key back into its parts, and accepts only keys that folding would have written.

use super::codec::{Codec, KeyMode};
use super::error::{UnfoldError, UnfoldProblem};
use super::field::Field;
use super::shard::digits;
use super::template::{Element, Template};
use super::{ordered, time};
use crate::attribute::AttributeKind;
use crate::value::{AttributeValue, Number};

/// An attribute's value as far as the key holds it.
#[derive(Debug, Clone, PartialEq)]
pub enum Unfolded {
    /// The attribute's value, exactly.
    Value(AttributeValue),
    /// A case-mapped text.
    Lossy(String),
    /// A shard number.
    Shard(u32),
    /// The item lacks the attribute.
    Absent,
}

impl Template {
    /// Reads a key back into attribute names and values, in the template's order.
    pub fn unfold(&self, key: &str) -> Result<Vec<(&str, Unfolded)>, UnfoldError> {
        if key.is_empty() || key.len() > self.role.bytes_max() {
            return Err(UnfoldError { at: 0, problem: UnfoldProblem::Length });
        }
        let mut parts = Vec::new();
        let (mut at, mut level_before, mut absent) = (0, 0, false);
        for element in &self.elements {
            let begins_tail = element.level() > level_before;
            level_before = element.level();
            absent = absent || (begins_tail && at == key.len());
            match element {
                Element::Literal { .. } if absent => {}
                Element::Field { field, .. } if absent => {
                    parts.push((field.attribute.as_str(), Unfolded::Absent));
                }
                Element::Literal { text, .. } => {
                    if !key[at..].starts_with(text.as_str()) {
                        let problem = UnfoldProblem::Literal { expected: text.clone() };
                        return Err(UnfoldError { at, problem });
                    }
                    at += text.len();
                }
                Element::Field { field, .. } => {
                    let Some((part, length)) =
                        field.read(&key[at..]).filter(|(_, length)| !begins_tail || *length > 0)
                    else {
                        let problem = UnfoldProblem::Value { attribute: field.attribute.clone() };
                        return Err(UnfoldError { at, problem });
                    };
                    parts.push((field.attribute.as_str(), part));
                    at += length;
                }
            }
        }
        if at < key.len() {
            return Err(UnfoldError { at, problem: UnfoldProblem::LeftOver });
        }
        Ok(parts)
    }
}

impl Field {
    /// Reads a value at the start of a text, and its length in bytes.
    fn read(&self, text: &str) -> Option<(Unfolded, usize)> {
        if let Some(finite) = &self.finite {
            if finite.plain {
                let fits = |(_, known): &&(AttributeValue, String)| {
                    text.strip_prefix(known.as_str()).is_some_and(|rest| self.can_follow(rest))
                };
                let (value, known) = finite.entries.iter().find(fits)?;
                return Some((Unfolded::Value(value.clone()), known.len()));
            }
            let (raw, length) = self.read_text(text)?;
            let (value, _) = finite.entries.iter().find(|(_, known)| *known == raw)?;
            return Some((Unfolded::Value(value.clone()), length));
        }
        match &self.codec {
            Codec::Integer { width } => {
                let digits = text.get(..*width as usize)?;
                let number: Number =
                    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
                Some((Unfolded::Value(AttributeValue::N(number.to_string())), digits.len()))
            }
            Codec::Number => {
                let (number, length) = ordered::read(text)?;
                let mut again = String::with_capacity(length);
                ordered::write(&number, &mut again);
                (text.get(..length)? == again)
                    .then(|| (Unfolded::Value(AttributeValue::N(number.to_string())), length))
            }
            Codec::Timestamp(precision) => {
                let stamp = text.get(..precision.length())?;
                let mut again = String::with_capacity(stamp.len());
                time::write(stamp, *precision, &mut again).ok()?;
                (stamp == again).then_some((Unfolded::Value(AttributeValue::S(again)), stamp.len()))
            }
            Codec::LowerTimestamp(precision) => {
                let stamp = text.get(..precision.length())?;
                let value = stamp.to_ascii_uppercase();
                let is_lower = value.to_ascii_lowercase() == stamp;
                (is_lower && time::is_canonical(&value, *precision))
                    .then_some((Unfolded::Value(AttributeValue::S(value)), stamp.len()))
            }
            Codec::Date => {
                let date = text.get(..10)?;
                time::read_date(date)?;
                Some((Unfolded::Value(AttributeValue::S(date.to_owned())), date.len()))
            }
            Codec::Shard(shards) => {
                let number = text.get(..digits(*shards) as usize)?;
                let shard: u32 =
                    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())??;
                (shard < *shards).then_some((Unfolded::Shard(shard), number.len()))
            }
            Codec::Modulo(shards) => {
                let length =
                    text.bytes().take(digits(*shards) as usize).take_while(u8::is_ascii_digit).count();
                let number = &text[..length];
                let shard: u32 = number.parse().ok()?;
                // Plain digits without leading zeros.
                (shard < *shards && shard.to_string() == number).then_some((Unfolded::Shard(shard), length))
            }
            Codec::Lower | Codec::Upper => self.read_mapped(text),
            Codec::Hex => read_hex(text, &self.follow.separators),
            Codec::Text | Codec::Map(_) | Codec::Enumerated => self.read_free(text),
        }
    }

    fn read_free(&self, text: &str) -> Option<(Unfolded, usize)> {
        let (raw, length) = self.read_text(text)?;
        let value = match self.kind {
            AttributeKind::Number => {
                let number: Number = raw.parse().ok()?;
                if number.to_string() != raw {
                    return None;
                }
                AttributeValue::N(raw)
            }
            AttributeKind::Binary => AttributeValue::B(raw.into_bytes()),
            _ => AttributeValue::S(raw),
        };
        Some((Unfolded::Value(value), length))
    }

    fn read_mapped(&self, text: &str) -> Option<(Unfolded, usize)> {
        let (raw, length) = self.read_text(text)?;
        let again: String = match self.codec {
            Codec::Lower => raw.chars().flat_map(char::to_lowercase).collect(),
            _ => raw.chars().flat_map(char::to_uppercase).collect(),
        };
        (again == raw).then_some((Unfolded::Lossy(raw), length))
    }

    /// Free text up to the separator, and its length in bytes.
    fn read_text(&self, text: &str) -> Option<(String, usize)> {
        if self.follow.is_last() {
            return Some((text.to_owned(), text.len()));
        }
        let end = match self.mode {
            KeyMode::Escaped => self.end_of_escaped(text),
            KeyMode::Verbatim => {
                self.follow.separators.iter().filter_map(|separator| text.find(separator.as_str())).min()
            }
        };
        let raw = match end {
            Some(end) => &text[..end],
            None if self.follow.end => text,
            None => return None,
        };
        let value = match self.mode {
            KeyMode::Escaped => unescape(raw)?,
            KeyMode::Verbatim => raw.to_owned(),
        };
        let mut again = String::with_capacity(raw.len());
        self.write_text(&value, &mut again).ok()?;
        (again == raw).then_some((value, raw.len()))
    }

    /// The position of the separator. Separators within an escape do not count, not even digits.
    fn end_of_escaped(&self, text: &str) -> Option<usize> {
        let mut escaped_to = 0;
        text.char_indices()
            .find(|(at, letter)| {
                if *at < escaped_to {
                    return false;
                }
                if *letter == '%' {
                    escaped_to = at + 3;
                }
                self.follow.begins(*letter)
            })
            .map(|(at, _)| at)
    }

    fn can_follow(&self, rest: &str) -> bool {
        self.follow.adjacent
            || (rest.is_empty() && (self.follow.end || self.follow.separators.is_empty()))
            || self.follow.separators.iter().any(|separator| rest.starts_with(separator.as_str()))
    }
}

fn unescape(raw: &str) -> Option<String> {
    if !raw.contains('%') {
        return Some(raw.to_owned());
    }
    let mut bytes = Vec::with_capacity(raw.len());
    let mut left = raw.bytes();
    while let Some(byte) = left.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let value = digit(left.next()?)? * 16 + digit(left.next()?)?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn read_hex(text: &str, separators: &[String]) -> Option<(Unfolded, usize)> {
    let end =
        separators.iter().filter_map(|separator| text.find(separator.as_str())).min().unwrap_or(text.len());
    let digits = text.get(..end)?.as_bytes();
    let nibble = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let bytes = digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(nibble(*high)? << 4 | nibble(*low)?),
            _ => None,
        })
        .collect::<Option<Vec<u8>>>()?;
    Some((Unfolded::Value(AttributeValue::B(bytes)), end))
}
