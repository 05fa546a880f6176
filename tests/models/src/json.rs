//! The JSON of case files: core's, with a notation for sets. `88.30` stays `88.30`, and 38 digits stay 38.

use keyfold_core::json::Reader;
pub use keyfold_core::json::{Json, JsonError};
use keyfold_core::value::AttributeValue;

/// The interpretation of case files' JSON.
pub trait CaseJson {
    /// A member of an object; `None` too where it is null.
    fn get(&self, name: &str) -> Option<&Json>;

    /// A member that is a text.
    fn text(&self, name: &str) -> Option<&str>;

    /// A member that is a list; empty if it is missing.
    fn list(&self, name: &str) -> &[Json];

    /// The whole number, if it is one.
    fn as_whole(&self) -> Option<usize>;

    /// The value of plain JSON: a number is an N with its text, `{"$set": [...]}` a set.
    fn plain(&self) -> AttributeValue;

    /// The value of DynamoDB's own JSON: `{"S": "a"}`.
    fn dynamodb(&self) -> Result<AttributeValue, JsonError>;
}

impl CaseJson for Json {
    fn get(&self, name: &str) -> Option<&Json> {
        self.as_object()?.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_text()
    }

    fn list(&self, name: &str) -> &[Json] {
        self.get(name).and_then(Json::as_list).unwrap_or(&[])
    }

    fn as_whole(&self) -> Option<usize> {
        as_number(self)?.parse().ok()
    }

    fn plain(&self) -> AttributeValue {
        match self {
            Json::Null => AttributeValue::Null(true),
            Json::Bool(value) => AttributeValue::Bool(*value),
            Json::Number(text) => AttributeValue::N(text.clone()),
            Json::Text(text) => AttributeValue::S(text.clone()),
            Json::List(list) => AttributeValue::L(list.iter().map(Json::plain).collect()),
            Json::Object(members) => set(self).unwrap_or_else(|| {
                AttributeValue::M(members.iter().map(|(name, value)| (name.clone(), value.plain())).collect())
            }),
        }
    }

    fn dynamodb(&self) -> Result<AttributeValue, JsonError> {
        Reader::new(&self.to_string()).value()
    }
}

fn as_number(json: &Json) -> Option<&str> {
    match json {
        Json::Number(text) => Some(text),
        _ => None,
    }
}

/// `{"$set": [...]}`: of texts, or of numbers.
fn set(json: &Json) -> Option<AttributeValue> {
    let members = json.as_object().filter(|members| members.len() == 1)?;
    let list = members.get("$set")?.as_list()?;
    let all = |one: fn(&Json) -> Option<&str>| {
        list.iter().map(|member| one(member).map(str::to_owned)).collect::<Option<Vec<_>>>()
    };
    all(Json::as_text).map(AttributeValue::Ss).or_else(|| all(as_number).map(AttributeValue::Ns))
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
    fn dynamodb_json_is_read_as_dynamodb_means_it() {
        let of = |text: &str| Json::parse(text).unwrap().dynamodb();
        assert_eq!(of(r#"{"N": "1.50"}"#).unwrap(), AttributeValue::N("1.50".to_owned()));
        assert!(of(r#"{"X": "1"}"#).is_err());
    }
}
