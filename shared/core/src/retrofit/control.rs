//! The control table: one row for each retrofit, its segments, its quarantine, and its ledger.
//!
//! | partition key | sort key | row |
//! |---|---|---|
//! | `retrofit#NAME` | `head` | [`RetrofitState`]: phase, mapping, epoch, stream |
//! | `retrofit#NAME` | `mark` | that something is written from here on |
//! | `retrofit#NAME` | `lag` | how far behind the replicator is |
//! | `retrofit#NAME` | `reverse` | whether items can be carried in this direction, which is the other one now |
//! | `segments#NAME` | `PASS#000003/000008` | how far a segment is |
//! | `leases#NAME` | the same | who works on the segment |
//! | `quarantine#NAME` | the source item's key | why it could not be carried over |
//! | `accepted#NAME` | the same | an accepted item, which stays out |
//! | `ledger#NAME#KEY` | `ledger` | where a source item is in the target; of a tidied retrofit, how new it is. Where keys can move, the target's keys have such rows too |
//! | `seal#NAME#nnnn` | a generation | a sealed generation: its writes are refused |
//! | `late#NAME` | an item's key and a sequence number | a change that came to the closed table, with both images |
//!
//! Of the way back, the partitions of rows, quarantine and `reverse` have `<` after the name.
//!
//! Every row but a seal, which is a key alone, has the version of [`FORMAT`]. All rows have one version: a worker reads the head before
//! it writes anything, so workers of two versions never write for one retrofit.

mod checks;
mod codec;
mod delivery;
mod phase;
mod state;
#[cfg(test)]
mod tests;
mod texts;
mod transitions;

use std::collections::BTreeMap;

use crate::format::{StoredFormat, UnknownFormat, VERSION_NAME};
use crate::model::{Expect, KeptFacts, KeyAttribute, KeySource, ScalarType, Table};
use crate::value::{AttributeValue, Item, Name};

pub use delivery::Delivery;
pub use phase::{Direction, Phase};
pub use state::{RetrofitState, ReverseStream};
pub use texts::ControlError;

/// The form of the control table's rows, with the digests in them: raise the version when a row or a digest changes.
pub const FORMAT: StoredFormat = StoredFormat { name: "a row of the control table", version: 5 };

/// The control table's partition key.
pub const PARTITION: &str = "pk";
/// The control table's sort key.
pub const SORT: &str = "sk";
/// How new something is.
pub const FENCE: &str = "fence";
/// Why an item is in quarantine.
pub const CODE: &str = "code";
/// The key of a source item.
pub const SOURCE_KEY: &str = "source";
/// In the row of an item: the fence of the target item that was deleted last.
pub const REMOVED: &str = "removed";
/// In the row of a key: the fence that its item got last.
pub const SHOWN: &str = "shown";
/// The same of an item that another program deleted or replaced.
pub const LOST: &str = "lost";
/// The generation in which that was.
pub const GENERATION: &str = "generation";
/// Another one after every write of the row.
pub const STAMP: &str = "stamp";
/// The key of a target item.
pub const TARGET_KEY: &str = "target";

/// The table that a late change came to.
pub const TABLE: &str = "table";
/// Its image before a late change.
pub const OLD: &str = "old";
/// Its image after it.
pub const NEW: &str = "new";

/// How old a worker's view of the retrofit's row may be when it writes an item, in milliseconds. A process can stand still for longer than others
/// wait for it.
pub const STATE_CACHE_MS_MAX: u64 = 1_000;
/// How many seconds to wait after a change of the row, until no write of the phase before is in flight. `seconds` is the longest time
/// that a worker runs. Two more: a replicator uses a cached head for a second, and times in the row are whole seconds.
pub fn wait_after_change(seconds: u64) -> u64 {
    seconds.saturating_add(2)
}

const HEAD_SORT: &str = "head";
pub(in crate::retrofit) const LEDGER_SORT: &str = "ledger";

