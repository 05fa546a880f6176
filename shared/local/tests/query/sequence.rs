//! One access after the other.

use std::time::Duration;

use keyfold_core::condition::Comparison;
use keyfold_core::query::plan::{Access, Delivery, ReadFrom, SortTest};
use keyfold_dynamo::{RunOptions, run};

use crate::plans::{
    ascending, ats, descending, equals, first, global, is, narrowed, number, of_user, pages, plan, query,
    scan, text, whole,
};
use crate::views;
use crate::watch::Watch;

#[tokio::test]
async fn a_query_gives_its_items_in_the_order_of_the_key_both_ways() {
    let client = views::shared();
    let up = first(&client, &plan(vec![of_user(1)], Delivery::Sequential, ascending("at"), 1000)).await;
    let down = Access { descending: true, ..of_user(1) };
    let down = first(&client, &plan(vec![down], Delivery::Sequential, descending("at"), 1000)).await;
    let ats = ats(&up.items);
    assert_eq!((ats.len(), ats.is_sorted()), (67, true));
    assert_eq!(up.items, down.items.into_iter().rev().collect::<Vec<_>>());
    assert_eq!((up.next, up.count, up.items_read), (None, 67, 67));
}

#[tokio::test]
async fn top_ten_reads_ten_items_in_one_call() {
    let (client, watch) = Watch::over(&views::shared());
    let top = first(&client, &plan(vec![of_user(1)], Delivery::Sequential, ascending("at"), 10)).await;
    assert_eq!((top.items.len(), top.items_read, top.requests), (10, 10, 1));
    assert_eq!(watch.sent()[0]["Limit"], 10);
    assert!(top.next.is_some());
}

#[tokio::test]
async fn a_filter_reads_on_until_the_answer_is_full() {
    let filter = is("note", Comparison::Contains(text("7")));
    let filtered = plan(vec![Access { filter, ..of_user(1) }], Delivery::Sequential, vec![], 5);
    let options = RunOptions { page_items_max: 10, ..RunOptions::default() };
    let client = views::shared();
    let page = run(&client, &views::table(), &filtered, None, &options).await.unwrap();
    assert_eq!(page.items.len(), 5);
    assert!(page.requests > 1, "one call was enough, so nothing was tested");
    assert!(page.items.iter().all(|item| filtered.accesses[0].filter.holds(item)));
}

#[tokio::test]
async fn what_only_the_items_can_tell_is_checked_on_them() {
    let recheck = is("at", Comparison::In(vec![number(1007), number(1049), number(1)]));
    let checked = plan(vec![Access { recheck, ..of_user(1) }], Delivery::Sequential, vec![], 100);
    assert_eq!(ats(&first(&views::shared(), &checked).await.items), [1007, 1049]);
}

#[tokio::test]
async fn select_asks_for_what_is_needed_and_gives_what_was_asked() {
    let (client, watch) = Watch::over(&views::shared());
    let access = Access {
        recheck: is("at", Comparison::Greater(number(1100))),
        ..query(global("byKind"), &[("kind", text("viewed"))])
    };
    let mut some = plan(vec![access], Delivery::Sequential, ascending("at"), 3);
    some.select = Some(vec!["note".to_owned()]);
    let page = first(&client, &some).await;
    assert!(page.items.iter().all(|item| item.len() == 1 && item.contains_key("note")));
    let sent = watch.sent().remove(0);
    let names: std::collections::BTreeSet<_> = sent["ExpressionAttributeNames"]
        .as_object()
        .unwrap()
        .values()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(names, ["at", "kind", "note", "user"].into());
    assert_eq!(sent["ProjectionExpression"].as_str().unwrap().split(", ").count(), 4);
    let rest = whole(&client, &some, &RunOptions::default()).await;
    assert!(rest.len() > 100, "a page goes on though its items do not show their keys: {}", rest.len());
}

#[tokio::test]
async fn accesses_follow_each_other_and_pages_of_any_size_are_the_whole() {
    let client = views::shared();
    let accesses = || {
        vec![
            narrowed(of_user(2), "at", SortTest::AtMost(number(1300))),
            Access {
                filter: is("user", Comparison::In(vec![text("user1"), text("user5")])),
                ..query(global("byKindCity"), &[("kind", text("edited")), ("city", text("London"))])
            },
            narrowed(of_user(2), "at", SortTest::Above(number(1900))),
            narrowed(of_user(4), "at", SortTest::Between(number(1100), number(1500))),
        ]
    };
    let all =
        whole(&client, &plan(accesses(), Delivery::Sequential, vec![], 1000), &RunOptions::default()).await;
    assert!(all.len() > 60);
    for limit in 1..=all.len() as u32 + 1 {
        let paged = plan(accesses(), Delivery::Sequential, vec![], limit);
        let options = RunOptions { page_items_max: 1 + limit % 7, ..RunOptions::default() };
        assert_eq!(whole(&client, &paged, &options).await, all, "limit {limit}");
    }
}

