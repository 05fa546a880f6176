//! Queries that can find at most one item: those with a complete primary key. They need one request.

use keyfold_core::condition::{Comparison, Condition};
use keyfold_core::model::Table;
use keyfold_core::query::QueryPlan;
use keyfold_core::query::plan::{Access, Delivery, ReadFrom, SortTest};
use keyfold_dynamo::{Answer, Client, RunOptions, run};

use crate::plans::{is, narrowed, number, of_user, plan, query, text};
use crate::views;

/// `views` without a sort key, and without indexes.
fn unsorted() -> Table {
    let table = views::table();
    Table { sort: None, indexes: Vec::new(), ..table }
}

fn of_one(user: &str, filter: Condition, limit: u32) -> QueryPlan {
    let access = Access { filter, ..query(ReadFrom::Table, &[("user", text(user))]) };
    plan(vec![access], Delivery::Sequential, vec![], limit)
}

async fn answer(client: &Client, table: &Table, plan: &QueryPlan) -> Answer {
    run(client, table, plan, None, &RunOptions::default()).await.unwrap()
}

#[tokio::test]
async fn a_table_without_a_sort_key_is_asked_once_for_its_item() {
    let table = unsorted();
    let (_dynamo, client) = views::own(&table, (0..3).map(views::item).collect()).await;
    let (all, none) = (Condition::always(), is("note", Comparison::Equal(text("nothing like it"))));
    for (user, filter, limit, found) in
        [("user1", &all, 1, 1), ("user1", &all, 7, 1), ("user1", &none, 1, 0), ("nobody", &all, 1, 0)]
    {
        let mut plan = of_one(user, filter.clone(), limit);
        let got = answer(&client, &table, &plan).await;
        assert_eq!((got.items.len(), got.requests, got.next), (found, 1, None), "{user}, limit {limit}");
        plan.count = true;
        let got = answer(&client, &table, &plan).await;
        assert_eq!((got.count, got.requests, got.next), (found as u64, 1, None), "{user}, limit {limit}");
    }
}

#[tokio::test]
async fn a_whole_primary_key_is_asked_for_once() {
    let (client, table) = (views::shared(), views::table());
    let at = match &views::item(1)["at"] {
        keyfold_core::value::AttributeValue::N(at) => at.parse().unwrap(),
        other => panic!("`at` is {other:?}"),
    };
    let one = narrowed(of_user(1), "at", SortTest::Equal(number(at)));
    let got = answer(&client, &table, &plan(vec![one], Delivery::Sequential, vec![], 1)).await;
    assert_eq!((got.items.len(), got.requests, got.next), (1, 1, None));
}

#[tokio::test]
async fn a_range_of_sort_keys_goes_on_behind_its_first_item() {
    let (client, table) = (views::shared(), views::table());
    let range = narrowed(of_user(1), "at", SortTest::AtLeast(number(0)));
    let got = answer(&client, &table, &plan(vec![range], Delivery::Sequential, vec![], 1)).await;
    assert!(got.items.len() == 1 && got.next.is_some());
}
