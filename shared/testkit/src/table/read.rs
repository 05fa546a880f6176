//! Reads: one page of a query or a scan.

use keyfold_core::cost::QUERY_PAGE_BYTES_MAX;
use keyfold_core::index::item_bytes;
use keyfold_core::model::IndexKind;
use keyfold_core::query::Condition;
use keyfold_core::query::plan::{Operation, SortTest};
use keyfold_core::value::{AttributeValue, Item};

use super::ModelTable;
use super::capacity::ReadConsumed;
use super::error::TableError;
use super::position::{KeyShape, KeyValue, Position};
use super::store::{Store, walk};

/// A request for a page.
#[derive(Debug, Clone)]
pub struct Read<'r> {
    /// The index; `None` for the table.
    pub index: Option<&'r str>,
    /// Query or scan.
    pub operation: &'r Operation,
    /// The filter, applied after the limit.
    pub filter: &'r Condition,
    /// The returned attributes.
    pub shown: Shown,
    /// Strongly consistent?
    pub consistent: bool,
    /// Largest sort keys first?
    pub descending: bool,
    /// Maximum items to read, before the filter.
    pub limit: Option<u32>,
    /// Where the page before ended.
    pub start: Option<&'r Item>,
}

/// The returned attributes of each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The attributes in the table or the index.
    Held,
    /// All attributes: a local index fetches missing ones.
    All,
    /// Only their number.
    Count,
}

/// A page.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The items that passed the filter.
    pub items: Vec<Item>,
    /// How many passed.
    pub count: usize,
    /// How many were read.
    pub scanned: usize,
    /// The key to continue from; `None` at the end.
    pub last_key: Option<Item>,
    /// The consumption.
    pub consumed: ReadConsumed,
}

impl ModelTable {
    /// Reads one page: up to the limit, or up to 1 MB.
    pub fn read(&self, read: &Read<'_>) -> Result<Page, TableError> {
        self.check_read(read)?;
        let (shape, store) = self.place(read.index)?;
        let start = read.start.map(|key| start_position(shape, key)).transpose()?;
        let partition = partition_of(shape, read.operation);
        let fetches = read.shown == Shown::All && self.lacks(read.index);
        let mut reached = Reached::default();
        for (_, entry) in walk(store, partition.as_deref(), start.as_ref(), read.descending)
            .filter(|(_, entry)| key_holds(read.operation, entry))
        {
            let fetched =
                if fetches { self.position_of(entry).ok().and_then(|at| self.items.get(&at)) } else { None };
            reached.add(entry, fetched);
            if read.filter.holds(entry) {
                reached.passed.push(fetched.unwrap_or(entry).clone());
            }
            if reached.is_full(read.limit) {
                reached.last_key = Some(shape.start_key(entry));
                break;
            }
        }
        Ok(reached.page(read, fetches))
    }

    pub(super) fn place(&self, index: Option<&str>) -> Result<(&KeyShape, &Store), TableError> {
        let Some(name) = index else { return Ok((&self.shape, &self.items)) };
        let at = self.table.indexes.iter().position(|index| index.name == name);
        let at = at.ok_or_else(|| TableError::UnknownIndex { index: name.to_owned() })?;
        Ok((&self.indexes[at].shape, &self.indexes[at].entries))
    }

    /// Is this a local index that does not hold everything?
    fn lacks(&self, index: Option<&str>) -> bool {
        index.and_then(|name| self.table.index(name)).is_some_and(|index| {
            index.kind == IndexKind::Local && index.projection != keyfold_core::model::Projection::All
        })
    }
}

/// The part of a page read so far.
#[derive(Default)]
struct Reached {
    passed: Vec<Item>,
    entries: Vec<u64>,
    fetched: Vec<u64>,
    bytes: u64,
    last_key: Option<Item>,
}

impl Reached {
    fn add(&mut self, entry: &Item, fetched: Option<&Item>) {
        let (entry, fetched) = (item_bytes(entry), fetched.map(item_bytes));
        self.entries.push(entry);
        self.fetched.extend(fetched);
        self.bytes += entry + fetched.unwrap_or(0);
    }

    fn is_full(&self, limit: Option<u32>) -> bool {
        limit.is_some_and(|limit| self.entries.len() >= limit as usize) || self.bytes >= QUERY_PAGE_BYTES_MAX
    }

    fn page(self, read: &Read<'_>, fetches: bool) -> Page {
        let consumed = match (fetches, read.index) {
            (true, Some(index)) => {
                ReadConsumed::fetched(index, &self.entries, &self.fetched, read.consistent)
            }
            _ => ReadConsumed::page(read.index, &self.entries, read.consistent),
        };
        let (count, scanned) = (self.passed.len(), self.entries.len());
        let items = if read.shown == Shown::Count { Vec::new() } else { self.passed };
        Page { items, count, scanned, last_key: self.last_key, consumed }
    }
}

fn partition_of(shape: &KeyShape, operation: &Operation) -> Option<Vec<KeyValue>> {
    let Operation::Query { partition, .. } = operation else { return None };
    let value = |key: &keyfold_core::model::KeyAttribute| {
        let given = partition.iter().find(|equal| equal.attribute == key.name)?;
        KeyValue::of(key, &given.value)
    };
    shape.partition.iter().map(value).collect()
}

/// The start position: DynamoDB requires exactly the key's attributes, and continues there even if no item has this
/// key.
fn start_position(shape: &KeyShape, key: &Item) -> Result<Position, TableError> {
    let names: std::collections::BTreeSet<&str> = shape.all().map(|key| key.name.as_str()).collect();
    if key.len() != names.len() {
        return Err(TableError::StartKey);
    }
    shape.position(key).ok_or(TableError::StartKey)
}

/// Does this item fulfil the key condition? A scan has none.
pub(crate) fn key_holds(operation: &Operation, item: &Item) -> bool {
    let Operation::Query { partition, sort } = operation else { return true };
    let same = |equal: &keyfold_core::query::plan::KeyEqual| {
        item.get(equal.attribute.as_str())
            .is_some_and(|value| keyfold_core::value::equal(value, &equal.value))
    };
    partition.iter().all(same)
        && sort.iter().all(|condition| {
            item.get(condition.attribute.as_str()).is_some_and(|value| sort_holds(&condition.test, value))
        })
}

fn sort_holds(test: &SortTest, value: &AttributeValue) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = |bound: &AttributeValue| keyfold_core::value::compare(value, bound);
    match test {
        SortTest::Equal(wanted) => order(wanted) == Some(Equal),
        SortTest::AtLeast(bound) => matches!(order(bound), Some(Greater | Equal)),
        SortTest::Above(bound) => order(bound) == Some(Greater),
        SortTest::AtMost(bound) => matches!(order(bound), Some(Less | Equal)),
        SortTest::Below(bound) => order(bound) == Some(Less),
        SortTest::Between(low, high) => {
            matches!(order(low), Some(Greater | Equal)) && matches!(order(high), Some(Less | Equal))
        }
        SortTest::BeginsWith(prefix) => match (value, prefix) {
            (AttributeValue::S(text), AttributeValue::S(prefix)) => text.starts_with(prefix.as_str()),
            (AttributeValue::B(bytes), AttributeValue::B(prefix)) => bytes.starts_with(prefix),
            _ => false,
        },
    }
}
