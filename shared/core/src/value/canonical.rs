//! A value in one form, whatever order its members came in: for digests.

use serde_dynamo::AttributeValue;
use serde_json::{Value, json};

use super::number::Number;
use super::type_letter::type_letter;

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
