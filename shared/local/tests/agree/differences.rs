//! Where the embedded DynamoDB (dynoxide-rs 3.2.0) differs from DynamoDB, as far as these operations meet it. Each has a
//! name, and is counted where it is met. The model table does as DynamoDB documents.
//!
//! One more is not met by random operations, whose items are small (see the test of large items): *page-end*. A page of 1 MB
//! ends before the item that passes the limit, and counts that item as scanned; DynamoDB's page ends with it.

use std::collections::BTreeMap;

use keyfold_core::model::{IndexKind, Projection, Table};
use keyfold_core::query::plan::{self, SortTest};
use keyfold_core::value::AttributeValue;
use keyfold_testkit::operation::{Operation, OperationResult, Reading, normalised, text};
use keyfold_testkit::table::{Page as ModelPage, ReadConsumed, Shown};

/// A known difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Difference {
    /// A query of a local index that fetches: the sizes are added before they are rounded up.
    FetchPrice,
    /// An update that makes an item returns its key as the item before, where there was none.
    UpdateReturnsKey,
    /// A key condition with an empty value is taken.
    EmptyBound,
    /// A scan of a local index does not fetch attributes that the index lacks.
    ScanFetchesNothing,
    /// A query of a table without a sort key restarts at its start key, so its pages never end.
    QueryRestarts,
    /// An update that is invalid (a change of the primary key, an empty index key), and whose condition fails too,
    /// fails on its condition. DynamoDB does not document which check comes first.
    ConditionFirst,
}

impl Difference {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Difference::FetchPrice => {
                "fetch-price: items fetched behind a local index are not rounded up one by one"
            }
            Difference::EmptyBound => "empty-bound: a key condition with an empty value is not refused",
            Difference::ScanFetchesNothing => {
                "scan-fetches-nothing: a scan of a local index shows only what that holds"
            }
            Difference::QueryRestarts => {
                "query-restarts: the start key of a query is ignored where there is no sort key"
            }
            Difference::ConditionFirst => {
                "condition-first: the condition of an update is looked at before its changes"
            }
            Difference::UpdateReturnsKey => {
                "update-returns-key: ALL_OLD of an update that makes an item is its key, and should be absent"
            }
        }
    }

    /// Is the operation not even sent?
    pub(crate) fn before(table: &Table, operation: &Operation) -> Option<Difference> {
        let Operation::Read(reading) = operation else { return None };
        match reading.operation {
            plan::Operation::Scan => fetches(table, reading).then_some(Difference::ScanFetchesNothing),
            plan::Operation::Query { .. } => {
                let unsorted = reading.index.is_none() && table.sort.is_none();
                (unsorted && reading.limit == 1).then_some(Difference::QueryRestarts)
            }
        }
    }

    /// Do the results differ only in a known way?
    pub(crate) fn after(
        table: &Table,
        operation: &Operation,
        expected: &OperationResult,
        found: &OperationResult,
    ) -> Option<Difference> {
        match (operation, expected, found) {
            (Operation::Read(reading), OperationResult::Pages(expected), OperationResult::Pages(found)) => {
                let rest = |pages: &[ModelPage]| -> Vec<ModelPage> {
                    pages
                        .iter()
                        .map(|page| ModelPage { consumed: ReadConsumed::default(), ..page.clone() })
                        .collect()
                };
                let priced = fetches(table, reading) && expected != found;
                (priced && rest(expected) == rest(found)).then_some(Difference::FetchPrice)
            }
            (
                Operation::Update { key, .. },
                OperationResult::Written(None, units),
                OperationResult::Written(Some(old), found),
            ) => (normalised(key) == *old && units == found).then_some(Difference::UpdateReturnsKey),
            (Operation::Update { .. }, OperationResult::Refused, OperationResult::ConditionFailed(_)) => {
                Some(Difference::ConditionFirst)
            }
            (Operation::Read(reading), OperationResult::Refused, OperationResult::Pages(_)) => {
                has_empty_bound(reading).then_some(Difference::EmptyBound)
            }
            _ => None,
        }
    }
}

fn has_empty_bound(reading: &Reading) -> bool {
    let plan::Operation::Query { partition, sort } = &reading.operation else { return false };
    let is_empty = |value: &AttributeValue| {
        matches!(value, AttributeValue::S(text) if text.is_empty())
            || matches!(value, AttributeValue::B(bytes) if bytes.is_empty())
    };
    partition.iter().any(|equal| is_empty(&equal.value))
        || sort.iter().any(|condition| match &condition.test {
            SortTest::Between(low, high) => is_empty(low) || is_empty(high),
            SortTest::Equal(value)
            | SortTest::BeginsWith(value)
            | SortTest::AtLeast(value)
            | SortTest::Above(value)
            | SortTest::AtMost(value)
            | SortTest::Below(value) => is_empty(value),
        })
}

fn fetches(table: &Table, reading: &Reading) -> bool {
    reading.shown == Shown::All
        && reading
            .index
            .as_deref()
            .and_then(|name| table.index(name))
            .is_some_and(|index| index.kind == IndexKind::Local && index.projection != Projection::All)
}

/// DynamoDB promises no order of a scan.
pub(crate) fn order_is_open(_table: &Table, reading: &Reading) -> bool {
    matches!(reading.operation, plan::Operation::Scan)
}

/// The same items, counts and capacity in all; the pages may have been cut elsewhere.
pub(crate) fn same_unordered(_table: &Table, a: &[ModelPage], b: &[ModelPage]) -> bool {
    let items = |pages: &[ModelPage]| {
        let mut all: BTreeMap<String, usize> = BTreeMap::new();
        for item in pages.iter().flat_map(|page| &page.items) {
            *all.entry(text(item)).or_default() += 1;
        }
        all
    };
    let count = |pages: &[ModelPage]| pages.iter().map(|page| page.count).sum::<usize>();
    let scanned = |pages: &[ModelPage]| pages.iter().map(|page| page.scanned).sum::<usize>();
    items(a) == items(b) && count(a) == count(b) && scanned(a) == scanned(b)
}

/// The items of all pages, in their order.
pub(crate) fn all_items(pages: &[ModelPage]) -> Vec<String> {
    pages.iter().flat_map(|page| &page.items).map(text).collect()
}
