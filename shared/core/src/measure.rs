//! The figures of `expect`, measured on a sample.

use std::collections::{BTreeMap, HashSet};

use crate::index::item_bytes;
use crate::model::{Attribute, Expect, KeyAttribute, Table, listed_text};
use crate::value::{AttributeValue, Item, equal};
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
            values: BTreeMap::new(),
        }
    }
}

/// How many of the items have each listed value of an attribute. Attributes that none of them has are left out.
pub fn value_counts(table: &Table, items: &[Item]) -> BTreeMap<String, BTreeMap<String, u64>> {
    let of_attribute = |attribute: &Attribute| {
        let values = attribute.values.as_ref()?;
        let count = |value: &AttributeValue| {
            let has_it = |item: &&Item| item.get(&attribute.name).is_some_and(|have| equal(have, value));
            Some((listed_text(value)?.to_owned(), items.iter().filter(has_it).count() as u64))
        };
        let counts: BTreeMap<String, u64> = values.iter().filter_map(count).collect();
        counts.values().any(|count| *count > 0).then(|| (attribute.name.clone(), counts))
    };
    table.attributes.values().filter_map(of_attribute).collect()
}
