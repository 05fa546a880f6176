//! The tables, attributes and questions that an agent may ask, as JSON.

use keyfold_core::model::{
    Attribute, EntityId, Index, KeyAttribute, KeySource, Model, Operator, Question, Table,
};
use keyfold_core::query::advise::advise;
use keyfold_core::query::question::{param_name, symbol};
use keyfold_edge::plain_value;
use serde_json::{Map, Value, json};

use crate::hidden::HiddenAttributes;

/// Above this number of tables, a description without a table lists names only.
const TABLES_DETAILED_MAX: usize = 5;

/// The description of these tables.
pub(crate) fn describe(model: &Model, tables: &[&Table], hidden: &HiddenAttributes) -> Value {
    let is_detailed = tables.len() <= TABLES_DETAILED_MAX;
    let one = |table: &&Table| match is_detailed {
        true => detailed(model, table, hidden),
        false => json!({ "table": table.id, "questions": questions(model, table, hidden).len() }),
    };
    let tables: Vec<Value> = tables.iter().map(one).collect();
    match is_detailed {
        true => json!({ "tables": tables }),
        false => json!({ "tables": tables, "note": "give `table` for the attributes and questions of one" }),
    }
}

fn detailed(model: &Model, table: &Table, hidden: &HiddenAttributes) -> Value {
    let keys: Vec<String> = table.key_attributes().map(|key| key_text(table, key)).collect();
    let indexes: Vec<Value> = table
        .indexes
        .iter()
        .filter(|index| hidden.allows_index(index))
        .map(|index| of_index(table, index))
        .collect();
    let mut found = json!({
        "table": table.id,
        "key": keys,
        "attributes": attributes(table, None, hidden),
        "indexes": indexes,
        "questions": questions(model, table, hidden),
    });
    hidden.redact_all(&mut found["key"]);
    if !table.entities.is_empty() {
        let entity = |(at, entity): (usize, &keyfold_core::model::Entity)| {
            (entity.name.clone(), attributes(table, Some(EntityId(at)), hidden))
        };
        found["entities"] = Value::Object(table.entities.iter().enumerate().map(entity).collect());
    }
    if !table.scope.is_empty() {
        let scope: Vec<&String> = table.scope.keys().filter(|name| !hidden.is_hidden(name)).collect();
        found["scopedBy"] = json!(scope);
    }
    found
}

/// A natural key is its attribute's name, a folded one its templates.
fn key_text(table: &Table, key: &KeyAttribute) -> String {
    match &key.source {
        KeySource::Natural => key.name.clone(),
        KeySource::Folded(rules) => {
            let of = |rule: &keyfold_core::model::FoldRule| match rule.entity {
                Some(id) => format!("{}: {}", table.entities[id.0].name, rule.template.text()),
                None => rule.template.text().to_owned(),
            };
            rules.iter().map(of).collect::<Vec<_>>().join(" | ")
        }
    }
}

fn of_index(table: &Table, index: &Index) -> Value {
    let texts = |keys: &[KeyAttribute]| keys.iter().map(|key| key_text(table, key)).collect::<Vec<_>>();
    json!({ "index": index.name, "partition": texts(&index.partition), "sort": texts(&index.sort) })
}

/// The attributes of a table, or those that only this entity has.
fn attributes(table: &Table, entity: Option<EntityId>, hidden: &HiddenAttributes) -> Value {
    let is_own = |name: &str| entity.is_none() || !in_all(table, name);
    let shown = |attribute: &Attribute| {
        let mut found = Map::from_iter([("type".to_owned(), json!(attribute.kind.name()))]);
        if let Some(values) = &attribute.values {
            found.insert("values".to_owned(), values.iter().map(plain_value).collect());
        }
        if attribute.from_key {
            found.insert("inKey".to_owned(), json!(true));
        }
        Value::Object(found)
    };
    let all = table.attributes_of(entity).iter();
    let visible = all.filter(|(name, _)| !hidden.is_hidden(name) && is_own(name));
    Value::Object(visible.map(|(name, attribute)| (name.clone(), shown(attribute))).collect())
}

/// Has every entity the attribute?
fn in_all(table: &Table, name: &str) -> bool {
    table.entities.iter().all(|entity| entity.attributes.contains_key(name))
}

/// The questions that can be asked, each with its price.
fn questions(model: &Model, table: &Table, hidden: &HiddenAttributes) -> Vec<Value> {
    let advice = advise(model);
    let one = |question: &Question| {
        let parameters: Vec<Value> = question
            .parameters()
            .iter()
            .filter(|condition| !hidden.is_hidden(&condition.attribute))
            .map(|condition| {
                let mut parameter = json!({ "name": param_name(condition) });
                if condition.optional {
                    parameter["optional"] = json!(true);
                }
                if condition.operator != Operator::Equal {
                    parameter["operator"] = json!(symbol(condition.operator));
                }
                parameter
            })
            .collect();
        let estimates = advice.iter().filter(|advice| std::ptr::eq(advice.question, question));
        let units = estimates.filter_map(|advice| Some(advice.outcome.as_ref().ok()?.estimated_units));
        let mut found = json!({ "question": question.name, "parameters": parameters });
        if let Some(units) = units.reduce(f64::max) {
            found["estimatedReadUnits"] = json!(units);
        }
        found
    };
    let asked = model.questions_of(table).filter(|question| hidden.allows_question(table, question));
    asked.map(one).collect()
}
