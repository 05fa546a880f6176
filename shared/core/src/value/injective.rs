//! Attributes as bytes, with different bytes for different contents: for digests and for ids derived from contents.
//!
//! Names are sorted, numbers have one text, sets have no order. The form never changes, because stored digests depend
//! on it.

use serde_dynamo::AttributeValue;
use serde_json::{Value, json};

use super::number::Number;
use super::same::type_letter;

/// The bytes of attributes, in any order.
pub fn injective<'a, N: AsRef<str> + Ord + 'a>(
    attributes: impl IntoIterator<Item = (&'a N, &'a AttributeValue)>,
) -> Vec<u8> {
    let mut attributes: Vec<_> = attributes.into_iter().collect();
    attributes.sort_unstable_by_key(|(name, _)| *name);
    let mut bytes = Vec::new();
    for (name, value) in attributes {
        put_injective(&mut bytes, b'k', name.as_ref().as_bytes());
        put_value(&mut bytes, value);
    }
    bytes
}

/// Adds a letter, a length and the bytes.
pub fn put_injective(to: &mut Vec<u8>, letter: u8, bytes: &[u8]) {
    to.push(letter);
    to.extend((bytes.len() as u64).to_be_bytes());
    to.extend(bytes);
}

fn put_value(to: &mut Vec<u8>, value: &AttributeValue) {
    match value {
        AttributeValue::S(value) => put_injective(to, b'S', value.as_bytes()),
        AttributeValue::N(value) => put_injective(to, b'N', number(value).as_bytes()),
        AttributeValue::B(value) => put_injective(to, b'B', value),
        AttributeValue::Bool(value) => put_injective(to, b'T', &[u8::from(*value)]),
        AttributeValue::Null(_) => put_injective(to, b'0', &[]),
        AttributeValue::L(values) => {
            put_injective(to, b'L', &(values.len() as u64).to_be_bytes());
            values.iter().for_each(|value| put_value(to, value));
        }
        AttributeValue::M(values) => {
            put_injective(to, b'M', &(values.len() as u64).to_be_bytes());
            to.extend(injective(values));
        }
        AttributeValue::Ss(values) => put_set(to, values.iter().map(|value| value.clone().into_bytes())),
        AttributeValue::Ns(values) => put_set(to, values.iter().map(|value| number(value).into_bytes())),
        AttributeValue::Bs(values) => put_set(to, values.iter().cloned()),
    }
}

/// A set has no order.
fn put_set(to: &mut Vec<u8>, values: impl Iterator<Item = Vec<u8>>) {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    put_injective(to, b's', &(values.len() as u64).to_be_bytes());
    values.iter().for_each(|value| put_injective(to, b'e', value));
}

fn number(text: &str) -> String {
    text.parse::<Number>().map_or_else(|_| text.to_owned(), |number| number.to_string())
}

/// The value as JSON of arrays alone. Equal values have equal texts: numbers are normalised, members are sorted.
pub(crate) fn canonical(value: &AttributeValue) -> Value {
    let number = |text: &str| text.parse::<Number>().map_or(text.to_owned(), |number| number.to_string());
    let sorted = |mut values: Vec<Value>| {
        values.sort_by_key(Value::to_string);
        json!(values)
    };
    let content = match value {
        AttributeValue::S(text) => json!(text),
        AttributeValue::N(text) => json!(number(text)),
        AttributeValue::B(bytes) => json!(bytes),
        AttributeValue::Bool(value) | AttributeValue::Null(value) => json!(value),
        AttributeValue::L(values) => values.iter().map(canonical).collect(),
        AttributeValue::M(values) => {
            sorted(values.iter().map(|(name, value)| json!([name, canonical(value)])).collect())
        }
        AttributeValue::Ss(texts) => sorted(texts.iter().map(|text| json!(text)).collect()),
        AttributeValue::Ns(texts) => sorted(texts.iter().map(|text| json!(number(text))).collect()),
        AttributeValue::Bs(binaries) => sorted(binaries.iter().map(|bytes| json!(bytes)).collect()),
    };
    json!([type_letter(value), content])
}
