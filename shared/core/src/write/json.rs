//! Items from JSON: plain, or in DynamoDB's own notation.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::index::NESTING_LEVELS_MAX;
use crate::json::{Bounds, JsonError, JsonReason, Reader, is_typed, read_plain};
use crate::model::{AttributeKind, Table};
use crate::value::{AttributeValue, Item};

/// Why a text is not a valid item. It names an attribute only if the manifest declares it, and shows nothing else of
/// the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonItemError {
    /// The attribute.
    pub attribute: Option<String>,
    /// The mistake and its position.
    pub error: JsonError,
}

impl fmt::Display for JsonItemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.attribute {
            Some(attribute) => write!(f, "attribute `{attribute}`: {}", self.error),
            None => self.error.fmt(f),
        }
    }
}

impl std::error::Error for JsonItemError {}

impl JsonItemError {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self.error.reason {
            JsonReason::Number(_) => "invalid-value",
            _ => "malformed-request",
        }
    }
}

/// An item, or some of its attributes. It is in DynamoDB's notation if every attribute looks like `{"S": ...}`.
/// Otherwise the manifest decides the types: base64 becomes a binary if one is declared, and a list a set.
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
    match is_typed(text) {
        Ok(true) => read_item(table, Reader::new(text), |reader, _| reader.value()),
        Ok(false) => plain_item_of_json(table, text, BOUNDS),
        Err(error) => Err(JsonItemError { attribute: None, error }),
    }
}

/// An item from plain JSON within bounds; the item counts as a level. The manifest decides the types, as in
/// [`item_of_json`].
pub fn plain_item_of_json(table: &Table, text: &str, bounds: Bounds) -> Result<Item, JsonItemError> {
    read_item(table, Reader::within(text, bounds), |reader, name| {
        Ok(as_declared(table, name, reader.plain()?))
    })
}

fn read_item<'t>(
    table: &Table,
    mut reader: Reader<'t>,
    value: impl Fn(&mut Reader<'t>, &str) -> Result<AttributeValue, JsonError>,
) -> Result<Item, JsonItemError> {
    let mut attribute = None;
    let item = reader.item_with(0, |reader, name| {
        let value = value(reader, name);
        if value.is_err() {
            attribute = table.attributes.get(name).map(|attribute| attribute.name.clone());
        }
        value
    });
    let whole = item.and_then(|item| reader.end().map(|()| item));
    whole.map_err(|error| JsonItemError { attribute, error })
}

/// The value of an attribute from plain JSON. A number keeps every digit.
pub fn value_of_json(table: &Table, attribute: &str, text: &str) -> Result<AttributeValue, JsonError> {
    Ok(as_declared(table, attribute, read_plain(text, BOUNDS)?))
}

const BOUNDS: Bounds = Bounds { levels: NESTING_LEVELS_MAX, ..Bounds::DEFAULT };

/// A value of plain JSON, converted to its declared type. Values that do not fit stay unchanged, and so do attributes
/// with different types in two entities.
fn as_declared(table: &Table, attribute: &str, value: AttributeValue) -> AttributeValue {
    let declared = table.attributes.get(attribute).map(|attribute| attribute.kind);
    let declared = declared.filter(|_| table.mixed_type(&[], attribute).is_none());
    declared.and_then(|kind| declared_as(kind, &value)).unwrap_or(value)
}

/// The value as a type that plain JSON cannot express; `None` if it does not fit.
fn declared_as(kind: AttributeKind, value: &AttributeValue) -> Option<AttributeValue> {
    let binary = |value: &AttributeValue| match value {
        AttributeValue::S(text) => STANDARD.decode(text).ok(),
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

    #[test]
    fn an_error_names_the_declared_attribute_and_its_place() {
        let error = item("{\"id\": \"a\",\n \"weights\": [1, 1e999]}").unwrap_err();
        assert_eq!(
            error.to_string(),
            "attribute `weights`: a number is not a valid DynamoDB number: outside the magnitudes 1E-130 to 9.99E+125 \
             (line 2, column 22)"
        );
        let error = item(r#"{"secret": {"a": 1, "a": 2}}"#).unwrap_err();
        assert_eq!(error.to_string(), "an object has the same member twice (line 1, column 27)");
    }
}
