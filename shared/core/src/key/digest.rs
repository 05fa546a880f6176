//! The properties of a template that decide the bytes of its keys, for the digest of a retrofit's mapping.

use serde_json::{Value, json};

use super::codec::{Codec, KeyMode};
use super::field::Field;
use super::template::{Element, Template};
use crate::value::canonical;

impl Template {
    /// The literals, and how each attribute is written. The spelling of the template, the order of listed values and
    /// the names of maps do not count. Neither does the key's role: it only limits the length.
    pub(crate) fn canonical(&self) -> Value {
        let mode = match self.mode {
            KeyMode::Escaped => "escaped",
            KeyMode::Verbatim => "verbatim",
        };
        let element = |element: &Element| match element {
            Element::Literal { text, level } => json!([level, "literal", text]),
            Element::Field { field, level } => json!([level, "attribute", field.canonical()]),
        };
        json!([mode, self.elements.iter().map(element).collect::<Vec<_>>()])
    }
}

impl Field {
    fn canonical(&self) -> Value {
        let codec = match &self.codec {
            Codec::Text => json!(["text"]),
            Codec::Integer { width } => json!(["integer", width]),
            Codec::Number => json!(["number"]),
            Codec::Timestamp(precision) => json!(["timestamp", precision.length()]),
            Codec::LowerTimestamp(precision) => json!(["lower-timestamp", precision.length()]),
            Codec::Date => json!(["date"]),
            Codec::Lower => json!(["lower"]),
            Codec::Upper => json!(["upper"]),
            Codec::Shard(shards) => json!(["shard", shards]),
            Codec::Modulo(shards) => json!(["modulo", shards]),
            Codec::Hex => json!(["hex"]),
            Codec::Map(_) | Codec::Enumerated => json!(["listed", self.listed()]),
        };
        json!([self.attribute, self.kind.name(), codec])
    }

    /// The listed values with their texts, sorted, because the manifest's order does not matter.
    fn listed(&self) -> Vec<Value> {
        let entries = self.finite.iter().flat_map(|finite| &finite.entries);
        let mut listed: Vec<_> = entries.map(|(value, text)| json!([canonical(value), text])).collect();
        listed.sort_by_key(Value::to_string);
        listed
    }
}
