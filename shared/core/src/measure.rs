//! The figures of `expect`, measured on a sample.

use std::collections::HashSet;

use crate::index::item_bytes;
use crate::model::{Expect, KeyAttribute};
use crate::value::Item;
use crate::write::canonical_key;

/// A sample of a table's or an entity's items, or of an index's entries.
///
/// Its items are neighbours, as a scan returns them. Partitions seem smaller in items from all over a table.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    items: u64,
    bytes: u64,
    partitions: HashSet<Vec<Vec<u8>>>,
}

impl Sample {
    /// Items, or entries of an index, with this partition key.
    pub fn of<'i>(partition: &[KeyAttribute], items: impl IntoIterator<Item = &'i Item>) -> Sample {
        let mut sample = Sample::default();
        for item in items {
            sample.items += 1;
            sample.bytes += item_bytes(item);
            let value = |key: &KeyAttribute| item.get(&key.name).map(canonical_key).unwrap_or_default();
            sample.partitions.insert(partition.iter().map(value).collect());
        }
        sample
    }

    /// How many items it has.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The figures, if `items` is the number of all items. Without a sampled item only that number is known.
    pub fn expect(&self, items: u64) -> Expect {
        let per = |whole: u64, count: u64| (count > 0).then(|| whole.div_ceil(count));
        Expect {
            items: (items > 0).then_some(items),
            item_bytes: per(self.bytes, self.items),
            items_per_partition: per(self.items, self.partitions.len() as u64),
            writes: None,
        }
    }
}
