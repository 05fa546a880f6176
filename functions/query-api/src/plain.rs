//! Items as plain JSON: numbers with every digit, binaries as base64, sets as lists.

use keyfold_core::json::write;
use keyfold_core::value::Item;
use serde::ser::{Error, Serialize, Serializer};
use serde_json::value::RawValue;

/// The format of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Format {
    /// Plain JSON.
    #[default]
    Plain,
    /// DynamoDB's own notation, which loses no type: `{"N":"1"}`.
    DynamoDb,
}

/// Items in a format.
pub(crate) struct Items<'a>(pub(crate) &'a [Item], pub(crate) Format);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let write = match self.1 {
            Format::Plain => write::plain_item,
            Format::DynamoDb => write::item,
        };
        let mut text = String::new();
        write::elements(&mut text, self.0, write);
        RawValue::from_string(text).map_err(S::Error::custom)?.serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use keyfold_core::value::AttributeValue;

    use super::*;

    fn plain(value: AttributeValue) -> String {
        let item = Item::from(HashMap::from([("a".to_owned(), value)]));
        serde_json::to_string(&Items(&[item], Format::Plain)).unwrap()
    }

    #[test]
    fn a_number_keeps_every_digit() {
        let digits = "12345678901234567890123456789012345.678";
        assert_eq!(plain(AttributeValue::N(digits.to_owned())), format!(r#"[{{"a":{digits}}}]"#));
        assert_eq!(plain(AttributeValue::N("1E+125".to_owned())), r#"[{"a":1E+125}]"#);
        assert_eq!(plain(AttributeValue::Ns(vec!["0.10".to_owned()])), r#"[{"a":[0.1]}]"#);
    }

    #[test]
    fn binaries_are_base64_and_sets_are_lists() {
        assert_eq!(plain(AttributeValue::B(vec![0, 255])), r#"[{"a":"AP8="}]"#);
        assert_eq!(plain(AttributeValue::Bs(vec![vec![1]])), r#"[{"a":["AQ=="]}]"#);
        assert_eq!(plain(AttributeValue::Ss(vec!["x".to_owned()])), r#"[{"a":["x"]}]"#);
        assert_eq!(plain(AttributeValue::Null(true)), r#"[{"a":null}]"#);
        let nested = HashMap::from([("b".to_owned(), AttributeValue::L(vec![AttributeValue::Bool(true)]))]);
        assert_eq!(plain(AttributeValue::M(nested)), r#"[{"a":{"b":[true]}}]"#);
    }

    #[test]
    fn the_notation_of_dynamodb_keeps_the_types() {
        let item = Item::from(HashMap::from([("a".to_owned(), AttributeValue::N("1".to_owned()))]));
        assert_eq!(serde_json::to_string(&Items(&[item], Format::DynamoDb)).unwrap(), r#"[{"a":{"N":"1"}}]"#);
    }
}
