//! TypeScript, for the npm package: `load<Tables>(...)`.

use keyfold_core::model::AttributeKind;
use keyfold_core::value::AttributeValue;
use serde_json::json;

use super::shape::{Field, Record, TableShape, pascal};

pub(super) fn write(tables: &[TableShape]) -> String {
    let mut text = "// Written by `keyfold types --lang typescript`.\nimport type { ExactNumber } from \"keyfold\";\n\n\
                    export type DynamoNumber = number | bigint | ExactNumber | { value: string; toString(): string };\n"
        .to_owned();
    for table in tables {
        text.extend(table.records().map(interface));
        if table.items.len() != 1 || table.items[0].name != format!("{}Item", pascal(&table.id)) {
            let names: Vec<&str> = table.items.iter().map(|item| item.name.as_str()).collect();
            text.push_str(&format!("\nexport type {}Item = {};\n", pascal(&table.id), names.join(" | ")));
        }
    }
    text.push_str("\nexport interface Tables {\n");
    for table in tables {
        let name = pascal(&table.id);
        text.push_str(&format!("  {}: {{ item: {name}Item; key: {name}Key }};\n", json!(table.id)));
    }
    text + "}\n"
}

fn interface(record: &Record) -> String {
    let fields = record.fields.iter().map(|field| {
        let mark = if field.optional { "?" } else { "" };
        format!("  {}{mark}: {};\n", json!(field.name), kind(field))
    });
    format!("\nexport interface {} {{\n{}}}\n", record.name, fields.collect::<String>())
}

fn kind(field: &Field) -> String {
    let one = match &field.values {
        Some(values) => values.iter().filter_map(literal).collect::<Vec<_>>().join(" | "),
        None => match field.kind {
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
        .to_owned(),
    };
    if field.many { format!("readonly ({one})[]") } else { one }
}

fn literal(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) => Some(json!(text).to_string()),
        AttributeValue::N(digits) => Some(digits.clone()),
        AttributeValue::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