/// The control table of this name.
pub fn table(name: &str) -> Table {
    let key = |name: &str| KeyAttribute {
        name: name.to_owned(),
        scalar: ScalarType::S,
        source: KeySource::Natural,
    };
    Table {
        id: name.to_owned(),
        name: name.to_owned(),
        partition: key(PARTITION),
        sort: Some(key(SORT)),
        attributes: BTreeMap::new(),
        entity_attribute: None,
        entities: Vec::new(),
        indexes: Vec::new(),
        scope: BTreeMap::new(),
        written_by: BTreeMap::new(),
        ttl: None,
        collection_bytes_warn: u64::MAX,
        expect: Expect::default(),
        facts: KeptFacts::default(),
    }
}

/// The key of a row.
pub fn key(partition: &str, sort: &str) -> Item {
    let names = [(PARTITION, partition), (SORT, sort)];
    names
        .map(|(name, text)| (Name::new_static(name), AttributeValue::S(text.to_owned())))
        .into_iter()
        .collect()
}

/// A row with this key, and nothing in it yet but the version of its form.
pub(super) fn row(key: Item) -> Item {
    let mut row = key;
    row.insert(VERSION_NAME, FORMAT.attribute());
    row
}

/// Refuses a row that another version of Keyfold wrote, with the kind of row as its key begins.
pub fn check_format(row: &Item) -> Result<(), UnknownFormat> {
    let kind = |row: &Item| match text(row, PARTITION)?.split('#').next()? {
        "retrofit" => Some(text(row, SORT)?.to_owned()),
        kind => Some(kind.to_owned()),
    };
    FORMAT.check_row(row).map_err(|unknown| match kind(row) {
        Some(kind) => UnknownFormat { what: format!("a `{kind}` row of the control table"), ..unknown },
        None => unknown,
    })
}

/// The partition of a retrofit's segments.
pub fn segments_partition(retrofit: &str) -> String {
    format!("segments#{retrofit}")
}

/// The partition of the leases on a retrofit's segments.
pub fn leases_partition(retrofit: &str) -> String {
    format!("leases#{retrofit}")
}

/// The partition of a retrofit's quarantine.
pub fn quarantine_partition(retrofit: &str) -> String {
    format!("quarantine#{retrofit}")
}

/// The partition of acceptances: notes that an item in quarantine stays there.
pub fn accepted_partition(retrofit: &str) -> String {
    format!("accepted#{retrofit}")
}

/// The partition of a source item's row in the ledger.
pub fn ledger_partition(retrofit: &str, row_key: &str) -> String {
    format!("ledger#{retrofit}#{row_key}")
}

/// Is this the key of a row of any ledger?
pub(super) fn is_of_ledger(key: &Item) -> bool {
    text(key, PARTITION).is_some_and(|partition| partition.starts_with("ledger#"))
}

/// What every partition of a retrofit's ledger begins with.
pub fn ledger_prefix(retrofit: &str) -> String {
    ledger_partition(retrofit, "")
}

/// The partition of the late changes of a retrofit.
pub fn late_partition(retrofit: &str) -> String {
    format!("late#{retrofit}")
}

/// The key of a retrofit's head.
pub fn head_key(retrofit: &str) -> Item {
    key(&format!("retrofit#{retrofit}"), HEAD_SORT)
}

pub(super) const OTHER_TABLE: &str = "it is about another table, or a table with another key";
pub(super) const OTHER_KEYS: &str = "its tables, its protocol or the primary keys of its target are others";

pub(super) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(super) fn text<'a>(row: &'a Item, name: &str) -> Option<&'a str> {
    match row.get(name) {
        Some(AttributeValue::S(text)) => Some(text),
        _ => None,
    }
}

pub(super) fn whole(row: &Item, name: &str) -> Option<u64> {
    match row.get(name) {
        Some(AttributeValue::N(text)) => text.parse().ok(),
        _ => None,
    }
}
