//! Items as plain JSON values.

use keyfold_core::value::{AttributeValue, Item, Number};
use serde_json::Value;

/// An item as plain JSON, its attributes in alphabetical order.
pub fn plain_item(item: &Item) -> Value {
    Value::Object(item.iter().map(|(name, value)| (name.to_string(), plain_value(value))).collect())
}

/// A value as plain JSON. A number that JSON cannot hold exactly stays a text.
pub fn plain_value(value: &AttributeValue) -> Value {
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
    match (text.parse::<f64>(), text.parse::<Number>()) {
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
            plain_item(&item),
            serde_json::json!({"a": 88.3, "b": "12345678901234567890123456789", "c": -3})
        );
    }
}
