//! The remaining read units and requests of an execution. A read is granted only if its expected cost is left, if
//! necessary with fewer items.
//!
//! The size of items is unknown before they are read. So there is also a bound by the maximum cost of all reads in
//! flight: an execution exceeds its cap by at most one page. Near the cap, reads wait for each other.

use super::page::PAGE_ITEMS_MAX;
use crate::cost::{QUERY_PAGE_BYTES_MAX, READ_UNIT_BYTES};
use crate::index::ITEM_BYTES_MAX;
use crate::model::Table;

/// Maximum requests of one execution; the rest is left to the next page.
pub const REQUESTS_MAX: u32 = 2000;

/// The assumed size of an item without information from the manifest or an earlier read.
const ITEM_BYTES: f64 = 400.0;
/// Bytes in a read unit.
const UNIT_BYTES: f64 = READ_UNIT_BYTES as f64;

/// The read units by which an execution can exceed its cap: those of one page.
pub fn cap_overrun(consistent: bool) -> f64 {
    unit(consistent) * (QUERY_PAGE_BYTES_MAX as f64 / UNIT_BYTES)
}

/// The price of one [`UNIT_BYTES`].
fn unit(consistent: bool) -> f64 {
    if consistent { 1.0 } else { 0.5 }
}

/// What determines the cost of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Price {
    /// A page of a table or index.
    Page,
    /// A page of a local index, and each item from the table.
    PageAndItems,
    /// Single items.
    Items,
}

/// A granted read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grant {
    pub(super) items: u32,
    price: Price,
    reserved: f64,
    /// Its maximum cost.
    most: f64,
}

#[derive(Debug, Clone)]
pub(super) struct Budget {
    units_max: Option<f64>,
    /// The units of one [`UNIT_BYTES`].
    unit: f64,
    spent: f64,
    reserved: f64,
    /// The maximum cost of the reads in flight.
    under_way: f64,
    requests: u32,
    item_bytes: f64,
    /// Does the manifest state `item_bytes`?
    is_stated: bool,
    /// Bytes and items of the pages read so far.
    pages: (f64, f64),
}

impl Budget {
    pub(super) fn new(units_max: Option<f64>, consistent: bool, table: &Table) -> Budget {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let item_bytes = table.expect.item_bytes.map_or(ITEM_BYTES, |bytes| bytes as f64);
        let unit = unit(consistent);
        Budget {
            units_max,
            unit,
            spent: 0.0,
            reserved: 0.0,
            under_way: 0.0,
            requests: 0,
            item_bytes: item_bytes.max(1.0),
            is_stated: table.expect.item_bytes.is_some(),
            pages: (0.0, 0.0),
        }
    }

    pub(super) fn units_max(&self) -> Option<f64> {
        self.units_max
    }

    pub(super) fn spent(&self) -> f64 {
        self.spent
    }

    /// The units spent, plus the maximum cost of the reads in flight.
    pub(super) fn spent_at_most(&self) -> f64 {
        self.spent + self.under_way
    }

    /// Records that DynamoDB refused a read, at no cost.
    pub(super) fn refused(&mut self, grant: Grant) {
        self.reserved -= grant.reserved;
        self.under_way -= grant.most;
    }

    /// How many items of the expected size one read unit pays for. The sizes of read items do not count: they would
    /// reveal items that a filter dropped.
    pub(super) fn unit_items(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 4096")]
        let items = (UNIT_BYTES / self.item_bytes) as u32;
        items.max(1)
    }

    /// The same, if the manifest states the size; otherwise one.
    pub(super) fn stated_unit_items(&self) -> u32 {
        if self.is_stated { self.unit_items() } else { 1 }
    }

    /// The cost of an empty page.
    pub(super) fn least(&self) -> f64 {
        self.unit
    }

    pub(super) fn requests(&self) -> u32 {
        self.requests
    }

    /// Does the budget allow these reads of one item each?
    pub(super) fn affords(&self, reads: impl Iterator<Item = Price>) -> bool {
        self.free().is_none_or(|free| reads.map(|price| self.cost(price, 1)).sum::<f64>() <= free)
    }

