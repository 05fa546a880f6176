//! Several accesses, merged in order.

use keyfold_core::condition::Comparison;
use keyfold_core::query::order::compare_items;
use keyfold_core::query::plan::{Access, Delivery};
use keyfold_dynamo::RunOptions;

use crate::plans::{
    ascending, ats, by_kind_score, descending, first, global, is, number, numbers, of_user, plan, query,
    text, whole,
};
use crate::views;
use crate::watch::Watch;

fn all_users(descending: bool) -> Vec<Access> {
    (0..views::USERS).map(|user| Access { descending, ..of_user(user) }).collect()
}

#[tokio::test]
async fn the_merge_is_in_order_both_ways() {
    let client = views::shared();
    let up = first(&client, &plan(all_users(false), Delivery::Merged, ascending("at"), 1000)).await;
    let down = first(&client, &plan(all_users(true), Delivery::Merged, descending("at"), 1000)).await;
    let mut expected = ats(&views::items());
    expected.sort_unstable();
    assert_eq!(ats(&up.items), expected);
    assert_eq!(ats(&down.items), expected.into_iter().rev().collect::<Vec<_>>());
    assert_eq!(up.next, None);
}

#[tokio::test]
async fn top_ten_reads_at_most_ten_items_of_each_access() {
    let client = views::shared();
    let top = first(&client, &plan(all_users(true), Delivery::Merged, descending("at"), 10)).await;
    assert_eq!(top.items.len(), 10);
    assert!(top.items_read <= 60, "{} items were read", top.items_read);
    assert!(top.requests <= 6 + 1, "{} calls", top.requests);
}

#[tokio::test]
async fn pages_of_any_size_are_the_whole() {
    let client = views::shared();
    let filter = is("score", Comparison::Less(number(20)));
    let accesses: Vec<Access> =
        all_users(true).into_iter().map(|access| Access { filter: filter.clone(), ..access }).collect();
    let whole_plan = plan(accesses.clone(), Delivery::Merged, descending("at"), 1000);
    let all = whole(&client, &whole_plan, &RunOptions::default()).await;
    assert!(all.len() > 200);
    for limit in [1, 2, 3, 7, 20, 99, all.len() as u32 - 1, all.len() as u32, all.len() as u32 + 1] {
        let paged = plan(accesses.clone(), Delivery::Merged, descending("at"), limit);
        let options = RunOptions { page_items_max: 13, ..RunOptions::default() };
        assert_eq!(ats(&whole(&client, &paged, &options).await), ats(&all), "limit {limit}");
    }
}

#[tokio::test]
async fn equals_come_in_the_order_of_the_accesses_on_every_page() {
    let client = views::shared();
    let accesses = || views::KINDS.map(by_kind_score).to_vec();
    let all = first(&client, &plan(accesses(), Delivery::Merged, ascending("score"), 1000)).await.items;
    assert_eq!(all.len(), 400);
    assert!(all.is_sorted_by(|a, b| compare_items(&views::table(), &ascending("score"), a, b).is_le()));
    let zeros: Vec<_> =
        all.iter().filter(|item| item["score"] == number(0)).map(|item| item["kind"].clone()).collect();
    let mut by_kind = zeros.clone();
    by_kind.sort_by_key(|kind| views::KINDS.iter().position(|known| text(known) == *kind));
    assert_eq!(zeros, by_kind);
    for limit in [1, 5, 64] {
        let paged = plan(accesses(), Delivery::Merged, ascending("score"), limit);
        assert_eq!(ats(&whole(&client, &paged, &RunOptions::default()).await), ats(&all), "limit {limit}");
    }
}

#[tokio::test]
async fn so_many_reads_are_under_way_and_no_more() {
    let (client, watch) = Watch::over(&views::shared());
    let options = RunOptions { concurrency_max: 3, ..RunOptions::default() };
    let all = whole(&client, &plan(all_users(false), Delivery::Merged, ascending("at"), 50), &options).await;
    assert_eq!(all.len(), 400);
    assert_eq!(watch.most_under_way(), 3);
}

#[tokio::test]
async fn an_order_that_the_sort_key_continues_is_merged_too() {
    let client = views::shared();
    let accesses = views::KINDS.iter().flat_map(|kind| {
        ["London", "Londonderry"].map(|city| {
            let access = query(global("byKindCity"), &[("kind", text(kind)), ("city", text(city))]);
            Access { descending: true, ..access }
        })
    });
    let order = [descending("score"), descending("at")].concat();
    let plan = plan(accesses.collect(), Delivery::Merged, order, 17);
    let all = whole(&client, &plan, &RunOptions::default()).await;
    let mut expected: Vec<_> = views::items().into_iter().filter(|item| item.contains_key("city")).collect();
    expected.sort_by(|a, b| compare_items(&views::table(), &plan.order, a, b));
    assert_eq!(numbers(&all, "score"), numbers(&expected, "score"));
    assert_eq!(ats(&all), ats(&expected));
}
