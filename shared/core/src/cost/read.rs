//! What each kind of read consumes. Filters play no part: units are counted before them.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>

use crate::cost::{READ_UNIT_BYTES, ReadUnits};

/// The most that one page of a query or scan reads, before any filter.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-api>
pub const QUERY_PAGE_BYTES_MAX: u64 = 1024 * 1024;

/// How consistent a read is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// It may miss the latest writes. Half a unit for each 4 KB; the only one that global indexes have.
    Eventual,
    /// It sees every write that succeeded before it. One unit for each 4 KB.
    Strong,
    /// Inside a transaction. Two units for each 4 KB.
    Transactional,
}

impl Consistency {
    fn of_blocks(self, blocks: u64) -> ReadUnits {
        let halves_per_block = match self {
            Consistency::Eventual => 1,
            Consistency::Strong => 2,
            Consistency::Transactional => 4,
        };
        ReadUnits::from_halves(halves_per_block) * blocks
    }
}

/// Blocks of 4 KB, the last one begun counting as a whole one.
fn blocks(bytes: u64) -> u64 {
    bytes.div_ceil(READ_UNIT_BYTES)
}

/// A query of a table or an index, for one page: the sizes are added, and the sum is rounded up to 4 KB. A query that
/// finds nothing counts as 4 KB.
///
/// Of an index, the sizes are those of its entries. Attributes that a local index does not hold cost more: see
/// [`lsi_fetch_read_units`].
pub fn query_read_units(bytes: impl IntoIterator<Item = u64>, consistency: Consistency) -> ReadUnits {
    consistency.of_blocks(blocks(sum(bytes)).max(1))
}

/// A read of one item by its key: its size, rounded up to 4 KB. An item that is not there counts as 4 KB.
pub fn get_read_units(item_bytes: Option<u64>, consistency: Consistency) -> ReadUnits {
    consistency.of_blocks(blocks(item_bytes.unwrap_or(0)).max(1))
}

/// A scan of this many bytes, over all its pages.
///
/// A full page of 1 MB is a whole number of units. Pages end at an item, so each page, and each segment of a parallel
/// scan, can add up to one unit to this.
pub fn scan_read_units(bytes: u64, consistency: Consistency) -> ReadUnits {
    query_read_units([bytes], consistency)
}

/// What a query of a local index consumes that fetches from the table what the index does not hold: for the entries together,
/// rounded up to 4 KB, and for each item, rounded up to 4 KB on its own.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ThroughputConsiderations.Reads>
pub fn lsi_fetch_read_units(
    entries_bytes: impl IntoIterator<Item = u64>,
    items_bytes: impl IntoIterator<Item = u64>,
    consistency: Consistency,
) -> ReadUnits {
    let of_items = items_bytes.into_iter().map(blocks).fold(0, u64::saturating_add);
    consistency.of_blocks(blocks(sum(entries_bytes)).saturating_add(of_items).max(1))
}

fn sum(bytes: impl IntoIterator<Item = u64>) -> u64 {
    bytes.into_iter().fold(0, u64::saturating_add)
}
