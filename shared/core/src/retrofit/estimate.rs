//! The estimated cost of a retrofit, before its start.
//!
//! A sample of the source's items goes through the same code as the retrofit itself, and the sums are scaled up to the
//! number of items. Verification, retries and the live writes that are replicated meanwhile are not in it.

mod survey;
mod words;

use std::collections::BTreeMap;

use super::attributes::{FENCE_ATTRIBUTE, OWNER_ATTRIBUTE};
use super::diff::Diff;
use super::fence::{Epoch, Fence};
use super::mapping::Mapping;
use super::misfit::Misfits;
use super::protocol_choice::Protocol;
use super::source_key::SourceKey;
use super::there_and_back::ThereAndBack;
use crate::cost::{Consistency, Dollars, Prices, ReadUnits, WriteUnits, scan_read_units};
use crate::index::{STORAGE_OVERHEAD_BYTES, changes, item_bytes};
use crate::model::Table;
use crate::value::Item;
pub use survey::Survey;

/// The bytes of a ledger row without the two keys: epoch, sequence number, stamp, and its attributes' names.
const LEDGER_ROW_BYTES: u64 = 137;

/// Estimated reads, writes and storage of a retrofit.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrofitEstimate {
    /// How many items the source has.
    pub items: u64,
    /// How many of them were looked at.
    pub sampled: u64,
    /// How many items are written. In place, an item whose keys are right already is not.
    pub items_written: u64,
    /// How many items cannot get their keys, and will be reported instead of written.
    pub items_refused: u64,
    /// Why, by attribute, index and reason.
    pub misfits: Misfits,
    /// What becomes of values that do not fit, where the manifest says so, by attribute and remedy: on how many items.
    pub mended: BTreeMap<(String, &'static str), u64>,
    /// What changes, by entity and attribute.
    pub diff: Diff,
    /// The way back of the sampled items; `None` if the retrofit has no way back.
    pub there_and_back: Option<ThereAndBack>,
    /// The strongly consistent scan of the source.
    pub scan_read: ReadUnits,
    /// The writes to the table, doubled where they are transactions.
    pub table_write: WriteUnits,
    /// The writes to the ledger: only where a target key can move.
    pub ledger_write: WriteUnits,
    /// The writes to each index of the target.
    pub indexes: Vec<IndexEstimate>,
    /// How much more storage there is afterwards, ledger included; a new table comes on top of the old one.
    pub storage_bytes: i64,
}

/// The changes of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEstimate {
    /// The index's name.
    pub index: String,
    /// How many entries it writes, deletes or moves.
    pub entries: u64,
    /// The units that this consumes.
    pub write: WriteUnits,
}

/// A retrofit in dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetrofitDollars {
    /// The scan, once.
    pub reads: Dollars,
    /// The writes, once.
    pub writes: Dollars,
    /// The additional storage, each month.
    pub storage_month: Dollars,
}

/// The sums over the sample.
#[derive(Debug, Default)]
struct Sums {
    scan_bytes: u64,
    written: u64,
    refused: u64,
    table: WriteUnits,
    ledger: WriteUnits,
    storage: i64,
    indexes: Vec<(u64, WriteUnits)>,
    diff: Diff,
    there_and_back: Option<ThereAndBack>,
    mended: BTreeMap<(String, &'static str), u64>,
    misfits: Misfits,
}

impl RetrofitEstimate {
    /// All writes: table, ledger and indexes.
    pub fn write_units(&self) -> WriteUnits {
        self.table_write + self.ledger_write + self.indexes.iter().map(|index| index.write).sum()
    }

    /// The cost of `finish` if it removes all marks: each item is written again, with its entries in the
    /// indexes that show the marks, and each row of a ledger is deleted. To leave them costs nothing.
    pub fn finalise_units(&self, mapping: &Mapping) -> WriteUnits {
        let target = mapping.target();
        let once = match mapping.protocol() {
            Protocol::InPlace => return WriteUnits::ZERO,
            Protocol::Fenced => self.table_write,
            // These were written in transactions, at twice the price.
            Protocol::Ledger => WriteUnits::new((self.table_write + self.ledger_write).get() / 2),
        };
        let shows =
            |name: &str| target.index(name).is_some_and(|index| index.projects(target, FENCE_ATTRIBUTE));
        let showing = self.indexes.iter().filter(|index| shows(&index.index));
        once + showing.map(|index| index.write).sum()
    }

