//! The items behind the entries of a global index, read by their primary keys.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::Client;
use keyfold_core::value::Item;

use super::error::QueryError;
use super::key_value::KeyValue;
use super::reader::Reader;
use crate::read::{BatchGet, batch_get};

/// What became of a run of entries.
pub(super) struct Hydrated {
    /// The items that exist and still match, in the order of the entries, each with its entry's whole key.
    pub(super) items: Vec<(Vec<KeyValue>, Item)>,
    /// The whole key of the last entry.
    pub(super) last: Option<Vec<KeyValue>>,
    /// Did an entry come to nothing?
    pub(super) dropped: bool,
    /// The read units.
    pub(super) units: f64,
}

/// Reads the items of at most [`BATCH_GET_KEYS_MAX`](crate::BATCH_GET_KEYS_MAX) entries.
pub(super) async fn hydrate(
    client: &Client,
    reader: &Reader<'_>,
    entries: &[Item],
) -> Result<Hydrated, QueryError> {
    let shape = &reader.shape;
    let primary = entries.iter().map(|entry| shape.primary_key(entry)).collect::<Result<Vec<_>, _>>()?;
    let mut keys: Vec<Item> = Vec::with_capacity(entries.len());
    let mut asked: HashSet<&[KeyValue]> = HashSet::with_capacity(entries.len());
    for (entry, key) in entries.iter().zip(&primary) {
        // An entry that moves while the index is read can come twice; DynamoDB refuses a key given twice.
        if asked.insert(key) {
            keys.push(shape.primary_item(entry)?);
        }
    }
    let got = batch_get(client, &BatchGet { keys, ..reader.get.clone() }).await?;
    let mut found: HashMap<Vec<KeyValue>, Item> = HashMap::with_capacity(got.items.len());
    for item in got.items {
        let item = reader.whole(item);
        if reader.accepts(&item) {
            found.insert(shape.primary_key(&item)?, item);
        }
    }
    let mut items = Vec::with_capacity(found.len());
    for (entry, key) in entries.iter().zip(&primary) {
        if let Some(item) = found.remove(key) {
            items.push((shape.key(entry)?, item));
        }
    }
    let last = entries.last().map(|entry| shape.key(entry)).transpose()?;
    Ok(Hydrated { dropped: items.len() < entries.len(), items, last, units: got.consumed.units })
}
