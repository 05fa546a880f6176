//! Only the number of items.

use keyfold_core::condition::Comparison;
use keyfold_core::query::QueryPlan;
use keyfold_core::query::plan::{Access, Delivery};
use keyfold_dynamo::RunOptions;

use crate::plans::{by_kind_score, equals, first, global, is, number, of_user, pages, plan, query, text};
use crate::views;
use crate::watch::Watch;

fn count(accesses: Vec<Access>) -> QueryPlan {
    QueryPlan { count: true, ..plan(accesses, Delivery::Sequential, vec![], 10) }
}

#[tokio::test]
async fn dynamodb_counts_where_it_can() {
    let (client, watch) = Watch::over(&views::shared());
    let filter = equals("kind", text("viewed"));
    let all = (0..views::USERS).map(|user| Access { filter: filter.clone(), ..of_user(user) }).collect();
    let answer = first(&client, &count(all)).await;
    let expected = views::items().iter().filter(|item| filter.holds(item)).count() as u64;
    assert_eq!((answer.count, answer.items.len(), answer.next), (expected, 0, None));
    assert_eq!(answer.items_read, 400);
    assert!(watch.sent().iter().all(|call| call["Select"] == "COUNT"));
}

#[tokio::test]
async fn what_must_be_looked_at_is_counted_here() {
    let client = views::shared();
    let recheck = is("at", Comparison::GreaterOrEqual(number(1500)));
    let expected = |user: &str| {
        views::items().iter().filter(|item| item["user"] == text(user) && recheck.holds(item)).count() as u64
    };
    let checked = Access { recheck: recheck.clone(), ..of_user(1) };
    assert_eq!(first(&client, &count(vec![checked])).await.count, expected("user1"));
    let viewed = views::items().iter().filter(|item| item["kind"] == text("viewed")).count() as u64;
    assert_eq!(first(&client, &count(vec![by_kind_score("viewed")])).await.count, viewed);
}

#[tokio::test]
async fn an_item_found_in_two_places_is_counted_once() {
    let twice = vec![
        Access { filter: equals("kind", text("edited")), ..of_user(3) },
        query(global("byKind"), &[("kind", text("edited"))]),
    ];
    let answer = first(&views::shared(), &count(twice)).await;
    let edited = views::items().iter().filter(|item| item["kind"] == text("edited")).count() as u64;
    assert_eq!(answer.count, edited);
}

#[tokio::test]
async fn a_count_that_the_cap_stops_goes_on() {
    let client = views::shared();
    let options = RunOptions { page_items_max: 10, read_units_max: Some(2.0), ..RunOptions::default() };
    let pages = pages(&client, &count((0..views::USERS).map(of_user).collect()), &options).await;
    assert!(pages.len() > 5, "{} pages", pages.len());
    assert_eq!(pages.iter().map(|page| page.count).sum::<u64>(), 400);
}
