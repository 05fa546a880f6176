//! The law of pages, on random plans: the pages together are the whole answer, which equals the oracle's.

use std::collections::BTreeMap;

use fastrand::Rng;
use keyfold_core::condition::{Comparison, Condition};
use keyfold_core::model::OrderBy;
use keyfold_core::query::QueryPlan;
use keyfold_core::query::order::compare_items;
use keyfold_core::query::plan::{Access, Delivery, Hydration, ReadFrom, SortTest};
use keyfold_core::value::Item;
use keyfold_dynamo::RunOptions;

use crate::oracle::all_matching;
use crate::plans::{
    ascending, ats, by_kind_score, by_score, equals, global, is, narrowed, number, of_user, pages, plan,
    query, scan, text, whole,
};
use crate::views;

/// How many plans; KEYFOLD_CASES changes it.
fn cases() -> u64 {
    std::env::var("KEYFOLD_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150)
}

/// Accesses without common items, and their order.
fn accesses(random: &mut Rng) -> (Vec<Access>, &'static str) {
    let cities = ["London", "Londonderry"];
    match random.u32(..6) {
        0 => ((0..random.usize(1..=views::USERS)).map(of_user).collect(), "at"),
        1 => ((0..random.usize(1..=views::USERS)).map(by_score).collect(), "score"),
        2 => (views::KINDS.map(|kind| query(global("byKind"), &[("kind", text(kind))])).to_vec(), "at"),
        3 => (views::KINDS[..random.usize(1..=3)].iter().map(|kind| by_kind_score(kind)).collect(), "score"),
        4 => {
            let kind = views::KINDS[random.usize(..3)];
            let in_city =
                |city: &str| query(global("byKindCity"), &[("kind", text(kind)), ("city", text(city))]);
            (cities.map(in_city).to_vec(), "score")
        }
        // Two sources, kept apart by a filter.
        _ => {
            let kind = Access {
                filter: equals("user", text("user0")),
                ..query(global("byKind"), &[("kind", text("edited"))])
            };
            let user =
                Access { filter: Condition::Not(Box::new(equals("kind", text("edited")))), ..of_user(0) };
            (vec![kind, user], "at")
        }
    }
}

fn narrow(random: &mut Rng, access: Access, sort: &str) -> Access {
    let (low, range) = if sort == "at" { (1000, 1000) } else { (0, 30) };
    let mut bound = || low + random.i64(..range);
    let (a, b) = (bound(), bound());
    match random.u32(..5) {
        0 => narrowed(access, sort, SortTest::AtLeast(number(a))),
        1 => narrowed(access, sort, SortTest::Below(number(a))),
        2 => narrowed(access, sort, SortTest::Between(number(a.min(b)), number(a.max(b)))),
        _ => access,
    }
}

fn random_plan(random: &mut Rng) -> QueryPlan {
    let (accesses, sort) = accesses(random);
    let descending = random.bool();
    let filtered = random.u32(..3);
    let seed = random.u64(..);
    let finish = |access: Access| {
        // The same narrowing for all.
        let mut access = narrow(&mut Rng::with_seed(seed), access, sort);
        access.descending = descending;
        let note = is("note", Comparison::Contains(text(["1", "17"][(seed % 2) as usize])));
        let holds_note = access.hydration == Hydration::None;
        match filtered {
            0 if holds_note => access.filter = Condition::all([access.filter, note]),
            1 if holds_note
                || access.hydration == Hydration::Fetched
                || access.hydration == Hydration::ByKey =>
            {
                access.recheck = Condition::all([access.recheck, note]);
            }
            _ => {}
        }
        access
    };
    let accesses: Vec<Access> = accesses.into_iter().map(finish).collect();
    let by = |attribute: &str| OrderBy { attribute: attribute.to_owned(), descending };
    let (delivery, order) = match random.u32(..4) {
        0 => (Delivery::Sequential, vec![]),
        1 => (Delivery::SortedInMemory { items_max: 1000 }, [ascending("note"), vec![by("kind")]].concat()),
        _ => (Delivery::Merged, vec![by(sort)]),
    };
    if random.u32(..12) == 0 {
        return plan(vec![scan(ReadFrom::Table)], Delivery::Sequential, vec![], 1000);
    }
    let delivery = match delivery {
        Delivery::Merged if accesses.len() == 1 => Delivery::Sequential,
        delivery => delivery,
    };
    plan(accesses, delivery, order, 1000)
}

fn options(random: &mut Rng) -> RunOptions {
    RunOptions {
        concurrency_max: random.usize(1..5),
        read_units_max: random.bool().then(|| f64::from(random.u32(5..40))),
        page_items_max: random.u32(1..60),
    }
}

fn sorted(mut ats: Vec<i64>) -> Vec<i64> {
    ats.sort_unstable();
    ats
}

#[tokio::test]
async fn pages_are_the_whole_answer_and_the_whole_answer_is_right() {
    let client = views::shared();
    let items: BTreeMap<i64, Item> =
        views::items().into_iter().map(|item| (ats(std::slice::from_ref(&item))[0], item)).collect();
    for seed in 0..cases() {
        let mut random = Rng::with_seed(seed);
        let mut plan = random_plan(&mut random);
        let all: Vec<Item> = whole(&client, &plan, &RunOptions::default()).await;
        let expected = all_matching(&plan, &items);
        assert_eq!(sorted(ats(&all)), expected, "seed {seed}: {plan:?}");
        assert!(
            all.is_sorted_by(|a, b| compare_items(&views::table(), &plan.order, a, b).is_le()),
            "seed {seed}: not in order: {plan:?}"
        );
        for item in &all {
            let stored = &items[&ats(std::slice::from_ref(item))[0]];
            assert!(
                item.iter().all(|(name, value)| stored.get(name) == Some(value)),
                "seed {seed}: {plan:?}"
            );
        }
        plan.limit = random.u32(1..30);
        // A sort pays for everything on every page.
        let mut options = options(&mut random);
        if matches!(plan.delivery, Delivery::SortedInMemory { .. }) {
            options.read_units_max = None;
        }
        let paged = whole(&client, &plan, &options).await;
        assert_eq!(ats(&paged), ats(&all), "seed {seed}, {options:?}: {plan:?}");
        plan.count = true;
        let counted: u64 = pages(&client, &plan, &RunOptions { read_units_max: None, ..options })
            .await
            .iter()
            .map(|page| page.count)
            .sum();
        assert_eq!(counted, all.len() as u64, "seed {seed}: {plan:?}");
    }
}
