//! The storage of items and index entries, and the limit of item collections.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.StorageConsiderations>

use crate::index::size::item_bytes;
use crate::model::{Index, Table};
use crate::value::Item;

/// The bytes that DynamoDB adds to the storage of each item and each index entry.
pub const STORAGE_OVERHEAD_BYTES: u64 = 100;

/// The largest item collection of a table with local indexes: 10 GB of 1024³ bytes.
const COLLECTION_BYTES_MAX: u64 = 10 * GB;

const GB: u64 = 1024 * 1024 * 1024;

/// The storage of an item in the table itself: its size and the overhead.
pub fn item_storage_bytes(item: &Item) -> u64 {
    item_bytes(item) + STORAGE_OVERHEAD_BYTES
}

impl Index {
    /// The storage of the entry for a stored item: the table's key, the index's key, the projected attributes and the
    /// overhead. An attribute that is several of these counts once. `None` if the item is not in the index.
    pub fn entry_storage_bytes(&self, table: &Table, stored: &Item) -> Option<u64> {
        self.entry_bytes(table, stored).map(|bytes| bytes + STORAGE_OVERHEAD_BYTES)
    }
}

impl Table {
    /// The storage of an item in the table and all indexes.
    pub fn storage_bytes(&self, stored: &Item) -> u64 {
        let entries = self.indexes.iter().filter_map(|index| index.entry_storage_bytes(self, stored));
        item_storage_bytes(stored) + entries.sum::<u64>()
    }
}

/// How near an item collection is to its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CollectionLevel {
    /// Far enough away.
    Fine,
    /// Beyond the early-warning threshold.
    Warn,
    /// Beyond the limit: only deletes and shrinking updates succeed.
    Over,
}

/// The level of DynamoDB's own estimate: `SizeEstimateRangeGB`, `[lower, upper]`. `None` for an invalid range.
///
/// The upper end decides on the warning, because the collection may be that large. The lower end decides whether the
/// limit is exceeded, because it is at least that large.
pub fn collection_level(lower_gb: f64, upper_gb: f64, warn_at: u64) -> Option<CollectionLevel> {
    if !(lower_gb >= 0.0 && upper_gb >= lower_gb && upper_gb.is_finite()) {
        return None;
    }
    // Sizes of collections are far below the 2^53 up to which f64 counts bytes exactly.
    let bytes = |gb: f64| gb * GB as f64;
    Some(if bytes(lower_gb) >= COLLECTION_BYTES_MAX as f64 {
        CollectionLevel::Over
    } else if bytes(upper_gb) > warn_at as f64 {
        CollectionLevel::Warn
    } else {
        CollectionLevel::Fine
    })
}
