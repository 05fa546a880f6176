//! One access, ready to send: its expressions, its key, and the checks of its entries.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::budget::Price;
use super::error::AnswerError;
use super::page::{BatchGet, BatchItems, Fetch, Page, PageRequest, QueryPage, ScanPage};
use super::shape::Shape;
use crate::attribute::TOMBSTONE_ATTRIBUTE;
use crate::condition::Condition;
use crate::model::Table;
use crate::query::expression::expressions;
use crate::query::plan::{Access, Delivery, Hydration, Operation, ReadFrom, SortTest};
use crate::query::{QueryPlan, own};
use crate::value::Item;

/// One access, ready to be sent.
#[derive(Debug)]
pub(super) struct Reader {
    /// The plan's access, with tombstones excluded.
    pub(super) access: Access,
    pub(super) shape: Shape,
    /// Does the plan expect every entry to be in the answer? Tombstones are rare and ignored here.
    pub(super) gives_all: bool,
    /// Can the access find at most one item? Its key condition is a complete primary key.
    pub(super) is_of_one_item: bool,
    pub(super) asked: Arc<PageSource>,
    /// The read by primary key, without keys; empty unless items are read separately.
    pub(super) get: BatchGet,
}

/// The page source of an access; each request adds a start key and a limit.
#[derive(Debug, Clone, PartialEq)]
pub enum PageSource {
    /// A key range.
    Query(QueryPage),
    /// Everything.
    Scan(ScanPage),
}

impl Reader {
    pub(super) fn new(table: &Table, plan: &QueryPlan, access: &Access) -> Result<Reader, AnswerError> {
        let shape = Shape::of(table, &access.source)?;
        let gives_all =
            access.filter.is_always() && (access.recheck.is_always() || access.hydration != Hydration::None);
        let access = own::without_tombstones(table, access).into_owned();
        let wanted = wanted(table, plan, &access, &shape);
        let asked = Arc::new(PageSource::new(plan, &access, &shape, wanted.as_deref()));
        let get = match access.hydration {
            Hydration::ByKey => batch_get(plan, wanted.as_deref()),
            Hydration::None | Hydration::Fetched => BatchGet::default(),
        };
        let is_of_one_item = asks_for_one_item(table, &access);
        Ok(Reader { access, shape, gives_all, is_of_one_item, asked, get })
    }

    pub(super) fn price(&self) -> Price {
        match self.access.hydration {
            Hydration::Fetched => Price::PageAndItems,
            Hydration::None | Hydration::ByKey => Price::Page,
        }
    }

    /// The attributes that the execution needs of this access. `None`: all, because some are read from others.
    pub(super) fn looks_at(&self, table: &Table, plan: &QueryPlan) -> Option<Vec<String>> {
        if table.has_key_parts() {
            return None;
        }
        let mut names = with_looked_at(table, plan, &self.access, &self.shape, &[]);
        if !names.iter().any(|name| name == TOMBSTONE_ATTRIBUTE) {
            names.push(TOMBSTONE_ATTRIBUTE.to_owned());
        }
        Some(names)
    }

    /// Does an item with all its attributes match? A tombstone never does.
    pub(super) fn accepts(&self, item: &Item) -> bool {
        let matches = self.access.recheck.is_always() || self.access.recheck.holds(item);
        matches && !own::is_tombstone(item)
    }
}

impl PageSource {
    /// The page source of a plan's access.
    pub(super) fn of(table: &Table, plan: &QueryPlan, access: &Access) -> Result<PageSource, AnswerError> {
        let shape = Shape::of(table, &access.source)?;
        let access = own::without_tombstones(table, access);
        let wanted = wanted(table, plan, &access, &shape);
        Ok(PageSource::new(plan, &access, &shape, wanted.as_deref()))
    }

