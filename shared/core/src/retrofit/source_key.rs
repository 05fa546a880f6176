//! A source item's key as one text: the key of its row in the ledger and in the quarantine, and the owner's name on a
//! target item.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::model::Table;
use crate::value::{AttributeValue, Hex, Item, Number};

/// A longer text is replaced by its digest in rows' keys, which have less room than two keys of a table.
const ROW_KEY_BYTES_MAX: usize = 900;

/// Room for a text: most keys are of an id or two.
const BYTES_GUESSED: usize = 64;

/// The key of one source item: two items have the same text only if DynamoDB takes them for one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceKey(String);

impl SourceKey {
    /// The key of this item of the table; `None` if it lacks a key attribute.
    pub fn of(table: &Table, item: &Item) -> Option<SourceKey> {
        SourceKey::by(table, |name| item.get(name))
    }

    /// The key that has these values, each given by its name.
    pub(super) fn by<'v>(
        table: &Table,
        value: impl Fn(&str) -> Option<&'v AttributeValue>,
    ) -> Option<SourceKey> {
        let mut text = String::with_capacity(BYTES_GUESSED);
        for key in table.key_attributes() {
            if !text.is_empty() {
                text.push('|');
            }
            push(&mut text, value(&key.name)?)?;
        }
        Some(SourceKey(text))
    }

    /// The text as it was stored.
    pub fn read(value: &AttributeValue) -> Option<SourceKey> {
        match value {
            AttributeValue::S(text) => Some(SourceKey(text.clone())),
            _ => None,
        }
    }

    /// As it is stored on a target item.
    pub fn value(&self) -> AttributeValue {
        AttributeValue::S(self.0.clone())
    }

    /// The key attributes again; `None` if the text is of no key of this table.
    pub fn item(&self, table: &Table) -> Option<Item> {
        let mut parts = split(&self.0).into_iter();
        let mut key = Item::default();
        for attribute in table.key_attributes() {
            key.insert(&attribute.name, pull(&parts.next()?)?);
        }
        parts.next().is_none().then_some(key)
    }

    /// A text for a row's key: this one, or its digest where it is too long.
    pub fn row_key(&self) -> String {
        if self.0.len() <= ROW_KEY_BYTES_MAX {
            return self.0.clone();
        }
        format!("sha256:{}", Hex(&Sha256::digest(&self.0)))
    }
}

impl fmt::Display for SourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Type letter, colon, value; `|` and `\` in a text are escaped. Numbers are written in one way each.
fn push(text: &mut String, value: &AttributeValue) -> Option<()> {
    match value {
        AttributeValue::S(value) => {
            text.push_str("S:");
            match value.contains(['|', '\\']) {
                true => text.push_str(&value.replace('\\', "\\\\").replace('|', "\\|")),
                false => text.push_str(value),
            }
        }
        AttributeValue::N(value) => {
            text.push_str("N:");
            text.push_str(
                &value.parse::<Number>().map_or_else(|_| value.clone(), |number| number.to_string()),
            );
        }
        AttributeValue::B(value) => {
            text.push_str("B:");
            text.push_str(&Hex(value).to_string());
        }
        _ => return None,
    }
    Some(())
}

/// The parts, unescaped.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let (last, letter) = match letter {
            '|' => {
                parts.push(String::new());
                continue;
            }
            '\\' => (parts.last_mut(), letters.next()),
            _ => (parts.last_mut(), Some(letter)),
        };
        if let (Some(last), Some(letter)) = (last, letter) {
            last.push(letter);
        }
    }
    parts
}

fn pull(part: &str) -> Option<AttributeValue> {
    let (letter, value) = part.split_once(':')?;
    match letter {
        "S" => Some(AttributeValue::S(value.to_owned())),
        "N" => Some(AttributeValue::N(value.to_owned())),
        "B" => {
            let pairs = value.as_bytes().chunks(2);
            let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
            pairs.map(byte).collect::<Option<Vec<u8>>>().map(AttributeValue::B)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::fixture;

    #[test]
    fn a_key_comes_back_as_it_was_and_no_two_share_a_text() {
        let table = fixture::table("t", "a", Some("b"), Vec::new());
        let values = |a: AttributeValue, b: AttributeValue| Item::from_iter([("a", a), ("b", b)]);
        let s = |text: &str| AttributeValue::S(text.to_owned());
        let keys = [
            values(s("x|S:y"), s("z")),
            values(s("x"), s("y|S:z")),
            values(s("x\\"), s("|")),
            values(s("S:x"), AttributeValue::N("10".to_owned())),
            values(s("S:x"), AttributeValue::B(vec![0, 255])),
        ];
        let texts: Vec<_> = keys.iter().map(|key| SourceKey::of(&table, key).unwrap()).collect();
        for (key, text) in keys.iter().zip(&texts) {
            assert_eq!(text.item(&table).as_ref(), Some(key));
            assert_eq!(texts.iter().filter(|other| *other == text).count(), 1);
        }
        let number = |text: &str| values(s("x"), AttributeValue::N(text.to_owned()));
        assert_eq!(SourceKey::of(&table, &number("1.0")), SourceKey::of(&table, &number("1")));
    }
}
