//! Many items by their keys, each beside the key that it was asked for by.

use std::collections::HashMap;

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::{SourceKey, TableRole};
use keyfold_core::value::Item;

use super::RequestSender;
use crate::error::DynamoError;
use crate::read::BATCH_GET_KEYS_MAX;

impl RequestSender {
    /// The items with these keys, in their order; any number of keys, and one may be there twice.
    pub(super) async fn look_up(
        &self,
        place: TableRole,
        keys: &[Item],
        in_flight_max: usize,
    ) -> Result<Vec<Option<Item>>, DynamoError> {
        let table = self.table(place);
        let names: Vec<_> = keys.iter().map(|key| SourceKey::of(table, key)).collect();
        let mut wanted: HashMap<&SourceKey, &Item> = HashMap::with_capacity(keys.len());
        wanted.extend(names.iter().zip(keys).filter_map(|(name, key)| Some((name.as_ref()?, key))));
        let wanted: Vec<Item> = wanted.into_values().cloned().collect();
        let batches: Vec<Vec<Item>> = wanted.chunks(BATCH_GET_KEYS_MAX).map(<[Item]>::to_vec).collect();
        let mut reads =
            stream::iter(batches).map(|batch| self.read(place, batch)).buffer_unordered(in_flight_max.max(1));
        let mut found: HashMap<SourceKey, Item> = HashMap::with_capacity(keys.len());
        while let Some(items) = reads.next().await {
            found.extend(items?.into_iter().filter_map(|item| Some((SourceKey::of(table, &item)?, item))));
        }
        Ok(names.iter().map(|name| name.as_ref().and_then(|name| found.get(name)).cloned()).collect())
    }
}
