//! The cap on read units.

use keyfold_core::condition::Comparison;
use keyfold_core::query::plan::{Access, Delivery, ReadFrom};
use keyfold_dynamo::{RunOptions, run};

use crate::plans::{ascending, ats, by_kind_score, by_score, is, of_user, pages, plan, scan, text, whole};
use crate::views;
use crate::watch::Watch;

fn cap(units: f64) -> RunOptions {
    RunOptions { read_units_max: Some(units), ..RunOptions::default() }
}

#[tokio::test]
async fn an_answer_that_the_cap_stops_is_shorter_and_goes_on() {
    let client = views::shared();
    let none = is("note", Comparison::Equal(text("nothing like it")));
    let full = plan(vec![scan(ReadFrom::Table)], Delivery::Sequential, vec![], 1000);
    let all = whole(&client, &full, &RunOptions::default()).await;
    for units in [0.5, 1.0, 3.5, 100.0] {
        let pages = pages(&client, &full, &cap(units)).await;
        assert!(pages.iter().all(|page| page.consumed_read_units <= units), "{units}");
        let items: Vec<_> = pages.into_iter().flat_map(|page| page.items).collect();
        assert_eq!(ats(&items), ats(&all));
    }
    let empty =
        plan(vec![Access { filter: none, ..scan(ReadFrom::Table) }], Delivery::Sequential, vec![], 10);
    let pages = pages(&client, &empty, &cap(2.0)).await;
    assert!(pages.len() > 2 && pages.iter().all(|page| page.items.is_empty()), "{} pages", pages.len());
}

#[tokio::test]
async fn a_merge_goes_on_under_a_cap_that_allows_one_page_of_each() {
    let client = views::shared();
    let users: Vec<_> = (0..views::USERS).map(of_user).collect();
    let merged = plan(users, Delivery::Merged, ascending("at"), 1000);
    let pages = pages(&client, &merged, &cap(3.0)).await;
    assert!(pages.len() > 2, "{} pages", pages.len());
    assert!(pages.iter().all(|page| page.consumed_read_units <= 3.0));
    let mut expected = ats(&views::items());
    expected.sort_unstable();
    assert_eq!(pages.iter().flat_map(|page| ats(&page.items)).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn where_not_one_page_can_be_paid_nothing_is_read() {
    let (client, watch) = Watch::over(&views::shared());
    let users: Vec<_> = (0..views::USERS).map(of_user).collect();
    let consistent = |mut plan: keyfold_core::query::QueryPlan| {
        plan.consistent = true;
        plan
    };
    let too_dear = [
        (plan(vec![of_user(1)], Delivery::Sequential, vec![], 5), 0.4),
        (consistent(plan(vec![of_user(1)], Delivery::Sequential, vec![], 5)), 0.5),
        (plan(vec![of_user(1)], Delivery::Sequential, vec![], 5), 0.0),
        (plan(users, Delivery::Merged, ascending("at"), 5), 2.5),
        (plan(vec![by_score(1)], Delivery::Sequential, vec![], 5), 0.5),
    ];
    for (plan, units) in too_dear {
        let error = run(&client, &views::table(), &plan, None, &cap(units)).await.unwrap_err();
        assert_eq!(error.code(), "read-units-cap", "{units}");
    }
    assert_eq!(watch.sent().len(), 0);
}

#[tokio::test]
async fn a_sort_that_cannot_be_paid_is_an_error() {
    let sorted =
        plan(vec![scan(ReadFrom::Table)], Delivery::SortedInMemory { items_max: 1000 }, ascending("note"), 5);
    let error = run(&views::shared(), &views::table(), &sorted, None, &cap(2.0)).await.unwrap_err();
    assert_eq!(error.code(), "read-units-cap");
}

#[tokio::test]
async fn items_behind_an_index_are_paid_from_the_same_cap() {
    let client = views::shared();
    let by_score = plan(vec![by_kind_score("viewed")], Delivery::Sequential, ascending("score"), 1000);
    let all = whole(&client, &by_score, &RunOptions::default()).await;
    let pages = pages(&client, &by_score, &cap(5.0)).await;
    assert!(pages.len() > 5 && pages.iter().all(|page| page.consumed_read_units <= 5.0));
    assert_eq!(pages.iter().flat_map(|page| ats(&page.items)).collect::<Vec<_>>(), ats(&all));
}