    /// The estimate as a document, for machines.
    pub fn document(&self, mapping: &Mapping, prices: &Prices) -> serde_json::Value {
        let dollars = self.dollars(prices);
        serde_json::json!({
            "retrofit": mapping.name(),
            "mapping": mapping.hash().as_str(),
            "protocol": mapping.protocol().name(),
            "because": mapping.reason().to_string(),
            "items": self.items,
            "sampled": self.sampled,
            "written": self.items_written,
            "refused": self.items_refused,
            "misfits": self.misfits.json(),
            "mended": self.mended.iter().map(|((attribute, remedy), items)| serde_json::json!({
                "attribute": attribute, "remedy": remedy, "items": items,
            })).collect::<Vec<_>>(),
            "diff": self.diff.json(mapping),
            "thereAndBack": self.there_and_back.as_ref().map(ThereAndBack::json),
            "readUnits": self.scan_read.as_f64(),
            "writeUnits": self.write_units().get(),
            "finaliseWriteUnits": self.finalise_units(mapping).get(),
            "storageBytes": self.storage_bytes,
            "dollars": { "reads": dollars.reads.to_string(), "writes": dollars.writes.to_string(),
                         "storageMonth": dollars.storage_month.to_string() },
        })
    }

    /// The same in dollars.
    pub fn dollars(&self, prices: &Prices) -> RetrofitDollars {
        RetrofitDollars {
            reads: prices.dollars_for_reads(self.scan_read),
            writes: prices.dollars_for_writes(self.write_units()),
            storage_month: prices.dollars_for_month(self.storage_bytes),
        }
    }
}

impl Sums {
    fn mapped(&mut self, mapping: &Mapping, source: &Item, mut mapped: Item) {
        let to = mapping.target();
        match mapping.protocol() {
            Protocol::InPlace if mapped == *source => {}
            Protocol::InPlace => self.write(to, Some(source), &mapped, false),
            Protocol::Fenced => {
                mapped.insert(FENCE_ATTRIBUTE.to_owned(), Fence::of_scan(Epoch::FIRST).value());
                self.write(to, None, &mapped, false);
            }
            Protocol::Ledger => {
                let owner = SourceKey::of(mapping.source(), source).map(|key| key.value());
                mapped.extend(owner.map(|owner| (OWNER_ATTRIBUTE.to_owned(), owner)));
                self.write(to, None, &mapped, true);
                let row = ledger_row_bytes(mapping.source(), to, source, &mapped);
                // One of the item's key, one of its key in the target.
                self.ledger += WriteUnits::of(row).transactional() * 2;
                self.storage += signed(row + STORAGE_OVERHEAD_BYTES) * 2;
            }
        }
    }

    fn write(&mut self, table: &Table, old: Option<&Item>, new: &Item, in_transaction: bool) {
        let write = changes(table, old, Some(new));
        let write = if in_transaction { write.transactional() } else { write };
        self.written += 1;
        self.table += write.table_units;
        for (sum, index) in self.indexes.iter_mut().zip(&write.indexes) {
            sum.0 += u64::from(index.units > WriteUnits::ZERO);
            sum.1 += index.units;
        }
        self.storage +=
            signed(table.storage_bytes(new)) - old.map_or(0, |old| signed(table.storage_bytes(old)));
    }

    fn scaled(&self, to: &Table, scale: Scale) -> RetrofitEstimate {
        let units = |units: WriteUnits| WriteUnits::new(scale.up(units.get()));
        let index = |(index, &(entries, write)): (&crate::model::Index, &(u64, WriteUnits))| IndexEstimate {
            index: index.name.clone(),
            entries: scale.up(entries),
            write: units(write),
        };
        RetrofitEstimate {
            items: scale.items,
            sampled: scale.sampled,
            items_written: scale.up(self.written),
            items_refused: scale.up(self.refused),
            misfits: self.misfits.clone().scaled(|items| scale.up(items)),
            mended: self.mended.iter().map(|(of, items)| (of.clone(), scale.up(*items))).collect(),
            diff: self.diff.clone().scaled(|items| scale.up(items)),
            there_and_back: self.there_and_back.clone(),
            scan_read: scan_read_units(scale.up(self.scan_bytes), Consistency::Strong),
            table_write: units(self.table),
            ledger_write: units(self.ledger),
            indexes: to.indexes.iter().zip(&self.indexes).map(index).collect(),
            storage_bytes: self.storage.signum() * signed(scale.up(self.storage.unsigned_abs())),
        }
    }
}

/// From the sample to all items, rounded up.
#[derive(Clone, Copy)]
struct Scale {
    items: u64,
    sampled: u64,
}

impl Scale {
    fn up(self, sum: u64) -> u64 {
        let scaled = (u128::from(sum) * u128::from(self.items)).div_ceil(u128::from(self.sampled.max(1)));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

fn ledger_row_bytes(from: &Table, to: &Table, source: &Item, target: &Item) -> u64 {
    let key_bytes = |table: &Table, item| table.key_of(item).map_or(0, |key| item_bytes(&key));
    key_bytes(from, source) + key_bytes(to, target) + LEDGER_ROW_BYTES
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
