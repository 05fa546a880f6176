//! Reads the items of a global index's entries by their primary keys.

use std::collections::{HashMap, HashSet};

use super::error::AnswerError;
use super::page::{BatchGet, BatchItems};
use super::position::KeyValue;
use super::reader::Reader;
use crate::value::Item;

/// The result of hydrating some entries.
pub(super) struct Hydrated {
    /// The items that exist and still match, in the order of the entries, each with its entry's complete key.
    pub(super) items: Vec<(Vec<KeyValue>, Item)>,
    /// The whole key of the last entry.
    pub(super) last: Option<Vec<KeyValue>>,
    /// Was an entry dropped?
    pub(super) dropped: bool,
    /// The read units.
    pub(super) units: f64,
}

/// The request for the items of at most [`BATCH_GET_KEYS_MAX`](super::BATCH_GET_KEYS_MAX) entries.
pub(super) fn batch(reader: &Reader, entries: &[Item]) -> Result<BatchGet, AnswerError> {
    let mut keys: Vec<Item> = Vec::with_capacity(entries.len());
    let mut asked: HashSet<Vec<KeyValue>> = HashSet::with_capacity(entries.len());
    for entry in entries {
        // An entry that moves while the index is read can appear twice; DynamoDB refuses a repeated key.
        if asked.insert(reader.shape.primary_key(entry)?) {
            keys.push(reader.shape.primary_item(entry)?);
        }
    }
    Ok(BatchGet { keys, ..reader.get.clone() })
}

/// The items read for these entries, with the attributes that only their keys contain.
pub(super) fn hydrate(reader: &Reader, entries: &[Item], got: BatchItems) -> Result<Hydrated, AnswerError> {
    let shape = &reader.shape;
    let mut found: HashMap<Vec<KeyValue>, Item> = HashMap::with_capacity(got.items.len());
    for item in got.items {
        if reader.accepts(&item) {
            found.insert(shape.primary_key(&item)?, item);
        }
    }
    let mut items = Vec::with_capacity(found.len());
    for entry in entries {
        if let Some(item) = found.remove(&shape.primary_key(entry)?) {
            items.push((shape.key(entry)?, item));
        }
    }
    let last = entries.last().map(|entry| shape.key(entry)).transpose()?;
    Ok(Hydrated { dropped: items.len() < entries.len(), items, last, units: got.consumed.units })
}
