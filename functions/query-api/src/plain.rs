//! Items as plain JSON: numbers with every digit, binaries as base64, sets as lists.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keyfold_core::value::{AttributeValue, Item, Number};
use serde::ser::{Error, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

/// How items are written.
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
        match self.1 {
            Format::Plain => to.collect_seq(self.0.iter().map(PlainItem)),
            Format::DynamoDb => to.collect_seq(self.0),
        }
    }
}

struct PlainItem<'a>(&'a Item);

impl Serialize for PlainItem<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        write_map(self.0.iter(), to)
    }
}

struct Plain<'a>(&'a AttributeValue);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AttributeValue::S(text) => to.serialize_str(text),
            AttributeValue::N(number) => write_number(number, to),
            AttributeValue::B(bytes) => to.serialize_str(&STANDARD.encode(bytes)),
            AttributeValue::Bool(flag) => to.serialize_bool(*flag),
            AttributeValue::Null(_) => to.serialize_unit(),
            AttributeValue::L(list) => to.collect_seq(list.iter().map(Plain)),
            AttributeValue::Ss(set) => to.collect_seq(set),
            AttributeValue::Ns(set) => to.collect_seq(set.iter().map(|number| PlainNumber(number))),
            AttributeValue::Bs(set) => to.collect_seq(set.iter().map(|bytes| STANDARD.encode(bytes))),
            AttributeValue::M(map) => {
                // In order, so that one item is always one text.
                let mut members: Vec<_> = map.iter().collect();
                members.sort_unstable_by_key(|(name, _)| *name);
                write_map(members.into_iter(), to)
            }
        }
    }
}

struct PlainNumber<'a>(&'a str);

impl Serialize for PlainNumber<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        write_number(self.0, to)
    }
}

fn write_map<'a, N: Serialize + 'a, S: Serializer>(
    members: impl ExactSizeIterator<Item = (&'a N, &'a AttributeValue)>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(members.len()))?;
    for (name, value) in members {
        map.serialize_entry(name, &Plain(value))?;
    }
    map.end()
}

/// The number's digits as they are, not by way of a double.
fn write_number<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    let number: Number = text.parse().map_err(S::Error::custom)?;
    RawValue::from_string(number.to_string()).map_err(S::Error::custom)?.serialize(to)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

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
