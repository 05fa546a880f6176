//! Schemas of zod, with the types that `typescript` writes under the same names.

use keyfold_core::model::AttributeKind;
use keyfold_core::value::AttributeValue;
use serde_json::json;

use super::shape::{Kind, Record, TableShape};
use super::typescript::{NUMBER, interfaces, is_only, literal};

const START: &str = "// Written by `keyfold types --lang zod`.
import type { ExactNumber } from \"keyfold\";
import { z } from \"zod\";

";

const NUMBER_SCHEMA: &str = "const dynamoNumber = z.custom<DynamoNumber>((value) =>
  typeof value === \"number\" || typeof value === \"bigint\" || typeof (value as { value?: unknown } | null)?.value === \"string\");
";

pub(super) fn write(tables: &[TableShape]) -> String {
    let mut text = format!("{START}{NUMBER}{NUMBER_SCHEMA}");
    for table in tables {
        text.extend(table.records().map(object));
        for (name, records) in table.unions().iter().filter(|(name, records)| !is_only(name, records)) {
            let names: Vec<&str> = records.iter().map(|record| record.name.as_str()).collect();
            text.push_str(&named(name, &one_of(&names)));
        }
    }
    text + &interfaces(tables)
}

/// A schema and its type.
fn named(name: &str, schema: &str) -> String {
    format!("\nexport const {name} = {schema};\nexport type {name} = z.infer<typeof {name}>;\n")
}

fn object(record: &Record) -> String {
    let fields = record.fields.iter().map(|field| {
        let mark = if field.optional { ".optional()" } else { "" };
        format!("  {}: {}{mark},\n", json!(field.name), kind(&field.kind))
    });
    named(&record.name, &format!("z.object({{\n{}}})", fields.collect::<String>()))
}

fn one_of(schemas: &[&str]) -> String {
    match schemas {
        [only] => (*only).to_owned(),
        several => format!("z.union([{}])", several.join(", ")),
    }
}

fn kind(of: &Kind) -> String {
    match of {
        Kind::Value(kind, values) => value(*kind, values.as_deref()),
        Kind::Many(kind, values) => format!("z.array({})", value(*kind, values.as_deref())),
        Kind::Any => "z.unknown()".to_owned(),
    }
}

fn value(kind: AttributeKind, values: Option<&[AttributeValue]>) -> String {
    if let Some(values) = values {
        let literals: Vec<String> =
            values.iter().filter_map(literal).map(|text| format!("z.literal({text})")).collect();
        return one_of(&literals.iter().map(String::as_str).collect::<Vec<_>>());
    }
    match kind {
        AttributeKind::String | AttributeKind::Timestamp(_) | AttributeKind::Date => "z.string()",
        AttributeKind::Number => "dynamoNumber",
        AttributeKind::Binary => "z.instanceof(Uint8Array)",
        AttributeKind::Boolean => "z.boolean()",
        AttributeKind::List => "z.array(z.unknown())",
        AttributeKind::Map => "z.record(z.string(), z.unknown())",
        AttributeKind::StringSet => "z.set(z.string())",
        AttributeKind::NumberSet => "z.set(dynamoNumber)",
        AttributeKind::BinarySet => "z.set(z.instanceof(Uint8Array))",
    }
    .to_owned()
}
