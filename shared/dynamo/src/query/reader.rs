//! One access, ready to be sent: its expressions, its key, and what is asked of each entry.

use std::borrow::Cow;
use std::collections::BTreeMap;

use aws_sdk_dynamodb::Client;
use keyfold_core::condition::Condition;
use keyfold_core::model::Table;
use keyfold_core::query::QueryPlan;
use keyfold_core::query::expression::{Expressions, expressions};
use keyfold_core::query::plan::{Access, Hydration, Operation, ReadFrom, SortTest};
use keyfold_core::retrofit::mapping::TOMBSTONE_ATTRIBUTE;
use keyfold_core::value::Item;

use super::budget::Price;
use super::error::QueryError;
use super::own;
use super::shape::Shape;
use crate::backoff::pause;
use crate::error::DynamoError;
use crate::read::{BatchGet, Fetch, Page, PageRequest, QueryPage, ScanPage, query_from, scan_from};

/// How many times a page is asked for, beyond the SDK's own attempts, while DynamoDB throttles or cannot be reached.
pub const READ_ATTEMPTS_MAX: u32 = 5;

/// One access, ready to be sent.
pub(super) struct Reader<'p> {
    /// The plan's access, made to leave tombstones out.
    pub(super) access: Cow<'p, Access>,
    table: &'p Table,
    pub(super) shape: Shape,
    /// Does every entry that is read come to the answer, as far as the plan can tell? Tombstones are few, and not counted on.
    pub(super) gives_all: bool,
    /// Can the access find one item at most? It asks for all of a primary key.
    pub(super) is_of_one_item: bool,
    ask: Ask,
    /// What is read by primary key, without the keys; nothing where no item is.
    pub(super) get: BatchGet,
}

enum Ask {
    Query(QueryPage),
    Scan(ScanPage),
}

impl<'p> Reader<'p> {
    pub(super) fn new(
        table: &'p Table,
        plan: &'p QueryPlan,
        access: &'p Access,
    ) -> Result<Reader<'p>, QueryError> {
        let shape = Shape::of(table, &access.source)?;
        let gives_all =
            access.filter.is_always() && (access.recheck.is_always() || access.hydration != Hydration::None);
        let access = own::without_tombstones(table, access);
        let wanted = wanted(table, plan, &access, &shape);
        let sent = match access.hydration {
            Hydration::None => wanted.as_deref(),
            // The entry is only where the item's key is found.
            Hydration::ByKey => Some(shape.names()),
            // Through a projection, DynamoDB would give only what the index holds.
            Hydration::Fetched => None,
        };
        let only_number = counts_by_number(plan, &access);
        let mut sent = expressions(&access, if only_number { None } else { sent });
        let fetch = match sent.projection.take() {
            _ if only_number => Fetch::Count,
            Some(projection) => Fetch::Expression(projection),
            None if access.hydration == Hydration::Fetched => Fetch::All,
            None => Fetch::Projected,
        };
        let get = match access.hydration {
            Hydration::ByKey => batch_get(plan, wanted.as_deref()),
            Hydration::None | Hydration::Fetched => BatchGet::default(),
        };
        let is_of_one_item = asks_for_one_item(table, &access);
        let ask = Ask::new(plan, &access, sent, fetch);
        Ok(Reader { access, table, shape, gives_all, is_of_one_item, ask, get })
    }

    pub(super) fn price(&self) -> Price {
        match self.access.hydration {
            Hydration::Fetched => Price::PageAndItems,
            Hydration::None | Hydration::ByKey => Price::Page,
        }
    }

    /// The item with the attributes that stand only in its keys.
    pub(super) fn whole(&self, item: Item) -> Item {
        match self.table.has_key_parts() {
            true => self.table.with_key_parts(&item).into_owned(),
            false => item,
        }
    }

    /// Does an item that has all its attributes match? A tombstone is no item.
    pub(super) fn accepts(&self, item: &Item) -> bool {
        let matches = self.access.recheck.is_always() || self.access.recheck.holds(item);
        matches && !item.contains_key(TOMBSTONE_ATTRIBUTE)
    }

    /// Reads a page, waiting and asking again while that can help. Also says how many calls that took.
    pub(super) async fn page(
        &self,
        client: &Client,
        start: Option<&Item>,
        items: u32,
    ) -> Result<(Page, u32), DynamoError> {
        for attempt in 1.. {
            let page = match &self.ask {
                Ask::Query(query) => query_from(client, query, start, Some(items)).await,
                Ask::Scan(scan) => scan_from(client, scan, start, Some(items)).await,
            };
            match page {
                Err(error) if error.is_retryable() && attempt < READ_ATTEMPTS_MAX => pause(attempt - 1).await,
                page => {
                    return page.map(|mut page| {
                        page.items = page.items.into_iter().map(|item| self.whole(item)).collect();
                        (page, attempt)
                    });
                }
            }
        }
        unreachable!("the last attempt returns")
    }
}

impl Ask {
    fn new(plan: &QueryPlan, access: &Access, sent: Expressions, fetch: Fetch) -> Ask {
        let page = PageRequest {
            table: plan.table_name.clone(),
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
            Operation::Query { .. } => Ask::Query(QueryPage {
                page,
                key_condition: sent.key_condition.unwrap_or_default(),
                forward: !access.descending,
            }),
            Operation::Scan => Ask::Scan(ScanPage { page, segment: None }),
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

/// Is DynamoDB's number of entries the number of items? Not where each must be looked at, or could come twice.
fn counts_by_number(plan: &QueryPlan, access: &Access) -> bool {
    let one_source = plan.accesses.iter().all(|other| other.source == access.source);
    plan.count && one_source && access.recheck.is_always() && access.hydration == Hydration::None
}

/// The attributes that an item needs: those shown, ordered by or checked, and its keys. `None`: all.
fn wanted(table: &Table, plan: &QueryPlan, access: &Access, shape: &Shape) -> Option<Vec<String>> {
    let shown: &[String] = if plan.count { &[] } else { plan.select.as_deref()? };
    let mut names: Vec<String> = Vec::with_capacity(shown.len() + shape.names().len());
    let mut add = |name: &str| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        // What is read from a key comes with the key.
        for source in table.key_part_sources(name) {
            if !names.iter().any(|known| known == source) {
                names.push(source.to_owned());
            }
        }
    };
    shown.iter().for_each(|name| add(name));
    if !plan.count {
        plan.order.iter().for_each(|by| add(&by.attribute));
    }
    Condition::each(&access.recheck, &mut |path, _| add(path.root()));
    shape.names().iter().for_each(|name| add(name));
    // What is read behind an entry can have become a tombstone since.
    if access.hydration == Hydration::ByKey {
        add(TOMBSTONE_ATTRIBUTE);
    }
    Some(names)
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
        table: plan.table_name.clone(),
        keys: Vec::new(),
        projection,
        names,
        consistent: plan.consistent,
    }
}
