//! The tools, with the schemas of their arguments and answers.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::limits::Limits;

/// Instructions for the model, which clients pass on.
pub(crate) const INSTRUCTIONS: &str = "Asks DynamoDB tables through Keyfold's planner, which chooses the index. \
Start with describe_model. Prefer ask (a named question) to query. explain shows plan and price and reads nothing. \
Each call has a cap, and the session and the day have a budget of read units. No tool writes.";

/// All tools.
pub(crate) fn tools(limits: &Limits) -> Vec<Tool> {
    let request = request_schema(limits);
    vec![
        tool(
            "describe_model",
            "Tables, attributes, indexes and named questions with their prices. Reads nothing.",
            json!({ "type": "object", "properties": { "table": text("Only this table.") }, "additionalProperties": false }),
            &json!({ "tables": { "type": "array", "items": { "type": "object" } } }),
            &["tables"],
        ),
        tool(
            "explain",
            "The plan of a request and its price, without running it: the chosen index, what was rejected and why.",
            request.clone(),
            &json!({ "plan": { "type": "object" }, "estimated": price(), "allowed": { "type": "boolean" }, "why": { "type": "string" } }),
            &["plan", "estimated", "allowed"],
        ),
        tool(
            "ask",
            "Answers a named question of the manifest. The cheapest way to an answer.",
            ask_schema(limits),
            &answer_schema(),
            &["count", "estimated", "consumed", "left"],
        ),
        tool(
            "query",
            "Answers a request: conditions on attributes, order, selection, limit. The planner chooses the index.",
            request,
            &answer_schema(),
            &["count", "estimated", "consumed", "left"],
        ),
        tool(
            "budget",
            "The read units that are left of this session and this day, and the cap of one call. Reads nothing.",
            nothing(),
            &json!({
                "callMax": price(), "sessionMax": price(), "dayMax": price(), "consumed": price(),
                "left": { "type": "object" }, "itemsMax": { "type": "integer" }, "scans": { "type": "boolean" },
            }),
            &["callMax", "sessionMax", "dayMax", "consumed", "left", "itemsMax", "scans"],
        ),
        tool(
            "retrofit_status",
            "How far the retrofits are that fill indexes. An index that is still filled is not used.",
            json!({ "type": "object", "properties": { "retrofit": text("Only this retrofit.") }, "additionalProperties": false }),
            &json!({ "retrofits": { "type": "array", "items": { "type": "object" } } }),
            &["retrofits"],
        ),
    ]
}

fn tool(
    name: &'static str,
    description: &'static str,
    input: Value,
    output: &Value,
    required: &[&str],
) -> Tool {
    let output = json!({ "type": "object", "properties": output, "required": required });
    Tool::new(name, description, object(input)).with_raw_output_schema(object(output)).with_annotations(
        ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false),
    )
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(members) => Arc::new(members),
        _ => unreachable!("every schema here is an object"),
    }
}

fn nothing() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn texts(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

fn price() -> Value {
    json!({
        "type": "object",
        "properties": { "readUnits": { "type": "number" }, "dollars": { "type": "number" } },
        "required": ["readUnits", "dollars"],
    })
}

fn answer_schema() -> Value {
    json!({
        "items": { "type": "array", "items": { "type": "object" } },
        "count": { "type": "integer" },
        "page": text("Give it back as `page`, with the same arguments, for the next page."),
        "estimated": price(),
        "consumed": price(),
        "left": { "type": "object" },
        "plan": { "type": "object" },
    })
}

fn page_members(limits: &Limits) -> Value {
    json!({
        "limit": { "type": "integer", "minimum": 1, "maximum": limits.items_max, "description": "Maximum items in the answer." },
        "count": { "type": "boolean", "description": "Only the number of items." },
        "page": text("The `page` of the answer before."),
        "readUnitsMax": {
            "type": "number", "exclusiveMinimum": 0, "maximum": limits.call_units_max,
            "description": "Maximum read units of this call.",
        },
    })
}

fn ask_schema(limits: &Limits) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "question": text("The question's name, from describe_model."),
            "table": text("The question's table, if several have a question of that name."),
            "parameters": {
                "type": "object",
                "description": "The question's parameters by name. A list gives a parameter several times.",
            },
            "order": texts("Attributes to sort by; `-attribute` for descending."),
        },
        "required": ["question"],
        "additionalProperties": false,
    });
    extend(&mut schema, page_members(limits));
    schema
}

fn request_schema(limits: &Limits) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "table": text("The table, from describe_model."),
            "where": {
                "description": "Conditions: {\"a\": 1, \"b\": {\">=\": 2}}. Operators: = <> < <= > >= between beginsWith contains in exists; \
                                and, or: lists of conditions; not: a condition.",
            },
            "entity": texts("Only items of these entities."),
            "order": texts("Attributes to sort by; `-attribute` for descending."),
            "select": texts("The attributes to return; all if left out."),
            "consistent": { "type": "boolean", "description": "Strongly consistent; twice the price." },
            "sortInMemory": { "type": "integer", "minimum": 1, "description": "Maximum items to sort if no index gives the order." },
            "explain": { "type": "boolean", "description": "Return the plan, too." },
        },
        "required": ["table"],
        "additionalProperties": false,
    });
    extend(&mut schema, page_members(limits));
    if limits.allow_scans {
        schema["properties"]["scan"] =
            json!({ "type": "boolean", "description": "Allow a scan of the whole table." });
    }
    schema
}

fn extend(schema: &mut Value, members: Value) {
    if let (Some(properties), Value::Object(members)) = (schema["properties"].as_object_mut(), members) {
        properties.extend(members);
    }
}
