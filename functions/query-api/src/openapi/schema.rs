//! The shapes of requests, answers, problems and of each table's items.

use keyfold_core::model::{Attribute, AttributeKind, Model, Table};
use keyfold_core::query::limits::{PAGE_ITEMS_MAX, SORT_ITEMS_MAX};
use keyfold_core::value::AttributeValue;
use serde_json::{Map, Value, json};

/// Everything that operations refer to.
pub(super) fn components(model: &Model) -> Value {
    let mut schemas = Map::new();
    schemas.insert("QueryRequest".to_owned(), request(model));
    schemas.insert("Answer".to_owned(), answer());
    schemas.insert("Explanation".to_owned(), explanation());
    schemas.insert("Problem".to_owned(), problem());
    if !model.deploy.query_api_writes.is_empty() {
        schemas.extend(writes(&model.deploy.query_api_writes));
    }
    for table in &model.tables {
        schemas.insert(item_name(table), item(table));
    }
    Value::Object(schemas)
}

/// The name of the schema of a table's items.
pub(super) fn item_name(table: &Table) -> String {
    format!("{}.item", table.id)
}

/// One value of an attribute, as plain JSON.
pub(super) fn of_attribute(attribute: &Attribute) -> Value {
    let mut schema = of_kind(attribute.kind);
    if let Some(values) = &attribute.values {
        schema["enum"] = values.iter().map(listed).collect();
    }
    schema
}

pub(super) fn of_kind(kind: AttributeKind) -> Value {
    let set_of = |member: Value| json!({ "type": "array", "items": member, "uniqueItems": true });
    match kind {
        AttributeKind::String => json!({ "type": "string" }),
        AttributeKind::Number => json!({ "type": "number" }),
        AttributeKind::Binary => json!({ "type": "string", "contentEncoding": "base64" }),
        AttributeKind::Boolean => json!({ "type": "boolean" }),
        AttributeKind::Timestamp(_) => json!({ "type": "string", "format": "date-time" }),
        AttributeKind::Date => json!({ "type": "string", "format": "date" }),
        AttributeKind::List => json!({ "type": "array" }),
        AttributeKind::Map => json!({ "type": "object" }),
        AttributeKind::StringSet => set_of(of_kind(AttributeKind::String)),
        AttributeKind::NumberSet => set_of(of_kind(AttributeKind::Number)),
        AttributeKind::BinarySet => set_of(of_kind(AttributeKind::Binary)),
    }
}

/// A listed value is a text or a number.
fn listed(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::N(number) => serde_json::from_str(number).unwrap_or_else(|_| json!(number)),
        AttributeValue::S(text) => json!(text),
        _ => Value::Null,
    }
}

fn item(table: &Table) -> Value {
    let property = |attribute: &Attribute| match table.mixed_type(&[], &attribute.name) {
        None => of_attribute(attribute),
        Some(_) => json!({}),
    };
    let properties: Map<String, Value> =
        table.attributes.values().map(|attribute| (attribute.name.clone(), property(attribute))).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": true })
}

fn request(model: &Model) -> Value {
    let tables: Vec<&str> = model.tables.iter().map(|table| table.id.as_str()).collect();
    let texts =
        json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] });
    json!({
        "type": "object",
        "required": ["table"],
        "additionalProperties": false,
        "properties": {
            "table": { "type": "string", "examples": tables },
            "entity": texts,
            "where": { "type": ["object", "array"], "description": "conditions: `{\"attribute\": value}`, `{\"attribute\": {\"operator\": value}}`, `and`, `or`, `not`" },
            "order": texts,
            "limit": { "type": "integer", "minimum": 1, "maximum": PAGE_ITEMS_MAX },
            "select": { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            "count": { "type": "boolean" },
            "consistent": { "type": "boolean" },
            "scan": { "type": "boolean" },
            "sortInMemory": { "type": "integer", "minimum": 1, "maximum": SORT_ITEMS_MAX },
            "page": { "type": "string" },
            "readUnitsMax": { "type": "number", "exclusiveMinimum": 0 },
            "explain": { "type": "boolean" },
        },
    })
}

fn writes(tables: &[String]) -> [(String, Value); 4] {
    let attributes = |description: &str| json!({ "type": "object", "description": description });
    let table = json!({ "type": "string", "enum": tables });
    let key = attributes("the primary key, or the attributes that it is folded from");
    let expected =
        attributes("what the item must be: attributes and their values, `null` for one that must be absent");
    let request = |required: &[&str], properties: Value| json!({ "type": "object", "required": required, "additionalProperties": false, "properties": properties });
    let put = json!({
        "table": table, "item": { "type": "object" }, "entity": { "type": "string" },
        "replace": { "type": "boolean", "description": "writes over an item with the same key" },
    });
    let update = json!({
        "table": table, "key": key, "set": attributes("attributes that get a value"),
        "remove": { "type": "array", "items": { "type": "string" } }, "if": expected,
    });
    let written = json!({
        "type": "object",
        "properties": {
            "consumedUnits": { "type": "number" },
            "deleted": { "type": "boolean", "description": "of a delete: was there an item?" },
        },
    });
    let named = |name: &str, schema| (name.to_owned(), schema);
    [
        named("PutRequest", request(&["table", "item"], put)),
        named("UpdateRequest", request(&["table", "key"], update)),
        named(
            "DeleteRequest",
            request(&["table", "key"], json!({ "table": table, "key": key, "if": expected })),
        ),
        named("Written", written),
    ]
}

fn answer() -> Value {
    json!({
        "type": "object",
        "required": ["count", "consumedReadUnits"],
        "properties": {
            "items": { "type": "array", "items": { "type": "object" } },
            "count": { "type": "integer" },
            "page": { "type": "string", "description": "the token of the next page; absent on the last one" },
            "consumedReadUnits": { "type": "number" },
            "itemsRead": { "type": "integer", "description": "with the plan: the number of items read, before any filter" },
            "plan": { "$ref": "#/components/schemas/Explanation" },
        },
    })
}

fn explanation() -> Value {
    let turned = json!({
        "type": "object",
        "properties": { "source": { "type": "string" }, "reason": { "type": "string" } },
    });
    json!({
        "type": "object",
        "properties": {
            "table": { "type": "string" },
            "reads": { "type": "array", "items": { "type": "object" } },
            "furtherReads": { "type": "integer" },
            "delivery": { "type": "string" },
            "estimatedReadUnits": { "type": "number" },
            "rejected": { "type": "array", "items": turned },
        },
    })
}

/// RFC 9457.
fn problem() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "instance"],
        "properties": {
            "type": { "type": "string", "format": "uri" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "code": { "type": "string" },
            "hint": { "type": "string" },
            "rejected": { "type": "array", "items": { "type": "object" } },
            "suggestion": { "type": "string" },
            "instance": { "type": "string" },
        },
    })
}
