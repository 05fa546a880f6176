//! Many items by their keys, each beside the key that it was asked for by.

use std::collections::{HashMap, HashSet};

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
        let mut asked: HashSet<&SourceKey> = HashSet::with_capacity(keys.len());
        let is_new = |(name, key)| asked.insert(Option::as_ref(name)?).then_some(key);
        let wanted: Vec<&Item> = names.iter().zip(keys).filter_map(is_new).collect();
        let batches: Vec<Vec<Item>> =
            wanted.chunks(BATCH_GET_KEYS_MAX).map(|keys| keys.iter().copied().cloned().collect()).collect();
        let mut reads =
            stream::iter(batches).map(|batch| self.read(place, batch)).buffer_unordered(in_flight_max.max(1));
        let mut found: HashMap<SourceKey, Item> = HashMap::with_capacity(wanted.len());
        while let Some(items) = reads.next().await {
            found.extend(items?.into_iter().filter_map(|item| Some((SourceKey::of(table, &item)?, item))));
        }
        // Only an item that is asked for twice is copied.
        let is_each_once = asked.len() == keys.len();
        let mut item_of = |name| if is_each_once { found.remove(name) } else { found.get(name).cloned() };
        Ok(names.iter().map(|name| name.as_ref().and_then(&mut item_of)).collect())
    }
}
