//! A request from the command line: complete as JSON, or built from conditions like `timestamp^=2017-03`.

use anyhow::{Context, bail};
use keyfold_core::model::{AttributeKind, EntityId, Model, Table};
use keyfold_core::query::check::{Caller, CheckedRequest};
use keyfold_core::query::{QueryPlan, QueryRequest, Readiness, check, plan};
use serde_json::{Value, json};

use crate::manifest_file::table;
use crate::refusal::Refusal;
use crate::support::argument_or_stdin;

/// The longest request text that is accepted.
const REQUEST_BYTES_MAX: u64 = 1024 * 1024;

/// A request: complete as JSON, or built from conditions.
#[derive(Debug, clap::Args)]
pub(crate) struct RequestArgs {
    /// The complete request as JSON; `-` reads standard input.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["table", "conditions"])]
    pub(crate) request: Option<String>,
    /// The table's name in the manifest or in DynamoDB.
    #[arg(long, short, value_name = "TABLE", required_unless_present = "request")]
    pub(crate) table: Option<String>,
    /// A condition. If you give several, all must be true.
    #[arg(long = "where", short, value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,
    /// Only items of this entity; you can give several.
    #[arg(long, short, value_name = "ENTITY")]
    pub(crate) entity: Vec<String>,
    /// An attribute to sort by; `-attribute` sorts descending.
    #[arg(long, short, value_name = "ATTRIBUTE", allow_hyphen_values = true)]
    pub(crate) order: Vec<String>,
    /// The maximum number of items in an answer.
    #[arg(long, short, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// An attribute to return [default: all].
    #[arg(long, short, value_name = "ATTRIBUTE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Return only the number of items.
    #[arg(long)]
    pub(crate) count: bool,
    /// Read with strong consistency.
    #[arg(long)]
    pub(crate) consistent: bool,
    /// Allow a scan.
    #[arg(long)]
    pub(crate) scan: bool,
    /// Allow sorting in memory, of at most N items.
    #[arg(long, value_name = "N")]
    pub(crate) sort_in_memory: Option<u32>,
}

/// The request from the command's arguments.
pub(crate) fn read(model: &Model, args: &RequestArgs) -> anyhow::Result<QueryRequest> {
    if let Some(text) = &args.request {
        let text = argument_or_stdin(text, REQUEST_BYTES_MAX)?;
        return serde_json::from_str(&text).context("the request is not valid");
    }
    let name = args.table.as_deref().context("give a --table or a --request")?;
    let table = table(model, name)?;
    // An unknown entity is reported by the check of the request.
    let entities: Vec<EntityId> =
        args.entity.iter().filter_map(|name| table.entity(name)).map(|(id, _)| id).collect();
    let conditions = args.conditions.iter().map(|text| condition(table, &entities, text));
    let conditions = conditions.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(QueryRequest {
        table: table.id.clone(),
        entity: args.entity.clone(),
        conditions: Value::Array(conditions).into(),
        order: args.order.clone(),
        limit: args.limit,
        select: (!args.select.is_empty()).then(|| args.select.clone()),
        count: args.count,
        consistent: args.consistent,
        scan: args.scan,
        sort_in_memory: args.sort_in_memory,
        ..QueryRequest::default()
    })
}

/// Operators and their names in a request. An operator comes before its own prefixes: `<=` before `<`.
pub(crate) const OPERATORS: [(&str, &str); 8] = [
    ("<>", "<>"),
    ("<=", "<="),
    (">=", ">="),
    ("^=", "beginsWith"),
    ("*=", "contains"),
    ("=", "="),
    ("<", "<"),
    (">", ">"),
];

