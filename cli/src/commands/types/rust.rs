//! Rust, as structs for serde: `keyfold_dynamo::item_of` makes items of them.

use keyfold_core::model::AttributeKind;
use keyfold_core::value::AttributeValue;
use serde_json::json;

use super::shape::{Kind, Record, TableShape, pascal};

pub(super) fn write(tables: &[TableShape]) -> String {
    let mut text =
        "//! Written by `keyfold types --lang rust`.\n\nuse serde::{Deserialize, Serialize};\n".to_owned();
    text.extend(tables.iter().flat_map(TableShape::records).map(structure));
    text
}

fn structure(record: &Record) -> String {
    let mut text = String::new();
    let mut fields = String::new();
    for field in &record.fields {
        let whole = match &field.kind {
            Kind::Value(kind, values) | Kind::Many(kind, values) => match texts(values.as_deref()) {
                Some(values) => {
                    let name = format!("{}{}", record.name, pascal(&field.name));
                    text.push_str(&choice(&name, &values));
                    name
                }
                None => rust_type(*kind).to_owned(),
            },
            Kind::Any => ANY.to_owned(),
        };
        let whole = if matches!(field.kind, Kind::Many(..)) { format!("Vec<{whole}>") } else { whole };
        let (skip, kind) = match field.optional {
            true => (", default, skip_serializing_if = \"Option::is_none\"", format!("Option<{whole}>")),
            false => ("", whole),
        };
        fields.push_str(&format!("    #[serde(rename = {}{skip})]\n", json!(field.name)));
        fields.push_str(&format!("    pub {}: {kind},\n", snake(&field.name)));
    }
    text.push_str(&format!(
        "\n#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]\npub struct {} {{\n{fields}}}\n",
        record.name
    ));
    text
}

/// The listed values, if all are texts.
fn texts(values: Option<&[AttributeValue]>) -> Option<Vec<&str>> {
    let values = values?.iter();
    values
        .map(|value| match value {
            AttributeValue::S(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

fn choice(name: &str, values: &[&str]) -> String {
    let variants = values.iter().enumerate().map(|(at, value)| {
        let variant = pascal(value);
        // Two values that differ only in other characters need two names.
        let taken = values[..at].iter().any(|other| pascal(other) == variant);
        let variant = if variant.is_empty() || taken { format!("{variant}V{at}") } else { variant };
        format!("    #[serde(rename = {})]\n    {variant},\n", json!(value))
    });
    format!(
        "\n#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]\npub enum {name} {{\n{}}}\n",
        variants.collect::<String>()
    )
}

/// A value of any type. It keeps all digits of a number; serde's numbers do not.
const ANY: &str = "keyfold_core::value::AttributeValue";

fn rust_type(kind: AttributeKind) -> &'static str {
    match kind {
        AttributeKind::String | AttributeKind::Timestamp(_) | AttributeKind::Date => "String",
        AttributeKind::Number
        | AttributeKind::List
        | AttributeKind::Map
        | AttributeKind::Binary
        | AttributeKind::StringSet
        | AttributeKind::NumberSet
        | AttributeKind::BinarySet => ANY,
        AttributeKind::Boolean => "bool",
    }
}

/// Words of the language that are likely names of attributes.
const WORDS: [&str; 12] =
    ["type", "ref", "use", "for", "in", "match", "move", "where", "loop", "mod", "pub", "fn"];

/// A name as a field's name: `resourceId` becomes `resource_id`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() && !text.ends_with('_') {
            text.push('_');
        }
        text.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' });
    }
    let is_odd = text.starts_with(|letter: char| letter.is_ascii_digit());
    match () {
        () if is_odd => format!("a{text}"),
        () if WORDS.contains(&text.as_str()) => format!("{text}_"),
        () => text,
    }
}