#[tokio::test]
async fn a_scan_gives_everything_once_from_the_table_or_an_index() {
    let client = views::shared();
    for (source, expected) in
        [(ReadFrom::Table, 400), (global("byKindScore"), 400), (global("byKindCity"), 266)]
    {
        let filter = is("user", Comparison::BeginsWith(text("user")));
        let scan = plan(vec![Access { filter, ..scan(source) }], Delivery::Sequential, vec![], 30);
        let all = whole(&client, &scan, &RunOptions::default()).await;
        let distinct: std::collections::BTreeSet<_> = ats(&all).into_iter().collect();
        assert_eq!((all.len(), distinct.len()), (expected, expected));
    }
}

#[tokio::test]
async fn an_item_found_in_two_places_is_given_once() {
    let client = views::shared();
    let twice = || {
        vec![
            Access { filter: equals("kind", text("edited")), ..of_user(3) },
            Access {
                filter: equals("user", text("user3")),
                ..query(global("byKind"), &[("kind", text("edited"))])
            },
        ]
    };
    let once = first(&client, &plan(vec![twice().remove(0)], Delivery::Sequential, vec![], 1000)).await;
    let both = first(&client, &plan(twice(), Delivery::Sequential, vec![], 1000)).await;
    let merged = first(&client, &plan(twice(), Delivery::Merged, ascending("at"), 1000)).await;
    assert_eq!(both.items, once.items);
    assert_eq!(merged.items, once.items);
}

#[tokio::test]
async fn without_an_access_the_answer_is_empty() {
    let nothing = first(&views::shared(), &plan(vec![], Delivery::Sequential, vec![], 10)).await;
    assert_eq!((nothing.items.len(), nothing.requests, nothing.next), (0, 0, None));
}

#[tokio::test]
async fn every_call_has_a_limit() {
    let (client, watch) = Watch::over(&views::shared());
    pages(
        &client,
        &plan(vec![of_user(1), scan(ReadFrom::Table)], Delivery::Sequential, vec![], 90),
        &RunOptions::default(),
    )
    .await;
    assert!(watch.sent().len() > 4);
    assert!(watch.sent().iter().all(|call| call["Limit"].as_u64().is_some_and(|limit| limit <= 90)));
}

#[tokio::test]
async fn a_position_fits_only_its_own_plan() {
    let client = views::shared();
    let (one, other) = (of_user(1), of_user(2));
    let page = first(&client, &plan(vec![one], Delivery::Sequential, vec![], 5)).await;
    let wrong = plan(vec![other], Delivery::Sequential, vec![], 5);
    let error =
        run(&client, &views::table(), &wrong, page.next.as_ref(), &RunOptions::default()).await.unwrap_err();
    assert_eq!(error.code(), "bad-page-token");
}

#[test]
fn a_run_can_move_between_threads() {
    fn is_send(_: &impl Send) {}
    let (client, table, plan) =
        (views::shared(), views::table(), plan(vec![], Delivery::Sequential, vec![], 1));
    is_send(&run(&client, &table, &plan, None, &RunOptions::default()));
}

#[tokio::test]
async fn a_dropped_run_stops_reading() {
    let (client, watch) = Watch::over(&views::shared());
    let accesses = (0..views::USERS).map(of_user).collect();
    let mut slow = plan(accesses, Delivery::Sequential, vec![], 1000);
    slow.count = true;
    let options = RunOptions { page_items_max: 1, concurrency_max: 3, ..RunOptions::default() };
    let table = views::table();
    tokio::select! {
        _ = run(&client, &table, &slow, None, &options) => panic!("it ended before it could be dropped"),
        () = async { while watch.sent().len() < 9 { tokio::time::sleep(Duration::from_micros(200)).await; } } => {}
    }
    let sent = watch.sent().len();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(watch.sent().len(), sent);
    assert!(sent < 200, "it had nearly ended: {sent} calls");
}
