//! Writes one value into a key.

use super::codec::{Codec, KeyMode};
use super::error::FoldProblem;
use super::field::Field;
use super::shard::{digits, shard_of};
use super::{ordered, time};
use crate::value::{AttributeValue, Hex, Number, type_letter};

impl Field {
    /// Appends a value's text.
    pub(super) fn write(&self, value: &AttributeValue, out: &mut String) -> Result<(), FoldProblem> {
        if let Some(finite) = &self.finite {
            let text = finite.text(value).ok_or_else(|| self.not_listed(value))?;
            if finite.plain {
                out.push_str(text);
                return Ok(());
            }
            return self.write_text(text, out);
        }
        match (&self.codec, value) {
            (Codec::Shard(shards), _) => self.write_shard(value, *shards, out),
            (Codec::Modulo(shards), AttributeValue::N(text)) => write_modulo(text, *shards, out),
            (Codec::Integer { width }, AttributeValue::N(text)) => write_integer(text, *width, out),
            (Codec::Number, AttributeValue::N(text)) => {
                ordered::write(&number(text)?, out);
                Ok(())
            }
            (Codec::Timestamp(precision), AttributeValue::S(text)) => time::write(text, *precision, out),
            (Codec::LowerTimestamp(precision), AttributeValue::S(text)) => {
                let start = out.len();
                time::write(text, *precision, out)?;
                out[start..].make_ascii_lowercase();
                Ok(())
            }
            (Codec::Date, AttributeValue::S(text)) => match time::read_date(text) {
                Some(_) => {
                    out.push_str(text);
                    Ok(())
                }
                None => Err(FoldProblem::NotADate),
            },
            (Codec::Lower, AttributeValue::S(text)) => {
                self.write_text(&text.chars().flat_map(char::to_lowercase).collect::<String>(), out)
            }
            (Codec::Upper, AttributeValue::S(text)) => {
                self.write_text(&text.chars().flat_map(char::to_uppercase).collect::<String>(), out)
            }
            (Codec::Hex, AttributeValue::B(bytes)) => {
                out.push_str(&Hex(bytes).to_string());
                Ok(())
            }
            (Codec::Text, value) if type_letter(value) == self.kind.type_letter() => {
                self.write_free(value, out)
            }
            _ => Err(self.wrong_type(value)),
        }
    }

    fn not_listed(&self, value: &AttributeValue) -> FoldProblem {
        match &self.codec {
            _ if type_letter(value) != self.kind.type_letter() => self.wrong_type(value),
            Codec::Map(map) => FoldProblem::NotInMap { map: map.clone() },
            _ => FoldProblem::NotListed,
        }
    }

    fn wrong_type(&self, value: &AttributeValue) -> FoldProblem {
        FoldProblem::WrongType { expected: self.kind.type_letter(), found: type_letter(value) }
    }

    fn write_free(&self, value: &AttributeValue, out: &mut String) -> Result<(), FoldProblem> {
        match value {
            AttributeValue::S(text) => self.write_text(text, out),
            AttributeValue::N(text) => self.write_text(&number(text)?.to_string(), out),
            AttributeValue::B(bytes) => {
                self.write_text(std::str::from_utf8(bytes).map_err(|_| FoldProblem::NotText)?, out)
            }
            other => Err(self.wrong_type(other)),
        }
    }

    /// Appends free text, escaped or refused where the text after it could be misread as a part of it.
    pub(super) fn write_text(&self, text: &str, out: &mut String) -> Result<(), FoldProblem> {
        if self.follow.is_last() {
            out.push_str(text);
            return Ok(());
        }
        match self.mode {
            KeyMode::Verbatim => match self.separator_in(text) {
                Some(separator) => return Err(FoldProblem::Separator { separator: separator.to_owned() }),
                None => out.push_str(text),
            },
            KeyMode::Escaped => self.escape(text, out),
        }
        Ok(())
    }

