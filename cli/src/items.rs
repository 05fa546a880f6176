//! Items as JSON: plain, or in DynamoDB's own notation.

use std::collections::HashMap;
use std::io::Read;

use anyhow::{Context, bail};
use keyfold_core::value::{AttributeValue, Item};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The longest item text that is accepted: DynamoDB's 400 KB, with room for the JSON notation.
const ITEM_TEXT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The deepest that lists and maps may be nested, the item itself counted: what DynamoDB takes.
const DEPTH_MAX: usize = 32;

/// An item from an argument; `-` reads standard input.
pub(crate) fn read_item(argument: &str) -> anyhow::Result<Item> {
    let text = if argument == "-" {
        let mut text = String::new();
        std::io::stdin()
            .lock()
            .take(ITEM_TEXT_BYTES_MAX)
            .read_to_string(&mut text)
            .context("cannot read standard input")?;
        text
    } else {
        argument.to_owned()
    };
    parse_item(&text)
}

/// An item from JSON text. It is in DynamoDB's notation if every attribute looks like `{"S": …}`.
pub(crate) fn parse_item(text: &str) -> anyhow::Result<Item> {
    let value: Value = serde_json::from_str(text).context("the item is not JSON")?;
    let Value::Object(members) = value else { bail!("the item is not a JSON object") };
    if !members.is_empty() && members.values().all(is_typed) {
        return serde_json::from_value(Value::Object(members))
            .context("the item is not in DynamoDB's notation");
    }
    match parse_value(text)? {
        AttributeValue::M(members) => Ok(members.into()),
        _ => unreachable!("it was an object"),
    }
}

/// A value from plain JSON. A number keeps every digit.
pub(crate) fn parse_value(text: &str) -> anyhow::Result<AttributeValue> {
    exact(serde_json::from_str(text).context("the value is not JSON")?, DEPTH_MAX)
}

fn exact(text: &RawValue, depth_left: usize) -> anyhow::Result<AttributeValue> {
    let inner = || {
        depth_left
            .checked_sub(1)
            .with_context(|| format!("the value is nested deeper than {DEPTH_MAX} levels"))
    };
    let text = text.get();
    Ok(match text.as_bytes().first() {
        Some(b'"') => AttributeValue::S(serde_json::from_str(text)?),
        Some(b't' | b'f') => AttributeValue::Bool(serde_json::from_str(text)?),
        Some(b'n') => AttributeValue::Null(true),
        Some(b'[') => {
            let (left, elements) = (inner()?, serde_json::from_str::<Vec<&RawValue>>(text)?);
            AttributeValue::L(
                elements.into_iter().map(|element| exact(element, left)).collect::<anyhow::Result<_>>()?,
            )
        }
        Some(b'{') => {
            let (left, members) = (inner()?, serde_json::from_str::<HashMap<String, &RawValue>>(text)?);
            let members = members.into_iter().map(|(name, member)| Ok((name, exact(member, left)?)));
            AttributeValue::M(members.collect::<anyhow::Result<_>>()?)
        }
        _ => AttributeValue::N(text.parse::<keyfold_core::value::Number>()?.to_string()),
    })
}

fn is_typed(value: &Value) -> bool {
    const LETTERS: [&str; 10] = ["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"];
    value
        .as_object()
        .is_some_and(|object| object.len() == 1 && object.keys().all(|key| LETTERS.contains(&key.as_str())))
}

/// An item as plain JSON, its attributes in alphabetical order.
pub(crate) fn plain(item: &Item) -> Value {
    let mut names: Vec<&String> = item.keys().collect();
    names.sort();
    Value::Object(
        names.into_iter().map(|name| (name.clone(), plain_value(&item[name]))).collect::<Map<_, _>>(),
    )
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
    fn both_notations_give_the_same_item() {
        let plain_text = r#"{"id":"a","words":7,"ok":true}"#;
        let typed_text = r#"{"id":{"S":"a"},"words":{"N":"7"},"ok":{"BOOL":true}}"#;
        assert_eq!(parse_item(plain_text).unwrap(), parse_item(typed_text).unwrap());
    }

    #[test]
    fn numbers_come_back_exactly_or_as_text() {
        let item =
            parse_item(r#"{"a":{"N":"88.30"},"b":{"N":"12345678901234567890123456789"},"c":{"N":"-3"}}"#)
                .unwrap();
        assert_eq!(
            plain(&item),
            serde_json::json!({"a": 88.3, "b": "12345678901234567890123456789", "c": -3})
        );
    }

    #[test]
    fn a_number_keeps_the_digits_that_a_double_would_lose() {
        let item = parse_item(r#"{"a":12345678901234567890.5,"b":[9007199254740993]}"#).unwrap();
        assert_eq!(item["a"], AttributeValue::N("12345678901234567890.5".to_owned()));
        assert_eq!(item["b"], AttributeValue::L(vec![AttributeValue::N("9007199254740993".to_owned())]));
        assert!(parse_item(&format!(r#"{{"a":{}}}"#, "1".repeat(39))).is_err());
        assert!(parse_item(&format!(r#"{{"a":{}{}}}"#, "[".repeat(40), "]".repeat(40))).is_err());
    }

    #[test]
    fn what_is_no_item_is_refused() {
        for text in ["", "[]", "7", "{\"a\":", "{\"a\":{\"N\":5}}"] {
            assert!(parse_item(text).is_err(), "{text}");
        }
    }
}
