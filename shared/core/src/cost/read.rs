//! The read units of each kind of read. Filters make no difference: units are counted before them.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>

use crate::cost::{READ_UNIT_BYTES, ReadUnits};

/// Maximum bytes that one page of a query or scan reads, before any filter.
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

/// The number of 4 KB blocks, rounded up.
fn blocks(bytes: u64) -> u64 {
    bytes.div_ceil(READ_UNIT_BYTES)
}

/// One page of a query of a table or an index: the sum of the sizes, rounded up to 4 KB. A query without a match counts
/// as 4 KB.
///
/// For an index, the sizes are those of its entries. Attributes missing from a local index cost more: see
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
/// scan, can add up to one unit.
pub fn scan_read_units(bytes: u64, consistency: Consistency) -> ReadUnits {
    query_read_units([bytes], consistency)
}

/// A query of a local index that fetches missing attributes from the table: the sum of the entries, rounded up to 4 KB,
/// and each item, rounded up to 4 KB separately.
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
