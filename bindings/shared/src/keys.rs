//! A folded key's parts.

use keyfold_core::key::Unfolded;
use keyfold_core::model::{FoldRule, Index, KeyAttribute, KeySource, Table};
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// Splits a folded key of the table, or of one of its indexes, into its parts.
pub(crate) fn unfold(table: &Table, key: &str, index: Option<&str>) -> Result<Value, Failure> {
    let keys: Vec<&KeyAttribute> = match index {
        None => table.key_attributes().chain(table.indexes.iter().flat_map(Index::key_attributes)).collect(),
        Some(name) => match table.index(name) {
            Some(index) => index.key_attributes().collect(),
            None => {
                return Err(Failure::call(format_args!("table `{}` has no index `{name}`", table.id)));
            }
        },
    };
    for attribute in keys {
        let KeySource::Folded(rules) = &attribute.source else { continue };
        for rule in rules {
            if let Ok(parts) = rule.template.unfold(key) {
                return Ok(unfolded(table, attribute, rule, &parts));
            }
        }
    }
    Err(Failure::call(format_args!("the key does not match any template of table `{}`", table.id)))
}

fn unfolded(table: &Table, key: &KeyAttribute, rule: &FoldRule, parts: &[(&str, Unfolded)]) -> Value {
    let (mut values, mut lossy, mut shards) = (Map::new(), Map::new(), Map::new());
    for (name, part) in parts {
        let name = (*name).to_owned();
        match part {
            Unfolded::Value(value) => _ = values.insert(name, json!(value)),
            Unfolded::Lossy(text) => _ = lossy.insert(name, json!(text)),
            Unfolded::Shard(number) => _ = shards.insert(name, json!(number)),
            Unfolded::Absent => {}
        }
    }
    json!({
        "attribute": key.name,
        "entity": rule.entity.map(|entity| table.entities[entity.0].name.as_str()),
        "template": rule.template.text(),
        "values": values,
        "lossy": lossy,
        "shards": shards,
    })
}
