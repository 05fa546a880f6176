//! Sorted in memory.

use keyfold_core::query::order::compare_items;
use keyfold_core::query::plan::{Access, Delivery, ReadFrom};
use keyfold_core::query::{Comparison, QueryPlan};
use keyfold_dynamo::{RunOptions, run};

use crate::plans::{
    ascending, ats, by_kind_score, descending, first, is, number, of_user, plan, scan, text, whole,
};
use crate::views;

fn sorted(items_max: u32, limit: u32) -> QueryPlan {
    // `city` is missing in some, and `note` would do as a text.
    let order = [ascending("city"), descending("score")].concat();
    let accesses = (0..views::USERS).map(of_user).collect();
    plan(accesses, Delivery::SortedInMemory { items_max }, order, limit)
}

#[tokio::test]
async fn pages_of_any_size_are_the_whole_in_order() {
    let client = views::shared();
    let all = first(&client, &sorted(400, 1000)).await;
    assert_eq!((all.items.len(), all.next), (400, None));
    assert!(all.items.is_sorted_by(|a, b| compare_items(&views::table(), &sorted(1, 1).order, a, b).is_le()));
    for limit in [1, 3, 50, 399, 400, 401] {
        assert_eq!(ats(&whole(&client, &sorted(400, limit), &RunOptions::default()).await), ats(&all.items));
    }
}

#[tokio::test]
async fn more_than_may_be_sorted_is_an_error_and_only_matches_count() {
    let client = views::shared();
    let error =
        run(&client, &views::table(), &sorted(399, 10), None, &RunOptions::default()).await.unwrap_err();
    assert_eq!(error.code(), "sort-too-large");
    let mut few = sorted(200, 1000);
    for access in &mut few.accesses {
        access.filter = is("score", Comparison::Less(number(12)));
    }
    let matching = views::items().iter().filter(|item| few.accesses[0].filter.holds(item)).count();
    assert!((1..=200).contains(&matching));
    assert_eq!(first(&client, &few).await.items.len(), matching);
}

#[tokio::test]
async fn a_scan_and_items_behind_an_index_can_be_sorted() {
    let client = views::shared();
    let delivery = Delivery::SortedInMemory { items_max: 1000 };
    let filter = is("kind", Comparison::Equal(text("viewed")));
    let scanned = plan(vec![Access { filter, ..scan(ReadFrom::Table) }], delivery, descending("note"), 40);
    let indexed = plan(vec![by_kind_score("viewed")], delivery, descending("note"), 40);
    let (scanned, indexed) = (
        whole(&client, &scanned, &RunOptions::default()).await,
        whole(&client, &indexed, &RunOptions::default()).await,
    );
    assert!(scanned.len() > 100);
    assert_eq!(scanned, indexed);
    assert!(scanned.is_sorted_by(|a, b| compare_items(&views::table(), &descending("note"), a, b).is_le()));
}
