//! The proof: every sampled item is stripped of its folded keys, folded with the new manifest, and compared with the
//! stored item.

use std::collections::BTreeMap;

use keyfold_core::model::{KeySource, Table};
use keyfold_core::value::{AttributeValue, Item};

use crate::draft::TableDraft;

/// The result for one key of one entity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proof {
    /// The table's id in the manifest.
    pub table: String,
    /// The entity; empty for items without one.
    pub entity: String,
    /// The key attribute.
    pub key: String,
    /// Items with the stored key, byte for byte.
    pub same: usize,
    /// Items without a key, stored and folded.
    pub absent: usize,
    /// Items with a different key.
    pub differs: usize,
    /// The first difference: stored and folded key.
    pub example: Option<(String, String)>,
}

/// Folds every sampled item of a table.
pub(crate) fn prove(table: &Table, draft: &TableDraft) -> Vec<Proof> {
    let mut folded: Vec<&str> = Vec::new();
    let indexes = table.indexes.iter().flat_map(keyfold_core::model::Index::key_attributes);
    for key in table.key_attributes().chain(indexes) {
        if matches!(key.source, KeySource::Folded(_)) && !folded.contains(&key.name.as_str()) {
            folded.push(&key.name);
        }
    }
    let mut proofs: BTreeMap<(String, usize), Proof> = BTreeMap::new();
    for row in &draft.items {
        // Attributes stored only in keys are read first; a key's prefix may be the only condition of the entity.
        let mut item = table.with_key_parts(&row.item).into_owned();
        let reported = |key: &str| {
            table.entities.iter().any(|entity| entity.when.iter().any(|when| when.attribute == key))
        };
        for key in folded.iter().filter(|key| !reported(key)) {
            item.remove(*key);
        }
        let entity = match table.entity_of(&row.item) {
            Ok(Some(id)) => table.entities[id.0].name.clone(),
            _ => String::new(),
        };
        let made = table.folded(&item);
        for (at, key) in folded.iter().enumerate() {
            let proof = proofs.entry((entity.clone(), at)).or_insert_with(|| Proof {
                table: table.id.clone(),
                entity: entity.clone(),
                key: (*key).to_owned(),
                ..Proof::default()
            });
            let made = match &made {
                Ok(made) => made.iter().find(|(name, _)| name == key).and_then(|(_, value)| value.clone()),
                Err(error) => {
                    differs(proof, stored(&row.item, key), error.to_string());
                    continue;
                }
            };
            match (row.item.get(*key), made) {
                (Some(AttributeValue::S(stored)), Some(made)) if *stored == made => proof.same += 1,
                (None, None) => proof.absent += 1,
                (_, made) => {
                    differs(proof, stored(&row.item, key), made.unwrap_or_else(|| "no key".to_owned()));
                }
            }
        }
    }
    proofs.into_values().collect()
}

fn stored(item: &Item, key: &str) -> String {
    match item.get(key) {
        Some(AttributeValue::S(text) | AttributeValue::N(text)) => text.clone(),
        Some(_) => "a value of another type".to_owned(),
        None => "no key".to_owned(),
    }
}

fn differs(proof: &mut Proof, stored: String, made: String) {
    proof.differs += 1;
    proof.example.get_or_insert((stored, made));
}
