//! Items as plain JSON, and from an argument.

use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_core::write::item_of_json;
use serde_json::Value;

use crate::refusal::{coded, explained};
use crate::support::argument_or_stdin;

/// The longest item text that is accepted: DynamoDB's 400 KB, with room for the JSON notation.
const ITEM_TEXT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// An item from an argument; `-` reads standard input.
pub(crate) fn read_item(table: &Table, argument: &str) -> anyhow::Result<Item> {
    let text = argument_or_stdin(argument, ITEM_TEXT_BYTES_MAX)?;
    item_of_json(table, &text)
        .map_err(|error| coded(error.code(), &format!("the item cannot be read: {error}")))
}

/// The item, with the attribute that says which entity it is.
pub(crate) fn of_entity(table: &Table, item: Item, entity: Option<&str>) -> anyhow::Result<Item> {
    match entity {
        Some(entity) => table.as_entity(item, entity).map_err(explained),
        None => Ok(item),
    }
}

/// An item as plain JSON, its attributes in alphabetical order.
pub(crate) fn plain(item: &Item) -> Value {
    Value::Object(item.iter().map(|(name, value)| (name.to_string(), plain_value(value))).collect())
}

/// A value as plain JSON. A number that JSON cannot hold exactly stays a text.
pub(crate) fn plain_value(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => Value::String(text.clone()),
        AttributeValue::N(text) => plain_number(text),
        AttributeValue::Bool(value) => Value::Bool(*value),
        AttributeValue::Null(_) => Value::Null,
        AttributeValue::L(list) => Value::Array(list.iter().map(plain_value).collect()),
        AttributeValue::M(map) => {
            let mut names: Vec<&String> = map.keys().collect();
            names.sort();
            Value::Object(names.into_iter().map(|name| (name.clone(), plain_value(&map[name]))).collect())
        }
        AttributeValue::Ss(set) => Value::Array(set.iter().cloned().map(Value::String).collect()),
        AttributeValue::Ns(set) => Value::Array(set.iter().map(|text| plain_number(text)).collect()),
        // DynamoDB's notation already has the bytes as base64.
        AttributeValue::B(_) | AttributeValue::Bs(_) => serde_json::to_value(value)
            .ok()
            .and_then(|typed| typed.as_object().and_then(|object| object.values().next().cloned()))
            .unwrap_or(Value::Null),
    }
}

fn plain_number(text: &str) -> Value {
    if let Ok(whole) = text.parse::<i64>() {
        return Value::from(whole);
    }
    match (text.parse::<f64>(), text.parse::<keyfold_core::value::Number>()) {
        (Ok(float), Ok(exact)) if format!("{float}").parse() == Ok(exact) => Value::from(float),
        _ => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_exactly_or_as_text() {
        let item: Item = serde_json::from_str(
            r#"{"a":{"N":"88.30"},"b":{"N":"12345678901234567890123456789"},"c":{"N":"-3"}}"#,
        )
        .unwrap();
        assert_eq!(
            plain(&item),
            serde_json::json!({"a": 88.3, "b": "12345678901234567890123456789", "c": -3})
        );
    }
}
