//! Which attributes of a table are folded keys, and the values that a folded key says.

use crate::key::Unfolded;
use crate::model::{Entity, FoldRule, KeySource, Table, When};
use crate::value::{AttributeValue, Item};

/// The attributes that a table's folded keys are stored in.
pub(super) fn made(table: &Table) -> Vec<String> {
    let folded = table.every_key().filter(|(_, key)| matches!(key.source, KeySource::Folded(_)));
    folded.map(|(_, key)| key.name.clone()).collect()
}

/// Is a folded key stored in this attribute?
pub(super) fn is_folded(table: &Table, name: &str) -> bool {
    table.every_key().any(|(_, key)| key.name == name && matches!(key.source, KeySource::Folded(_)))
}

/// True if the table recognizes the entity by the beginning of a folded key.
pub(super) fn is_told_by_key(table: &Table, entity: &Entity) -> bool {
    let is_folded =
        |when: &When| table.key_attributes().any(|key| key.name == when.attribute && !key.rules().is_empty());
    entity.when.iter().any(is_folded)
}

/// The attributes that a primary key is made of, as the key says them.
pub(super) fn key_values(table: &Table, key: &Item) -> Option<Item> {
    let mut values = Item::default();
    for attribute in table.key_attributes() {
        let value = key.get(&attribute.name)?;
        match &attribute.source {
            KeySource::Natural => {
                values.insert(&attribute.name, value.clone());
            }
            KeySource::Folded(rules) => {
                let [FoldRule { entity: None, template }] = rules.as_slice() else { return None };
                let AttributeValue::S(text) = value else { return None };
                for (name, part) in template.unfold(text).ok()? {
                    if let Unfolded::Value(value) = part {
                        values.insert(name, value);
                    }
                }
            }
        }
    }
    Some(values)
}
