//! Many items by their keys, each with the requested key.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use keyfold_core::retrofit::{SourceKey, TableRole};
use keyfold_core::value::Item;

use super::RequestSender;
use crate::error::DynamoError;
use crate::read::BATCH_GET_KEYS_MAX;

impl RequestSender {
    /// The items with these keys, in their order; any number of keys, and one may be there twice.
    pub(super) async fn look_up(
        &self,
        role: TableRole,
        keys: Vec<Item>,
    ) -> Result<Vec<Option<Item>>, DynamoError> {
        let table = self.table(role);
        let mut items = vec![None; keys.len()];
        // Where the item of each key goes, and where the same is asked for once more.
        let mut first: HashMap<SourceKey, usize> = HashMap::with_capacity(keys.len());
        let mut again = Vec::new();
        let mut wanted = Vec::with_capacity(keys.len());
        for (at, key) in keys.into_iter().enumerate() {
            let Some(name) = SourceKey::of(table, &key) else { continue };
            match first.entry(name) {
                Entry::Occupied(entry) => again.push((at, *entry.get())),
                Entry::Vacant(entry) => {
                    entry.insert(at);
                    wanted.push(key);
                }
            }
        }
        let mut wanted = wanted.into_iter();
        loop {
            let batch: Vec<Item> = wanted.by_ref().take(BATCH_GET_KEYS_MAX).collect();
            if batch.is_empty() {
                break;
            }
            for item in self.read(role, batch).await? {
                if let Some(at) = SourceKey::of(table, &item).and_then(|name| first.get(&name)) {
                    items[*at] = Some(item);
                }
            }
        }
        for (at, first) in again {
            items[at] = items[first].clone();
        }
        Ok(items)
    }
}
