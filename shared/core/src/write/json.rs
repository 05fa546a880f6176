//! An item from JSON: plain, as answers have it, or in DynamoDB's own notation.

use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::index::NESTING_LEVELS_MAX;
use crate::model::{AttributeKind, Table};
use crate::value::{AttributeValue, Item, Name, Number, NumberError};

/// Why a text is no item. Nothing of the text is shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonItemError {
    /// It is not JSON, or not the JSON that belongs there.
    #[error("this is not {wanted} (line {line}, column {column})")]
    Syntax {
        /// What it should be.
        wanted: &'static str,
        /// Where it is not, counted within the value.
        line: usize,
        /// Where it is not.
        column: usize,
    },
    /// An object has a member twice: one of the values would be lost.
    #[error("an object has the same member twice")]
    Twice,
    /// DynamoDB takes no deeper value.
    #[error("the value is nested deeper than {NESTING_LEVELS_MAX} levels")]
    Deep,
    /// DynamoDB has no such number.
    #[error("a number is not a valid DynamoDB number: {0}")]
    Number(#[from] NumberError),
}

impl JsonItemError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            JsonItemError::Number(_) => "invalid-value",
            _ => "malformed-request",
        }
    }
}

/// An item, or some attributes of one. It is in DynamoDB's notation if every attribute looks like `{"S": ...}`. Otherwise the
/// manifest says what a text or a list is: base64 is read as a binary where one is declared, and a list as a set.
///
/// ```
/// # let text = "[tables.pets]\npartition = \"id\"\n[tables.pets.attributes]\nid = \"string\"\ntags = \"string-set\"\n";
/// # let model = keyfold_core::manifest::parse("keyfold.toml", text).model.unwrap();
/// use keyfold_core::write::item_of_json;
/// let item = item_of_json(&model.tables[0], r#"{"id": "rex", "tags": ["dog"], "weight": 30.25}"#)?;
/// assert_eq!(serde_json::to_value(&item["tags"])?, serde_json::json!({ "SS": ["dog"] }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn item_of_json(table: &Table, text: &str) -> Result<Item, JsonItemError> {
    let members = members(text)?;
    let in_notation = !members.is_empty() && members.iter().all(|(_, value)| is_typed(value.get()));
    let one = |(name, value): (String, &RawValue)| {
        let value = match in_notation {
            true => read(value.get(), "a value in DynamoDB's notation")?,
            false => value_of_json(table, &name, value.get())?,
        };
        Ok((Name::from(name), value))
    };
    let attributes = members.into_iter().map(one).collect::<Result<Vec<_>, JsonItemError>>()?;
    Ok(attributes.into())
}

/// The value of an attribute from plain JSON. A number keeps every digit.
pub fn value_of_json(table: &Table, attribute: &str, text: &str) -> Result<AttributeValue, JsonItemError> {
    let value = nested(text, NESTING_LEVELS_MAX)?;
    let declared = table.attributes.get(attribute).map(|attribute| attribute.kind);
    Ok(declared.and_then(|kind| declared_as(kind, &value)).unwrap_or(value))
}

/// The value as the type that plain JSON has no form of; `None` if it is another type, or not such a value.
fn declared_as(kind: AttributeKind, value: &AttributeValue) -> Option<AttributeValue> {
    // The notation already has bytes as base64.
    let binary = |value: &AttributeValue| match value {
        AttributeValue::S(text) => match serde_json::from_value(serde_json::json!({ "B": text })) {
            Ok(AttributeValue::B(bytes)) => Some(bytes),
            _ => None,
        },
        _ => None,
    };
    match (kind, value) {
        (AttributeKind::Binary, value) => binary(value).map(AttributeValue::B),
        (AttributeKind::BinarySet, AttributeValue::L(list)) => {
            list.iter().map(binary).collect::<Option<_>>().map(AttributeValue::Bs)
        }
        (AttributeKind::StringSet, AttributeValue::L(list)) => {
            let texts = list.iter().map(|one| match one {
                AttributeValue::S(text) => Some(text.clone()),
                _ => None,
            });
            texts.collect::<Option<_>>().map(AttributeValue::Ss)
        }
        (AttributeKind::NumberSet, AttributeValue::L(list)) => {
            let numbers = list.iter().map(|one| match one {
                AttributeValue::N(number) => Some(number.clone()),
                _ => None,
            });
            numbers.collect::<Option<_>>().map(AttributeValue::Ns)
        }
        _ => None,
    }
}

