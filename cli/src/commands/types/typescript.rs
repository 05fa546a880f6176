//! TypeScript, for the npm package: `load<Tables, Questions>(...)`, and `ask(client, name, input)`.

use keyfold_core::model::AttributeKind;
use keyfold_core::value::AttributeValue;
use serde_json::json;

use super::shape::{Kind, Record, TableShape};

pub(super) const NUMBER: &str =
    "export type DynamoNumber = number | bigint | ExactNumber | { value: string; toString(): string };\n";

pub(super) fn write(tables: &[TableShape]) -> String {
    let mut text =
        "// Written by `keyfold types --lang typescript`.\nimport type { ExactNumber } from \"keyfold\";\n\n"
            .to_owned();
    text.push_str(NUMBER);
    for table in tables {
        text.extend(table.records().map(interface));
        for (name, records) in table.unions().iter().filter(|(name, records)| !is_only(name, records)) {
            let names: Vec<&str> = records.iter().map(|record| record.name.as_str()).collect();
            text.push_str(&format!("\nexport type {name} = {};\n", names.join(" | ")));
        }
    }
    text + &interfaces(tables)
}

/// `Tables` and `Questions`.
pub(super) fn interfaces(tables: &[TableShape]) -> String {
    let mut text = "\n/** The tables: `load<Tables>(text)`. */\nexport interface Tables {\n".to_owned();
    for table in tables {
        let name = table.name();
        let id = json!(table.id);
        text.push_str(&format!("  {id}: {{ item: {name}Item; key: {name}Key{} }};\n", entities(table)));
    }
    text.push_str(
        "}\n\n/** The questions, by the name that `ask(client, name, input)` takes: `load<Tables, Questions>(text)`. \
         `output` is one item of the\n * answer. */\nexport interface Questions {\n",
    );
    for question in tables.iter().flat_map(|table| &table.questions) {
        let (name, output) = (json!(question.name), question.answers().join(" | "));
        text.push_str(&format!("  {name}: {{ input: {}; output: {output} }};\n", question.input.name));
    }
    text + "}\n"
}

/// The type of each entity's items; nothing for a table without entities.
fn entities(table: &TableShape) -> String {
    let of = |(name, record): (&String, &Record)| format!("{}: {}", json!(name), record.name);
    let all: Vec<String> = table.entities.iter().zip(&table.items).map(of).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("; entities: {{ {} }}", all.join("; ")),
    }
}

/// Is there one record, and does it have this name?
pub(super) fn is_only(name: &str, records: &[Record]) -> bool {
    matches!(records, [only] if only.name == name)
}

fn interface(record: &Record) -> String {
    if record.fields.is_empty() {
        return format!("\nexport type {} = Record<string, never>;\n", record.name);
    }
    let fields = record.fields.iter().map(|field| {
        let mark = if field.optional { "?" } else { "" };
        format!("  {}{mark}: {};\n", json!(field.name), kind(&field.kind))
    });
    format!("\nexport interface {} {{\n{}}}\n", record.name, fields.collect::<String>())
}

fn kind(of: &Kind) -> String {
    match of {
        Kind::Value(kind, values) => value(*kind, values.as_deref()),
        Kind::Many(kind, values) => format!("readonly ({})[]", value(*kind, values.as_deref())),
        Kind::Any => "unknown".to_owned(),
    }
}

fn value(kind: AttributeKind, values: Option<&[AttributeValue]>) -> String {
    if let Some(values) = values {
        return values.iter().filter_map(literal).collect::<Vec<_>>().join(" | ");
    }
    match kind {
        AttributeKind::String | AttributeKind::Timestamp(_) | AttributeKind::Date => "string",
        AttributeKind::Number => "DynamoNumber",
        AttributeKind::Binary => "Uint8Array",
        AttributeKind::Boolean => "boolean",
        AttributeKind::List => "unknown[]",
        AttributeKind::Map => "Record<string, unknown>",
        AttributeKind::StringSet => "Set<string>",
        AttributeKind::NumberSet => "Set<DynamoNumber>",
        AttributeKind::BinarySet => "Set<Uint8Array>",
    }
    .to_owned()
}

pub(super) fn literal(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) => Some(json!(text).to_string()),
        AttributeValue::N(digits) => Some(digits.clone()),
        AttributeValue::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
