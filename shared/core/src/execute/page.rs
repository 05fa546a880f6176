//! The unit of one call: a page of a query or a scan, or a batch of items by their keys.

use std::collections::BTreeMap;

use crate::value::{AttributeValue, Item};

/// Maximum items of one page. Every page has a limit, because DynamoDB's own, 1 MB, can be many thousands of small
/// items.
pub const PAGE_ITEMS_MAX: u32 = 1000;

/// A request for a page. Expressions are in DynamoDB's form, with placeholders.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PageRequest {
    /// The table's name in DynamoDB.
    pub table: String,
    /// The index; `None` for the table itself.
    pub index: Option<String>,
    /// The filter expression.
    pub filter: Option<String>,
    /// The placeholders for names, of all expressions: `#a` -> `action`.
    pub names: BTreeMap<String, String>,
    /// The placeholders for values: `:a` -> `viewed`.
    pub values: BTreeMap<String, AttributeValue>,
    /// The requested attributes.
    pub fetch: Fetch,
    /// Maximum items to read, before the filter; [`PAGE_ITEMS_MAX`] at most and by default.
    pub limit: Option<u32>,
    /// Strongly consistent? Never from a global index.
    pub consistent: bool,
    /// The [`Page::last_key`] of the page before.
    pub start_key: Option<Item>,
}

/// The requested attributes of each item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Fetch {
    /// The attributes in the index; all attributes of a table.
    #[default]
    Projected,
    /// All attributes. A local index fetches missing ones from the table, at the cost of a read for each item; a global
    /// index cannot.
    All,
    /// This projection expression. For a local index only projected attributes; otherwise use [`Fetch::All`].
    Expression(String),
    /// Only the number of items.
    Count,
}

/// The result of one call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// The items, in the order of the index. None if only the count was wanted.
    pub items: Vec<Item>,
    /// The number of items that passed the filter.
    pub count: u64,
    /// The number of items read.
    pub scanned: u64,
    /// The start key of the next page; `None` at the end.
    pub last_key: Option<Item>,
    /// The read units it cost.
    pub consumed: Consumed,
}

/// A page of a Query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPage {
    /// Where and how.
    pub page: PageRequest,
    /// The key condition expression.
    pub key_condition: String,
    /// Ascending?
    pub forward: bool,
}

/// A page of a Scan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScanPage {
    /// Where and how.
    pub page: PageRequest,
    /// The segment; `None` for everything.
    pub segment: Option<Segment>,
}

/// A segment of a parallel scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its number, from 0.
    pub number: u32,
    /// How many there are.
    pub total: u32,
}

/// Maximum keys in one DynamoDB batch.
pub const BATCH_GET_KEYS_MAX: usize = 100;

/// A batch of items to read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BatchGet {
    /// The table's name in DynamoDB.
    pub table: String,
    /// The primary keys, at most [`BATCH_GET_KEYS_MAX`], each once.
    pub keys: Vec<Item>,
    /// The projection expression; `None` for everything.
    pub projection: Option<String>,
    /// The placeholders for names in it.
    pub names: BTreeMap<String, String>,
    /// Strongly consistent?
    pub consistent: bool,
}

/// The result of a batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BatchItems {
    /// The items that exist, in no order.
    pub items: Vec<Item>,
    /// The read units it cost.
    pub consumed: Consumed,
}

/// Consumed capacity units: read units of a read, write units of a write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Consumed {
    /// All of it.
    pub units: f64,
    /// The table's share.
    pub table_units: f64,
    /// The share of each affected index, by its name.
    pub index_units: BTreeMap<String, f64>,
}

impl Consumed {
    /// Adds the cost of another call.
    pub fn add(&mut self, other: &Consumed) {
        self.units += other.units;
        self.table_units += other.table_units;
        for (index, units) in &other.index_units {
            match self.index_units.get_mut(index) {
                Some(sum) => *sum += units,
                None => _ = self.index_units.insert(index.clone(), *units),
            }
        }
    }
}