    /// `access`: with tombstones excluded. `wanted`: the attributes to read of an item; `None`: all.
    fn new(plan: &QueryPlan, access: &Access, shape: &Shape, wanted: Option<&[String]>) -> PageSource {
        let sent = match access.hydration {
            Hydration::None => wanted,
            // The entry is read only for the item's key.
            Hydration::ByKey => Some(shape.names()),
            // With a projection expression DynamoDB would return only the attributes in the index.
            Hydration::Fetched => None,
        };
        let only_number = counts_by_number(plan, access);
        let sent = expressions(access, if only_number { None } else { sent });
        let fetch = match sent.projection {
            _ if only_number => Fetch::Count,
            Some(projection) => Fetch::Expression(projection),
            None if access.hydration == Hydration::Fetched => Fetch::All,
            None => Fetch::Projected,
        };
        let page = PageRequest {
            table: plan.table_name.to_string(),
            index: access.source.index().map(str::to_owned),
            filter: sent.filter,
            names: sent.names,
            values: sent.values,
            fetch,
            limit: None,
            consistent: plan.consistent,
            start_key: None,
        };
        match access.operation {
            Operation::Query { .. } => PageSource::Query(QueryPage {
                page,
                key_condition: sent.key_condition.unwrap_or_default(),
                forward: !access.descending,
            }),
            Operation::Scan => PageSource::Scan(ScanPage { page, segment: None }),
        }
    }
}

fn asks_for_one_item(table: &Table, access: &Access) -> bool {
    let Operation::Query { sort, .. } = &access.operation else { return false };
    let whole_key = match (&table.sort, sort.as_slice()) {
        (None, _) => true,
        (Some(_), [condition]) => matches!(condition.test, SortTest::Equal(_)),
        (Some(_), _) => false,
    };
    access.source == ReadFrom::Table && whole_key
}

/// Is the number of entries the number of items? Not if entries must be checked or can appear twice.
fn counts_by_number(plan: &QueryPlan, access: &Access) -> bool {
    let one_source = plan.accesses.iter().all(|other| other.source == access.source);
    plan.count && one_source && access.recheck.is_always() && access.hydration == Hydration::None
}

/// The attributes to read of an item: selected ones and checked ones. `None`: all.
fn wanted(table: &Table, plan: &QueryPlan, access: &Access, shape: &Shape) -> Option<Vec<String>> {
    let shown: &[String] = if plan.count { &[] } else { plan.select.as_deref()? };
    Some(with_looked_at(table, plan, access, shape, shown))
}

/// These attributes, and those for the order, the checks and the keys.
fn with_looked_at(
    table: &Table,
    plan: &QueryPlan,
    access: &Access,
    shape: &Shape,
    shown: &[String],
) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(shown.len() + shape.names().len());
    let mut add = |name: &str| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        // An attribute read from a key needs the key.
        for source in table.key_part_sources(name) {
            if !names.iter().any(|known| known == source) {
                names.push(source.to_owned());
            }
        }
    };
    shown.iter().for_each(|name| add(name));
    // Items are compared only where several accesses are merged or sorted.
    if !plan.count && plan.delivery != Delivery::Sequential {
        plan.order.iter().for_each(|by| add(&by.attribute));
    }
    Condition::each(&access.recheck, &mut |path, _| add(&path.root));
    shape.names().iter().for_each(|name| add(name));
    // An item read after its entry can have become a tombstone.
    if access.hydration == Hydration::ByKey {
        add(TOMBSTONE_ATTRIBUTE);
    }
    names
}

fn batch_get(plan: &QueryPlan, wanted: Option<&[String]>) -> BatchGet {
    let mut names = BTreeMap::new();
    let projection = wanted.map(|wanted| {
        let holders = wanted.iter().enumerate().map(|(number, name)| {
            let holder = format!("#n{number}");
            names.insert(holder.clone(), name.clone());
            holder
        });
        holders.collect::<Vec<_>>().join(", ")
    });
    BatchGet {
        table: plan.table_name.to_string(),
        keys: Vec::new(),
        projection,
        names,
        consistent: plan.consistent,
    }
}

/// A request of an execution.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadRequest {
    /// The number of its access. An access has at most one request in flight.
    pub access: usize,
    /// The read.
    pub read: Read,
}

/// A read.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    /// A page.
    Page {
        /// Where from, and how.
        source: Arc<PageSource>,
        /// After this key; from the beginning if absent.
        start: Option<Item>,
        /// Maximum items to read, before the filter.
        items: u32,
    },
    /// All items with these keys, in as many calls as necessary.
    Items(BatchGet),
}

/// The response to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadResponse {
    /// A page.
    Page {
        /// The page.
        page: Page,
        /// How many calls it took.
        calls: u32,
    },
    /// Items by their keys.
    Items(BatchItems),
}