fn nested(text: &str, depth_left: usize) -> Result<AttributeValue, JsonItemError> {
    let inner = || depth_left.checked_sub(1).ok_or(JsonItemError::Deep);
    Ok(match text.trim_start().as_bytes().first() {
        Some(b'"') => AttributeValue::S(read(text, "a text")?),
        Some(b't' | b'f') => AttributeValue::Bool(read(text, "true or false")?),
        Some(b'n') => {
            let () = read(text, "null")?;
            AttributeValue::Null(true)
        }
        Some(b'[') => {
            let (left, elements) = (inner()?, read::<Vec<&RawValue>>(text, "a list")?);
            let elements = elements.into_iter().map(|element| nested(element.get(), left));
            AttributeValue::L(elements.collect::<Result<_, _>>()?)
        }
        Some(b'{') => {
            let left = inner()?;
            let members = members(text)?.into_iter();
            let members = members.map(|(name, member)| Ok((name, nested(member.get(), left)?)));
            AttributeValue::M(members.collect::<Result<_, JsonItemError>>()?)
        }
        _ => {
            let number: &RawValue = read(text, "JSON")?;
            AttributeValue::N(number.get().parse::<Number>()?.to_string())
        }
    })
}

/// Is this `{"S": ...}` or its like?
fn is_typed(text: &str) -> bool {
    const LETTERS: [&str; 10] = ["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"];
    let members = text.starts_with('{').then(|| members(text).ok()).flatten();
    members.is_some_and(|members| matches!(&*members, [(letter, _)] if LETTERS.contains(&letter.as_str())))
}

fn members(text: &str) -> Result<Vec<(String, &RawValue)>, JsonItemError> {
    let members: Members<'_> = read(text, "a JSON object")?;
    if members.has_one_twice() { Err(JsonItemError::Twice) } else { Ok(members.0) }
}

fn read<'t, T: Deserialize<'t>>(text: &'t str, wanted: &'static str) -> Result<T, JsonItemError> {
    let place = |error: serde_json::Error| JsonItemError::Syntax {
        wanted,
        line: error.line(),
        column: error.column(),
    };
    serde_json::from_str(text).map_err(place)
}

/// The members of a JSON object, as they are written and as often as they are there.
#[derive(Debug)]
pub struct Members<'t>(pub Vec<(String, &'t RawValue)>);

impl Members<'_> {
    /// Is a member there twice? One of its values would be lost.
    pub fn has_one_twice(&self) -> bool {
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "[tables.pets]\npartition = \"id\"\n[tables.pets.attributes]\nid = \"string\"\nphoto = \"binary\"\n\
                         tags = \"string-set\"\nweights = \"number-set\"\n";

    fn table() -> Table {
        crate::manifest::parse("keyfold.toml", TABLE).model.unwrap().tables.remove(0)
    }

    fn item(text: &str) -> Result<Item, JsonItemError> {
        item_of_json(&table(), text)
    }

    #[test]
    fn both_notations_give_the_same_item() {
        let plain =
            r#"{"id":"a","words":7,"ok":true,"photo":"AP8=","tags":["x"],"weights":[1,2.50],"none":null}"#;
        let typed = r#"{"id":{"S":"a"},"words":{"N":"7"},"ok":{"BOOL":true},"photo":{"B":"AP8="},"tags":{"SS":["x"]},
                        "weights":{"NS":["1","2.5"]},"none":{"NULL":true}}"#;
        assert_eq!(item(plain).unwrap(), item(typed).unwrap());
    }

    #[test]
    fn a_number_keeps_the_digits_that_a_double_would_lose() {
        let item = item(r#"{"a":12345678901234567890.5,"b":[9007199254740993]}"#).unwrap();
        assert_eq!(item["a"], AttributeValue::N("12345678901234567890.5".to_owned()));
        assert_eq!(item["b"], AttributeValue::L(vec![AttributeValue::N("9007199254740993".to_owned())]));
    }

    #[test]
    fn what_does_not_fit_its_declared_type_stays_what_it_is_for_the_manifest_to_refuse() {
        let item = item(r#"{"photo":"?","tags":["x",1],"weights":"3","more":{"S":"a"}}"#).unwrap();
        assert_eq!(item["photo"], AttributeValue::S("?".to_owned()));
        assert!(
            matches!(item["tags"], AttributeValue::L(_)) && matches!(item["weights"], AttributeValue::S(_))
        );
        assert!(matches!(item["more"], AttributeValue::M(_)), "one attribute alone is no notation");
    }

    #[test]
    fn what_is_no_item_is_refused_and_not_shown() {
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(40), "]".repeat(40));
        let long = format!(r#"{{"a":{}}}"#, "1".repeat(39));
        for (text, code) in [
            ("", "malformed-request"),
            ("[]", "malformed-request"),
            ("7", "malformed-request"),
            (r#"{"secret":"#, "malformed-request"),
            (r#"{"secret":{"N":5}}"#, "malformed-request"),
            (r#"{"secret":1,"secret":2}"#, "malformed-request"),
            (r#"{"a":{"secret":1,"secret":2}}"#, "malformed-request"),
            (&deep, "malformed-request"),
            (&long, "invalid-value"),
        ] {
            let error = item(text).unwrap_err();
            assert_eq!(error.code(), code, "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
