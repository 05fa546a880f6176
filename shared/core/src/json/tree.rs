//! A whole text of JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::error::{JsonError, JsonKind, JsonReason};
use super::reader::Reader;
use super::write;

/// A JSON value whose numbers are the texts that were read. `serde_json` reads and writes it as a part of other structures.
///
/// ```
/// use keyfold_core::json::Json;
/// let json = Json::parse(r#"{"b": [12345678901234567890.50, null], "a": "x"}"#)?;
/// assert_eq!(json.to_string(), r#"{"a":"x","b":[12345678901234567890.50,null]}"#);
/// # Ok::<(), keyfold_core::json::JsonError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object.
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// Reads a text.
    pub fn parse(text: &str) -> Result<Json, JsonError> {
        let mut reader = Reader::new(text);
        let json = reader.json()?;
        reader.end()?;
        Ok(json)
    }

    /// Is it `null`?
    pub fn is_null(&self) -> bool {
        *self == Json::Null
    }

    /// The kind of value.
    pub fn kind(&self) -> JsonKind {
        match self {
            Json::Null => JsonKind::Null,
            Json::Bool(_) => JsonKind::Boolean,
            Json::Number(_) => JsonKind::Number,
            Json::Text(_) => JsonKind::Text,
            Json::List(_) => JsonKind::List,
            Json::Object(_) => JsonKind::Object,
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<&[Json]> {
        match self {
            Json::List(list) => Some(list),
            _ => None,
        }
    }

    /// The object's members, if it is one.
    pub fn as_object(&self) -> Option<&BTreeMap<String, Json>> {
        match self {
            Json::Object(members) => Some(members),
            _ => None,
        }
    }
}

impl Reader<'_> {
    /// A value of any kind.
    pub fn json(&mut self) -> Result<Json, JsonError> {
        self.count_value()?;
        Ok(match self.kind()? {
            JsonKind::Null => {
                self.null()?;
                Json::Null
            }
            JsonKind::Boolean => Json::Bool(self.boolean()?),
            JsonKind::Number => Json::Number(self.number()?.to_owned()),
            JsonKind::Text => Json::Text(self.string()?.into_owned()),
            JsonKind::List => Json::List(self.list_of(Reader::json)?),
            JsonKind::Object => {
                let mut members = BTreeMap::new();
                self.object(|reader, name| {
                    let member = reader.json()?;
                    match members.insert(name.into_owned(), member) {
                        None => Ok(()),
                        Some(_) => Err(reader.error(JsonReason::Duplicate)),
                    }
                })?;
                Json::Object(members)
            }
        })
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_json(&mut text, self);
        f.write_str(&text)
    }
}

/// A number as it was read, members in the order of their names.
fn write_json(out: &mut String, given: &Json) {
    match given {
        Json::Null => out.push_str("null"),
        Json::Bool(is) => write::boolean(out, *is),
        Json::Number(number) => out.push_str(number),
        Json::Text(text) => write::string(out, text),
        Json::List(list) => write::elements(out, list, write_json),
        Json::Object(map) => write::members(out, map.iter(), write_json),
    }
}

/// For `json!`: a number must be in it as a text if it has more digits than `serde_json` keeps.
impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Json {
        match value {
            serde_json::Value::Null => Json::Null,
            serde_json::Value::Bool(value) => Json::Bool(value),
            serde_json::Value::Number(number) => Json::Number(number.to_string()),
            serde_json::Value::String(text) => Json::Text(text),
            serde_json::Value::Array(list) => Json::List(list.into_iter().map(Json::from).collect()),
            serde_json::Value::Object(members) => {
                Json::Object(members.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_string()).map_err(S::Error::custom)?.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Json, D::Error> {
        let text = Box::<RawValue>::deserialize(from)?;
        // The position is within the value; serde reports the value's position.
        Json::parse(text.get()).map_err(|error| D::Error::custom(error.reason))
    }
}
