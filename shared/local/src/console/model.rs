//! The model as the page shows it: tables, keys as templates, indexes, questions with their parameters, retrofits.

use std::collections::BTreeSet;

use keyfold_core::model::{
    Index, IndexKind, KeyAttribute, KeySource, Model, Operator, Projection, Question, QuestionCondition,
    Table,
};
use keyfold_core::query::question::{param_name, symbol};
use keyfold_core::value::AttributeValue;
use keyfold_query_api::Api;
use serde_json::{Value, json};

use super::entries::ENTRIES_MAX;

/// All declarations of the manifest, and the location of the tables. Nothing is read.
pub(super) fn describe(api: &Api, endpoint: &str) -> Value {
    let model = api.model();
    let tables = model.tables.iter().map(|table| table_of(model, table));
    let retrofits = model
        .retrofits
        .iter()
        .map(|retrofit| json!({ "name": retrofit.name, "from": retrofit.from, "to": retrofit.to }));
    json!({
        "endpoint": endpoint,
        "allowScan": api.limits().allow_scan,
        "readUnitsMax": api.limits().read_units_max,
        "entriesMax": ENTRIES_MAX,
        "tables": tables.collect::<Vec<_>>(),
        "retrofits": retrofits.collect::<Vec<_>>(),
    })
}

fn table_of(model: &Model, table: &Table) -> Value {
    let attributes = table.attributes.values().map(|attribute| {
        json!({
            "name": attribute.name,
            "type": attribute.kind.name(),
            "values": attribute.values.as_deref().map(texts),
            "required": attribute.required,
        })
    });
    json!({
        "id": table.id,
        "name": table.name,
        "partition": [key(table, &table.partition)],
        "sort": table.sort.iter().map(|sort| key(table, sort)).collect::<Vec<_>>(),
        "attributes": attributes.collect::<Vec<_>>(),
        "entities": table.entities.iter().map(|entity| &entity.name).collect::<Vec<_>>(),
        "indexes": table.indexes.iter().map(|one| index(table, one)).collect::<Vec<_>>(),
        "scope": table.scope.iter().map(|(attribute, claim)| json!({ "attribute": attribute, "claim": claim })).collect::<Vec<_>>(),
        "questions": model.questions_of(table).map(|one| question(table, one)).collect::<Vec<_>>(),
    })
}

fn index(table: &Table, index: &Index) -> Value {
    json!({
        "name": index.name,
        "kind": match index.kind {
            IndexKind::Local => "local",
            IndexKind::Global => "global",
        },
        "partition": index.partition.iter().map(|one| key(table, one)).collect::<Vec<_>>(),
        "sort": index.sort.iter().map(|one| key(table, one)).collect::<Vec<_>>(),
        "projection": match &index.projection {
            Projection::All => json!("all"),
            Projection::KeysOnly => json!("keys-only"),
            Projection::Include(names) => json!(names),
        },
    })
}

/// A key attribute, with its template for each kind of item if it is folded.
fn key(table: &Table, key: &KeyAttribute) -> Value {
    let templates: Vec<Value> = match &key.source {
        KeySource::Natural => Vec::new(),
        KeySource::Folded(rules) => rules
            .iter()
            .map(|rule| {
                let entity = rule.entity.map(|id| &table.entities[id.0].name);
                json!({ "entity": entity, "template": rule.template.text() })
            })
            .collect(),
    };
    json!({ "attribute": key.name, "type": key.scalar.letter(), "templates": templates, "from": key.inputs().collect::<BTreeSet<_>>() })
}

fn question(table: &Table, question: &Question) -> Value {
    let asked = question.parameters();
    let parameters = asked.iter().map(|condition| parameter(table, question, condition));
    let order = question.order.iter();
    let order = order.map(|by| format!("{}{}", if by.descending { "-" } else { "" }, by.attribute));
    json!({
        "name": question.name,
        "parameters": parameters.collect::<Vec<_>>(),
        "order": order.collect::<Vec<_>>(),
        "entities": question.entities.iter().map(|id| &table.entities[id.0].name).collect::<Vec<_>>(),
        "limit": question.limit,
        "select": question.select,
        "consistent": question.consistent,
        "scan": question.scan,
    })
}

fn parameter(table: &Table, question: &Question, condition: &QuestionCondition) -> Value {
    let attribute = table.attribute_of(question.entities_of(condition), &condition.attribute);
    // A prefix or part of a value is not a listed value.
    let listed = !matches!(condition.operator, Operator::BeginsWith | Operator::Contains | Operator::Exists);
    let values = attribute.filter(|_| listed).and_then(|attribute| attribute.values.as_deref()).map(texts);
    json!({
        "name": param_name(condition),
        "attribute": condition.attribute,
        "operator": symbol(condition.operator),
        "type": attribute.map(|attribute| attribute.kind.name()),
        "values": values,
        "required": !condition.optional,
    })
}

fn texts(values: &[AttributeValue]) -> Vec<&str> {
    values
        .iter()
        .filter_map(|value| match value {
            AttributeValue::S(text) | AttributeValue::N(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}