/// `attribute operator value`, as a condition of a request.
fn condition(table: &Table, entities: &[EntityId], text: &str) -> anyhow::Result<Value> {
    if let Some(name) = text.strip_suffix("!?") {
        return Ok(json!({ "attribute": name.trim(), "operator": "exists", "value": false }));
    }
    if let Some(name) = text.strip_suffix('?').filter(|name| !name.contains(['=', '<', '>'])) {
        return Ok(json!({ "attribute": name.trim(), "operator": "exists", "value": true }));
    }
    let split = text.char_indices().find_map(|(at, _)| {
        OPERATORS.iter().find(|(sign, _)| text[at..].starts_with(sign)).map(|(sign, name)| (at, *sign, *name))
    });
    let Some((at, sign, operator)) = split else {
        bail!(
            "`{text}` is not a condition: it needs an operator (=, <>, <, <=, >, >=, ^=, *=, or ? at the end)"
        );
    };
    let (name, value) = (text[..at].trim(), text[at + sign.len()..].trim());
    // Otherwise `a==b` would silently ask for the value `=b`.
    if value.starts_with(['=', '<', '>']) {
        bail!(
            "`{text}` has two operators after `{name}`\nhint: the operators are =, <>, <, <=, >, >=, ^= and *=; \
             give a value that begins with `{}` in a --request",
            &value[..1]
        );
    }
    let typed = |value: &str| value_of(table, entities, name, value);
    let several = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    Ok(match (operator, several, value.split_once("..")) {
        ("=", Some(values), _) => {
            let values: Vec<Value> = values.split(',').map(|value| typed(value.trim())).collect();
            json!({ "attribute": name, "operator": "in", "value": values })
        }
        ("=", None, Some((low, high))) if !low.is_empty() && !high.is_empty() => {
            json!({ "attribute": name, "operator": "between", "value": [typed(low), typed(high)] })
        }
        _ => json!({ "attribute": name, "operator": operator, "value": typed(value) }),
    })
}

/// A text as a value of the attribute's type. The planner checks it later, like all other values.
fn value_of(table: &Table, entities: &[EntityId], name: &str, text: &str) -> Value {
    match table.attribute_of(entities, name).map(|attribute| attribute.kind) {
        Some(AttributeKind::Number | AttributeKind::NumberSet) => json!({ "N": text }),
        Some(AttributeKind::Boolean) => text.parse::<bool>().map_or_else(|_| json!(text), Value::Bool),
        _ => json!(text),
    }
}

/// Checks the request against the model, for a caller who may see everything.
pub(crate) fn checked<'m>(model: &'m Model, request: &QueryRequest) -> anyhow::Result<CheckedRequest<'m>> {
    check(model, request, &Caller::Trusted).map_err(Refusal::of)
}

/// The plan, or an error that says why no table or index serves.
pub(crate) fn planned(checked: &CheckedRequest<'_>, readiness: &Readiness) -> anyhow::Result<QueryPlan> {
    plan(checked, readiness).map_err(Refusal::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_condition(text: &str) -> String {
        let manifest = "[tables.t]\nname = \"tbl\"\npartition = \"id\"\n[tables.t.attributes]\nid = \"string\"\nn = \"number\"\n";
        let model = keyfold_core::manifest::parse("t", manifest).model.unwrap();
        condition(&model.tables[0], &[], text)
            .map_or_else(|error| format!("error: {error}"), |value| value.to_string())
    }

    #[test]
    fn conditions_read_as_they_look() {
        for (text, expected) in [
            ("id=a=b", r#"{"attribute":"id","operator":"=","value":"a=b"}"#),
            ("id <> x", r#"{"attribute":"id","operator":"<>","value":"x"}"#),
            ("n>=5", r#"{"attribute":"n","operator":">=","value":{"N":"5"}}"#),
            ("id^=2017-03", r#"{"attribute":"id","operator":"beginsWith","value":"2017-03"}"#),
            ("id*=ab", r#"{"attribute":"id","operator":"contains","value":"ab"}"#),
            ("n=[1, 2]", r#"{"attribute":"n","operator":"in","value":[{"N":"1"},{"N":"2"}]}"#),
            ("n=1..2", r#"{"attribute":"n","operator":"between","value":[{"N":"1"},{"N":"2"}]}"#),
            ("id?", r#"{"attribute":"id","operator":"exists","value":true}"#),
            ("id!?", r#"{"attribute":"id","operator":"exists","value":false}"#),
        ] {
            assert_eq!(read_condition(text), expected, "{text}");
        }
        for text in ["id", "id==c1", "id= =c1", "n=>5", "n>>5", "id^==a", "id<>=a"] {
            assert!(read_condition(text).starts_with("error"), "{text}");
        }
    }
}