    /// Grants a read of at most `items` items, if affordable. `waiting`: how many reads share the rest.
    pub(super) fn grant(&mut self, price: Price, items: u32, waiting: usize) -> Option<Grant> {
        if self.requests >= REQUESTS_MAX {
            return None;
        }
        let items = match self.free() {
            None => items,
            Some(free) => self.bounded(price, self.affordable(price, items, free, waiting)?)?,
        };
        let (reserved, most) = (self.cost(price, items), self.most(price, items));
        self.reserved += reserved;
        self.under_way += most;
        self.requests += 1;
        Some(Grant { items, price, reserved, most })
    }

    /// Records the cost of a granted read, the items it read and the calls it took.
    pub(super) fn settle(&mut self, grant: Grant, units: f64, items: u64, calls: u32) {
        self.reserved -= grant.reserved;
        self.under_way -= grant.most;
        self.spent += units;
        self.requests += calls.saturating_sub(1);
        if grant.price == Price::Page {
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let items = items as f64;
            // The last unit of a page may be nearly empty.
            self.pages.0 += (units / self.unit - 1.0).max(0.0) * UNIT_BYTES;
            self.pages.1 += items;
        }
    }

    fn free(&self) -> Option<f64> {
        self.units_max.map(|most| most - self.spent - self.reserved)
    }

    fn affordable(&self, price: Price, items: u32, free: f64, waiting: usize) -> Option<u32> {
        #[expect(clippy::cast_precision_loss, reason = "at most as many as accesses")]
        let share = free / waiting.max(1) as f64;
        let (mut most, mut too_many) = (0, items.max(1) + 1);
        while too_many - most > 1 {
            let middle = most + (too_many - most) / 2;
            if self.cost(price, middle) <= share {
                most = middle;
            } else {
                too_many = middle;
            }
        }
        match most {
            0 => (self.cost(price, 1) <= free).then_some(1),
            most => Some(most),
        }
    }

    /// How many items of any size can be read without exceeding the cap by more than a page. `None`: the read must wait
    /// for one in flight.
    fn bounded(&self, price: Price, items: u32) -> Option<u32> {
        let room = self.units_max? + self.page() - self.spent - self.under_way;
        if self.most(price, items) <= room {
            return Some(items);
        }
        // Waiting is better than reading few items concurrently.
        if self.under_way > 0.0 {
            return None;
        }
        let fits = |items: &u32| self.most(price, *items) <= room;
        Some((1..items).rev().find(fits).unwrap_or(1))
    }

    /// The cost of the largest page.
    fn page(&self) -> f64 {
        self.unit * (QUERY_PAGE_BYTES_MAX as f64 / UNIT_BYTES)
    }

    /// The maximum cost of a read: for items of DynamoDB's maximum size.
    fn most(&self, price: Price, items: u32) -> f64 {
        let items = f64::from(items) * self.unit * (ITEM_BYTES_MAX as f64 / UNIT_BYTES);
        match price {
            Price::Page => items.min(self.page()),
            Price::PageAndItems => items.min(self.page()) + items,
            Price::Items => items,
        }
    }

    fn cost(&self, price: Price, items: u32) -> f64 {
        let seen = if self.pages.1 > 0.0 { self.pages.0 / self.pages.1 } else { 0.0 };
        let item_bytes = self.item_bytes.max(seen);
        let items = f64::from(items);
        let page = ((items * item_bytes).min(QUERY_PAGE_BYTES_MAX as f64) / UNIT_BYTES).ceil().max(1.0);
        let single = items * (item_bytes / UNIT_BYTES).ceil().max(1.0);
        self.unit
            * match price {
                Price::Page => page,
                Price::PageAndItems => page + single,
                Price::Items => single,
            }
    }
}

/// Default number of reads in flight.
pub const CONCURRENCY_DEFAULT: usize = 8;

/// The bounds of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// Maximum number of reads in flight; at least one.
    pub concurrency_max: usize,
    /// Maximum read units of this execution. The size of items is known only afterwards, so the execution can exceed it
    /// by at most one page of 1 MB: near the limit, reads wait for each other.
    pub read_units_max: Option<f64>,
    /// Maximum items in one call; at most [`PAGE_ITEMS_MAX`].
    pub page_items_max: u32,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            concurrency_max: CONCURRENCY_DEFAULT,
            read_units_max: None,
            page_items_max: PAGE_ITEMS_MAX,
        }
    }
}