    /// A separator within the text that would end the part too early.
    pub(super) fn separator_in(&self, text: &str) -> Option<&str> {
        let early = |separator: &&String| {
            let separator = separator.as_str();
            if text.contains(separator) {
                return true;
            }
            // `a-` before `--`: a reader would find the separator one byte early.
            let separator = separator.as_bytes();
            text.char_indices().map(|(at, _)| &text.as_bytes()[at..]).any(|tail| {
                tail.len() < separator.len()
                    && separator.starts_with(tail)
                    && separator[tail.len()..] == separator[..separator.len() - tail.len()]
            })
        };
        self.follow.separators.iter().find(early).map(String::as_str)
    }

    fn escape(&self, text: &str, out: &mut String) {
        let mut clean_from = 0;
        for (at, letter) in text.char_indices() {
            if letter == '%' || self.follow.begins(letter) {
                out.push_str(&text[clean_from..at]);
                clean_from = at + letter.len_utf8();
                for byte in text[at..clean_from].bytes() {
                    out.push_str(&format!("%{byte:02X}"));
                }
            }
        }
        out.push_str(&text[clean_from..]);
    }

    fn write_shard(&self, value: &AttributeValue, shards: u32, out: &mut String) -> Result<(), FoldProblem> {
        let shard = self.shard(value, shards)?;
        push_padded(shard.into(), digits(shards), out);
        Ok(())
    }

    /// The shard of a value, from its canonical text.
    fn shard(&self, value: &AttributeValue, shards: u32) -> Result<u32, FoldProblem> {
        if type_letter(value) != self.kind.type_letter() {
            return Err(self.wrong_type(value));
        }
        Ok(match (self.kind, value) {
            (crate::attribute::AttributeKind::Timestamp(precision), AttributeValue::S(text)) => {
                let mut canonical = String::with_capacity(precision.length());
                time::write(text, precision, &mut canonical)?;
                shard_of(canonical.as_bytes(), shards)
            }
            (_, AttributeValue::S(text)) => shard_of(text.as_bytes(), shards),
            (_, AttributeValue::N(text)) => shard_of(number(text)?.to_string().as_bytes(), shards),
            (_, AttributeValue::B(bytes)) => shard_of(bytes, shards),
            (_, AttributeValue::Bool(value)) => shard_of(value.to_string().as_bytes(), shards),
            (_, other) => return Err(self.wrong_type(other)),
        })
    }
}

pub(super) fn number(text: &str) -> Result<Number, FoldProblem> {
    text.parse().map_err(|_| FoldProblem::NotANumber)
}

fn write_integer(text: &str, width: u32, out: &mut String) -> Result<(), FoldProblem> {
    let problem = FoldProblem::NotAnInteger { width };
    let value = number(text)?;
    if value.is_negative() || value.exponent() < 0 || value.magnitude() > 20 {
        return Err(problem);
    }
    // At most 21 digits: far from the end of the type.
    match push_padded(value.coefficient() * 10u128.pow(value.exponent().unsigned_abs()), width, out) {
        true => Ok(()),
        false => Err(problem),
    }
}

/// Appends an integer's remainder.
fn write_modulo(text: &str, shards: u32, out: &mut String) -> Result<(), FoldProblem> {
    let value = number(text)?;
    if value.is_negative() || value.exponent() < 0 {
        return Err(FoldProblem::NoRemainder);
    }
    let shards = u128::from(shards);
    let zeros = (0..value.exponent()).fold(1, |power, _| power * 10 % shards);
    out.push_str(&(value.coefficient() % shards * zeros % shards).to_string());
    Ok(())
}

/// Appends a number, zero-padded; `false` if it is too wide.
pub(super) fn push_padded(value: u128, width: u32, out: &mut String) -> bool {
    let fits = 10u128.checked_pow(width).is_some_and(|limit| value < limit);
    if fits {
        out.push_str(&format!("{value:0width$}", width = width as usize));
    }
    fits
}
