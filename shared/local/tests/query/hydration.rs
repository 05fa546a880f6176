//! Attributes that an index does not hold.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue as SdkValue;
use keyfold_core::condition::{Comparison, Condition};
use keyfold_core::query::plan::{Access, Delivery, Hydration};
use keyfold_dynamo::{Client, RunOptions, run};

use crate::plans::{ascending, ats, by_kind_score, by_score, equals, first, is, numbers, plan, text, whole};
use crate::views;
use crate::watch::Watch;

#[tokio::test]
async fn a_local_index_fetches_what_it_lacks_and_never_by_a_projection() {
    let (client, watch) = Watch::over(&views::shared());
    let mut by_score = plan(vec![by_score(2)], Delivery::Sequential, ascending("score"), 1000);
    let all = first(&client, &by_score).await;
    assert_eq!(all.items.len(), 67);
    assert!(numbers(&all.items, "score").is_sorted());
    assert!(all.items.iter().all(|item| views::items().contains(item)));
    by_score.select = Some(vec!["note".to_owned(), "score".to_owned()]);
    let some = first(&client, &by_score).await;
    assert!(some.items.iter().all(|item| item.len() == 2));
    for call in watch.sent() {
        assert_eq!(
            (call["Select"].as_str(), call.get("ProjectionExpression")),
            (Some("ALL_ATTRIBUTES"), None)
        );
    }
}

#[tokio::test]
async fn what_is_fetched_is_checked() {
    let recheck = is("note", Comparison::Contains(text("7")));
    let access = Access { recheck: recheck.clone(), ..by_score(2) };
    let checked = plan(vec![access], Delivery::Sequential, ascending("score"), 3);
    let all = whole(&views::shared(), &checked, &RunOptions::default()).await;
    let expected =
        views::items().into_iter().filter(|item| item["user"] == text("user2") && recheck.holds(item));
    assert_eq!(all.len(), expected.count());
    assert!(numbers(&all, "score").is_sorted());
}

#[tokio::test]
async fn a_global_index_is_filled_in_by_primary_key_in_its_own_order() {
    let (client, watch) = Watch::over(&views::shared());
    let by_score = plan(vec![by_kind_score("viewed")], Delivery::Sequential, ascending("score"), 1000);
    let all = first(&client, &by_score).await;
    let expected = views::items().into_iter().filter(|item| item["kind"] == text("viewed"));
    assert_eq!(all.items.len(), expected.count());
    assert!(numbers(&all.items, "score").is_sorted());
    assert!(all.items.iter().all(|item| views::items().contains(item)));
    let batches: Vec<_> =
        watch.sent().iter().filter_map(|call| call["RequestItems"].as_object().cloned()).collect();
    let sizes: Vec<_> =
        batches.iter().map(|batch| batch["resource-views"]["Keys"].as_array().unwrap().len()).collect();
    assert!(sizes.len() == 2 && sizes[0] == 100, "{sizes:?}");
}

#[tokio::test]
async fn ten_items_behind_a_global_index_are_read_ten_times_not_more() {
    let (client, watch) = Watch::over(&views::shared());
    let mut top = plan(vec![by_kind_score("viewed")], Delivery::Sequential, ascending("score"), 10);
    top.select = Some(vec!["note".to_owned()]);
    let top = first(&client, &top).await;
    assert_eq!((top.items.len(), top.items_read, top.requests), (10, 10, 2));
    assert_eq!(watch.sent()[1]["RequestItems"]["resource-views"]["Keys"].as_array().unwrap().len(), 10);
    assert!(top.items.iter().all(|item| item.len() == 1));
}

#[tokio::test]
async fn pages_of_any_size_are_the_whole() {
    let client = views::shared();
    // Half of the entries have no matching item.
    let recheck =
        Condition::all([equals("kind", text("viewed")), is("note", Comparison::Contains(text("3")))]);
    let access = || Access { recheck: recheck.clone(), ..by_kind_score("viewed") };
    let one_page = plan(vec![access()], Delivery::Sequential, ascending("score"), 1000);
    let all = first(&client, &one_page).await.items;
    assert!(all.len() > 20);
    for limit in 1..=all.len() as u32 + 1 {
        for page_items_max in [1, 7, 1000] {
            let paged = plan(vec![access()], Delivery::Sequential, ascending("score"), limit);
            let options = RunOptions { page_items_max, ..RunOptions::default() };
            assert_eq!(ats(&whole(&client, &paged, &options).await), ats(&all), "limit {limit}");
        }
    }
}

/// The embedded DynamoDB's indexes never lag, so instead the table's item is changed between the two reads.
#[tokio::test]
async fn what_has_gone_or_changed_since_the_index_saw_it_is_left_out() {
    let table = views::table();
    let (_dynamo, client) = views::own(&table, (0..30).map(views::item).collect()).await;
    let (watched, watch) = Watch::over(&client);
    let by_score = plan(vec![by_kind_score("viewed")], Delivery::Sequential, ascending("score"), 1000);
    let before = first(&client, &by_score).await.items;
    watch.hold_items(true);
    let change = async {
        while watch.sent().len() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        delete(&client, &before[0]).await;
        set_kind(&client, &before[1], "edited").await;
        watch.hold_items(false);
    };
    let options = RunOptions::default();
    let (after, ()) = tokio::join!(run(&watched, &table, &by_score, None, &options), change);
    let after = after.unwrap();
    assert_eq!(ats(&after.items), ats(&before[2..]));
    assert_eq!(
        after.items_read,
        before.len() as u64,
        "the index was read after the change: nothing was tested"
    );
}

fn key(item: &keyfold_core::value::Item) -> Option<std::collections::HashMap<String, SdkValue>> {
    Some(["user", "at"].map(|name| (name.to_owned(), item[name].clone().into())).into())
}

async fn delete(client: &Client, item: &keyfold_core::value::Item) {
    client.delete_item().table_name("resource-views").set_key(key(item)).send().await.unwrap();
}

async fn set_kind(client: &Client, item: &keyfold_core::value::Item, kind: &str) {
    let update = client.update_item().table_name("resource-views").set_key(key(item));
    let update = update.update_expression("SET kind = :kind");
    update.expression_attribute_values(":kind", SdkValue::S(kind.to_owned())).send().await.unwrap();
}

#[tokio::test]
async fn fetched_items_are_merged_too() {
    let client = views::shared();
    let accesses: Vec<_> = (0..views::USERS).map(by_score).collect();
    assert!(accesses.iter().all(|access| access.hydration == Hydration::Fetched));
    let merged = plan(accesses, Delivery::Merged, ascending("score"), 23);
    let all = whole(&client, &merged, &RunOptions::default()).await;
    assert_eq!(all.len(), 400);
    assert!(numbers(&all, "score").is_sorted());
}
