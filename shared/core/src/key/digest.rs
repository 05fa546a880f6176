//! A template as text, for the digest of a retrofit's mapping.
//!
//! There are two texts. [`Template::canonical`] says what decides the bytes of a key, and nothing else.
//! [`Template::released`] is frozen: the digests of the first release were made of it, and stored.

use serde_json::{Value, json};

use super::codec::{Codec, KeyMode};
use super::field::Field;
use super::finite::Finite;
use super::follow::Follow;
use super::template::{Element, Part, Template};
use crate::value::canonical;

impl Template {
    /// What decides the bytes of a key: the literals, and how each attribute is written. How the template is spelled, the
    /// order of listed values and the names of maps do not matter. A key's role matters only for the longest key, which
    /// refuses items and changes no byte.
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

    /// The template as Rust's `{:?}` wrote it in the first release. Never changes: see `retrofit::mapping::released`.
    pub(crate) fn released(&self) -> String {
        let Template { text, role, mode, parts, elements, firsts: _ } = self;
        let part = |part: &Part| match part {
            Part::Literal(text) => format!("Literal({text:?})"),
            Part::Attribute { name, codec, optional } => {
                format!("Attribute {{ name: {name:?}, codec: {codec:?}, optional: {optional:?} }}")
            }
        };
        let element = |element: &Element| match element {
            Element::Literal { text, level } => format!("Literal {{ text: {text:?}, level: {level} }}"),
            Element::Field { field, level } => {
                format!("Field {{ field: {}, level: {level} }}", field.released())
            }
        };
        let (parts, elements): (Vec<_>, Vec<_>) =
            (parts.iter().map(part).collect(), elements.iter().map(element).collect());
        format!(
            "Template {{ text: {text:?}, role: {role:?}, mode: {mode:?}, parts: [{}], elements: [{}] }}",
            parts.join(", "),
            elements.join(", ")
        )
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

    /// The listed values with their texts, sorted: the manifest's order does not matter.
    fn listed(&self) -> Vec<Value> {
        let entries = self.finite.iter().flat_map(|finite| &finite.entries);
        let mut listed: Vec<_> = entries.map(|(value, text)| json!([canonical(value), text])).collect();
        listed.sort_by_key(Value::to_string);
        listed
    }

    fn released(&self) -> String {
        let Field { attribute, kind, codec, finite, follow, mode } = self;
        let Follow { separators, end, adjacent } = follow;
        let finite = match finite {
            Some(Finite { entries, plain, ordered: _ }) => {
                format!("Some(Finite {{ entries: {entries:?}, plain: {plain:?} }})")
            }
            None => "None".to_owned(),
        };
        format!(
            "Field {{ attribute: {attribute:?}, kind: {kind:?}, codec: {codec:?}, finite: {finite}, \
             follow: Follow {{ separators: {separators:?}, end: {end:?}, adjacent: {adjacent:?} }}, mode: {mode:?} }}"
        )
    }
}
