//! Handwritten plans, and their execution.

use keyfold_core::condition::{Comparison, Condition, Path};
use keyfold_core::model::OrderBy;
use keyfold_core::query::QueryPlan;
use keyfold_core::query::plan::{
    Access, Delivery, Hydration, KeyEqual, Operation, ReadFrom, SortCondition, SortTest,
};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Answer, Client, RunOptions, run};

use crate::views;

pub(crate) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(crate) fn number(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn is(attribute: &str, comparison: Comparison) -> Condition {
    Condition::Is(Path::attribute(attribute), comparison)
}

pub(crate) fn equals(attribute: &str, value: AttributeValue) -> Condition {
    is(attribute, Comparison::Equal(value))
}

/// A query of a whole partition.
pub(crate) fn query(source: ReadFrom, partition: &[(&str, AttributeValue)]) -> Access {
    let equal = |(attribute, value): &(&str, AttributeValue)| KeyEqual {
        attribute: (*attribute).into(),
        value: value.clone(),
    };
    let partition = partition.iter().map(equal).collect();
    access(source, Operation::Query { partition, sort: Vec::new() })
}

/// A scan.
pub(crate) fn scan(source: ReadFrom) -> Access {
    access(source, Operation::Scan)
}

fn access(source: ReadFrom, operation: Operation) -> Access {
    let (filter, recheck) = (Condition::always(), Condition::always());
    Access { source, operation, filter, recheck, hydration: Hydration::None, descending: false }
}

/// The views of one user.
pub(crate) fn of_user(user: usize) -> Access {
    query(ReadFrom::Table, &[("user", text(&format!("user{user}")))])
}

pub(crate) fn global(index: &str) -> ReadFrom {
    ReadFrom::Global(index.into())
}

pub(crate) fn by_score(user: usize) -> Access {
    let source = ReadFrom::Local("byScore".into());
    Access { source, hydration: Hydration::Fetched, ..of_user(user) }
}

/// The views of one kind, in the order of their scores; the items are read apart.
pub(crate) fn by_kind_score(kind: &str) -> Access {
    let access = query(global("byKindScore"), &[("kind", text(kind))]);
    Access { hydration: Hydration::ByKey, recheck: equals("kind", text(kind)), ..access }
}

/// Narrows a query by its sort key.
pub(crate) fn narrowed(mut access: Access, attribute: &str, test: SortTest) -> Access {
    if let Operation::Query { sort, .. } = &mut access.operation {
        sort.push(SortCondition { attribute: attribute.into(), test });
    }
    access
}

pub(crate) fn ascending(attribute: &str) -> Vec<OrderBy> {
    vec![OrderBy { attribute: attribute.to_owned(), descending: false }]
}

pub(crate) fn descending(attribute: &str) -> Vec<OrderBy> {
    vec![OrderBy { attribute: attribute.to_owned(), descending: true }]
}

/// A plan for the table `views`.
pub(crate) fn plan(accesses: Vec<Access>, delivery: Delivery, order: Vec<OrderBy>, limit: u32) -> QueryPlan {
    let table = views::table();
    QueryPlan {
        table: table.id.into(),
        table_name: table.name.into(),
        accesses,
        delivery,
        order,
        limit,
        select: None,
        count: false,
        consistent: false,
        hides_cost: false,
        estimated_units: 0.0,
        rejected: Vec::new(),
    }
}

/// The first page.
pub(crate) async fn first(client: &Client, plan: &QueryPlan) -> Answer {
    run(client, &views::table(), plan, None, &RunOptions::default()).await.unwrap()
}

/// All pages, one after the other. Their number is bounded, so a position that does not advance is detected.
pub(crate) async fn pages(client: &Client, plan: &QueryPlan, options: &RunOptions) -> Vec<Answer> {
    let mut pages: Vec<Answer> = Vec::new();
    loop {
        let from = pages.last().and_then(|page| page.next.as_ref());
        let page = run(client, &views::table(), plan, from, options).await.unwrap();
        assert!(page.items.len() <= plan.limit as usize, "a page is longer than the limit");
        let is_last = page.next.is_none();
        pages.push(page);
        if is_last {
            return pages;
        }
        assert!(pages.len() < 3000, "the pages do not end");
    }
}

/// The items of all pages.
pub(crate) async fn whole(client: &Client, plan: &QueryPlan, options: &RunOptions) -> Vec<Item> {
    pages(client, plan, options).await.into_iter().flat_map(|page| page.items).collect()
}

/// The identity of items of `views`, for comparisons and messages.
pub(crate) fn ats(items: &[Item]) -> Vec<i64> {
    numbers(items, "at")
}

pub(crate) fn numbers(items: &[Item], attribute: &str) -> Vec<i64> {
    let one = |item: &Item| match item.get(attribute) {
        Some(AttributeValue::N(number)) => number.parse().unwrap(),
        other => panic!("`{attribute}` is {other:?}"),
    };
    items.iter().map(one).collect()
}
