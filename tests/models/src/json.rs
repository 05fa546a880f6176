//! JSON whose numbers are the texts that the file holds: `88.30` stays `88.30`, and 38 digits stay 38.
//!
//! `serde_json::Value` would make most of them floats, unless a feature is switched on that changes it for every crate of
//! the workspace.

use std::collections::BTreeMap;

use keyfold_core::value::AttributeValue;
use serde_json::value::RawValue;

/// The deepest nesting that is read.
const DEPTH_MAX: usize = 100;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object. Of members with one name the last one counts.
    Object(BTreeMap<String, Json>),
}

/// Why a text is not JSON, or not what was looked for.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// It is not JSON.
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
    /// It is nested too deeply.
    #[error("nested over {DEPTH_MAX} levels")]
    TooDeep,
}

impl Json {
    /// Reads a text.
    pub fn parse(text: &str) -> Result<Json, JsonError> {
        read(text, 0)
    }

    /// A member of an object; `None` too where it is null.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.get(name).filter(|value| **value != Json::Null),
            _ => None,
        }
    }

    /// A member that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_text()
    }

    /// A member that is a list; empty if there is none.
    pub fn list(&self, name: &str) -> &[Json] {
        self.get(name).and_then(Json::as_list).unwrap_or(&[])
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

    /// The whole number, if it is one.
    pub fn as_whole(&self) -> Option<usize> {
        match self {
            Json::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The value that plain JSON stands for: a number is an N with its text, `{"$set": [...]}` a set.
    pub fn plain(&self) -> AttributeValue {
        match self {
            Json::Null => AttributeValue::Null(true),
            Json::Bool(value) => AttributeValue::Bool(*value),
            Json::Number(text) => AttributeValue::N(text.clone()),
            Json::Text(text) => AttributeValue::S(text.clone()),
            Json::List(list) => AttributeValue::L(list.iter().map(Json::plain).collect()),
            Json::Object(members) => set(members).unwrap_or_else(|| {
                AttributeValue::M(members.iter().map(|(name, value)| (name.clone(), value.plain())).collect())
            }),
        }
    }

    /// The value that DynamoDB's own JSON stands for: `{"S": "a"}`.
    pub fn dynamodb(&self) -> Result<AttributeValue, JsonError> {
        Ok(serde_json::from_value(self.to_serde())?)
    }

    /// The same in serde_json's words; numbers lose what a float cannot hold.
    pub fn to_serde(&self) -> serde_json::Value {
        match self {
            Json::Null => serde_json::Value::Null,
            Json::Bool(value) => (*value).into(),
            Json::Number(text) => serde_json::from_str(text).unwrap_or(serde_json::Value::Null),
            Json::Text(text) => text.as_str().into(),
            Json::List(list) => list.iter().map(Json::to_serde).collect(),
            Json::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), value.to_serde())).collect()
            }
        }
    }
}

fn read(text: &str, depth: usize) -> Result<Json, JsonError> {
    if depth > DEPTH_MAX {
        return Err(JsonError::TooDeep);
    }
    let text = text.trim();
    Ok(match text.bytes().next() {
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
            let read = |(name, value): (String, &RawValue)| Ok((name, read(value.get(), depth + 1)?));
            Json::Object(members.into_iter().map(read).collect::<Result<_, JsonError>>()?)
        }
        Some(b'[') => {
            let list: Vec<&RawValue> = serde_json::from_str(text)?;
            Json::List(list.into_iter().map(|value| read(value.get(), depth + 1)).collect::<Result<_, _>>()?)
        }
        Some(b'"') => Json::Text(serde_json::from_str(text)?),
        Some(b't' | b'f') => Json::Bool(serde_json::from_str(text)?),
        Some(b'n') => {
            serde_json::from_str::<()>(text)?;
            Json::Null
        }
        _ => {
            serde_json::from_str::<&RawValue>(text)?;
            Json::Number(text.to_owned())
        }
    })
}

/// `{"$set": [...]}`: of texts, or of numbers.
fn set(members: &BTreeMap<String, Json>) -> Option<AttributeValue> {
    let (name, Json::List(list)) = members.iter().next()? else { return None };
    if name != "$set" || members.len() > 1 {
        return None;
    }
    let texts = list.iter().map(|member| Some(member.as_text()?.to_owned())).collect::<Option<Vec<_>>>();
    let numbers = || {
        let number = |member: &Json| match member {
            Json::Number(text) => Some(text.clone()),
            _ => None,
        };
        list.iter().map(number).collect::<Option<Vec<_>>>()
    };
    texts.map(AttributeValue::Ss).or_else(|| numbers().map(AttributeValue::Ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_keeps_its_text() {
        let text = r#"{"a": [88.30, 12345678901234567890123456789012345678, -1E-5], "b": null}"#;
        let json = Json::parse(text).unwrap();
        let numbers: Vec<_> = json.list("a").iter().map(Json::plain).collect();
        let wanted = ["88.30", "12345678901234567890123456789012345678", "-1E-5"];
        assert_eq!(numbers, wanted.map(|number| AttributeValue::N(number.to_owned())));
        assert_eq!(json.get("b"), None);
    }

    #[test]
    fn a_set_is_told_from_a_map() {
        let of = |text: &str| Json::parse(text).unwrap().plain();
        assert_eq!(of(r#"{"$set": ["a", "b"]}"#), AttributeValue::Ss(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(of(r#"{"$set": [1, 2.50]}"#), AttributeValue::Ns(vec!["1".to_owned(), "2.50".to_owned()]));
        assert!(matches!(of(r#"{"$set": ["a"], "b": 1}"#), AttributeValue::M(_)));
        assert!(matches!(of(r#"{"$set": ["a", 1]}"#), AttributeValue::M(_)));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "[1,]", "{\"a\": }", "nul", "01", "\"a", "1 2"] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
        assert!(Json::parse(&"[".repeat(200)).is_err());
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(matches!(Json::parse(&deep), Err(JsonError::TooDeep)));
    }

    #[test]
    fn dynamodb_json_is_read_as_dynamodb_means_it() {
        let of = |text: &str| Json::parse(text).unwrap().dynamodb();
        assert_eq!(of(r#"{"N": "1.50"}"#).unwrap(), AttributeValue::N("1.50".to_owned()));
        assert!(of(r#"{"X": "1"}"#).is_err());
    }
}
