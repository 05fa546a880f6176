//! A meaning as a request: the words of the case file in those of the query engine.

use keyfold_core::model::Table;
use keyfold_core::query::QueryRequest;
use keyfold_core::query::limits::{PAGE_ITEMS_MAX, SORT_ITEMS_MAX};
use serde_json::{Value, json};

use crate::case::{Asked, Case, Meaning, Op};
use crate::json::Json;

/// The request for a pattern's meaning. It does not allow a scan.
///
/// A limit above the maximum page size is left out: the caller reads page after page and stops in time.
pub fn request(table: &Table, case: &Case, meaning: &Meaning) -> QueryRequest {
    let order =
        |by: &crate::case::Sorted| format!("{}{}", if by.descending { "-" } else { "" }, by.attribute);
    let limit = meaning.limit.and_then(|limit| u32::try_from(limit).ok());
    QueryRequest {
        table: table.id.clone(),
        entity: entities(table, case, meaning),
        conditions: match meaning.conditions.as_slice() {
            [] => Json::Null,
            all => all.iter().map(condition).collect::<Value>().into(),
        },
        order: meaning.order.iter().map(order).collect(),
        limit: limit.filter(|limit| (1..=PAGE_ITEMS_MAX).contains(limit)),
        sort_in_memory: (!meaning.order.is_empty()).then_some(SORT_ITEMS_MAX),
        ..QueryRequest::default()
    }
}

/// The entities that the manifest declares. Undeclared ones without items are left out. The list is empty if the
/// manifest has a single kind of item and the pattern asks for all.
fn entities(table: &Table, case: &Case, meaning: &Meaning) -> Vec<String> {
    let asks_for_all = case.natural.iter().all(|natural| meaning.entities.contains(&natural.entity));
    if table.entities.is_empty() && asks_for_all {
        return Vec::new();
    }
    let has_items = |name: &String| case.natural.iter().any(|natural| natural.entity == *name);
    let known: Vec<String> = meaning
        .entities
        .iter()
        .filter(|name| table.entity(name).is_some() || has_items(name))
        .cloned()
        .collect();
    if known.is_empty() { meaning.entities.clone() } else { known }
}

fn condition(asked: &Asked) -> Value {
    match asked {
        Asked::Any(parts) => json!({ "or": parts.iter().map(condition).collect::<Value>() }),
        // An empty conjunction is true.
        Asked::All(parts) => parts.iter().map(condition).collect(),
        Asked::Not(inner) => json!({ "not": condition(inner) }),
        Asked::Is { attribute, op, values } => {
            json!({ "attribute": attribute, "operator": operator(*op), "value": operand(*op, values) })
        }
    }
}

fn operator(op: Op) -> &'static str {
    match op {
        Op::Equal => "=",
        Op::NotEqual => "<>",
        Op::Less => "<",
        Op::LessOrEqual => "<=",
        Op::Greater => ">",
        Op::GreaterOrEqual => ">=",
        Op::Between => "between",
        Op::BeginsWith => "beginsWith",
        Op::Contains => "contains",
        Op::In => "in",
        Op::Exists => "exists",
        Op::NotExists => "notExists",
    }
}

fn operand(op: Op, values: &[Json]) -> Value {
    match op {
        Op::Exists | Op::NotExists => Value::Null,
        Op::Between | Op::In => values.iter().map(value).collect(),
        _ => values.first().map_or(Value::Null, value),
    }
}

/// Numbers use DynamoDB's own notation, which is exact.
fn value(json: &Json) -> Value {
    match json {
        Json::Number(text) => json!({ "N": text }),
        Json::Null => json!({ "NULL": true }),
        other => json!(other),
    }
}
