//! Several entities in one item collection: a range that they share is read once, and little more than the answer needs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use keyfold_core::execute::{Answer, RunOptions};
use keyfold_core::model::Model;
use keyfold_core::query::check::Caller;
use keyfold_core::query::plan::QueryPlan;
use keyfold_core::query::{Condition, Readiness, check, plan};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_testkit::ModelTable;
use keyfold_testkit::generate::Random;
use keyfold_testkit::run::run;
use serde_json::{Value, json};

/// Four entities of a customer. In `byTime` all are in one range, ordered by time.
const SHOP: &str = r#"
[tables.shop]
partition = { attribute = "PK", fold = "CUSTOMER#{customer}" }
sort = { attribute = "SK" }
entity-attribute = "kind"
expect = { items = 6000, item-bytes = 300, items-per-partition = 6000 }
[tables.shop.attributes]
customer = "string"
id = "string"
kind = { type = "string", values = ["order", "payment", "parcel", "note"], required = true }
at = { type = "timestamp", required = true }
[tables.shop.entities.order]
sort = "ORDER#{id}"
indexes.byTime = { partition = "TIME#{customer}", sort = "{at}" }
[tables.shop.entities.payment]
sort = "PAYMENT#{id}"
indexes.byTime = { partition = "TIME#{customer}", sort = "{at}" }
[tables.shop.entities.parcel]
sort = "PARCEL#{id}"
indexes.byTime = { partition = "TIME#{customer}", sort = "{at}" }
[tables.shop.entities.note]
sort = "NOTE#{id}"
indexes.byTime = { partition = "TIME#{customer}", sort = "{at}" }
[tables.shop.indexes.byTime]
partition = { attribute = "GSI1PK" }
sort = { attribute = "GSI1SK" }
"#;

const KINDS: [&str; 4] = ["order", "payment", "parcel", "note"];
const ITEMS: usize = 6_000;

fn model() -> Model {
    let parsed = keyfold_core::manifest::parse("keyfold.toml", SHOP);
    let report = parsed.render(SHOP, false);
    parsed.model.unwrap_or_else(|| panic!("{report}"))
}

/// One customer's items of about 300 bytes: as many of each entity, in the order of time.
fn shop(model: &Model) -> ModelTable {
    let table = &model.tables[0];
    let mut shop = ModelTable::new(table);
    for number in 0..ITEMS {
        let (hour, minute, second) = (number / 3600, number / 60 % 60, number % 60);
        let values = [
            ("customer", "c1".to_owned()),
            ("id", format!("{number:05}")),
            ("kind", KINDS[number % KINDS.len()].to_owned()),
            ("at", format!("2026-03-01T{hour:02}:{minute:02}:{second:02}.000Z")),
            ("text", "x".repeat(90)),
        ];
        let named = values.map(|(name, value)| (name, AttributeValue::S(value)));
        let item = Item::from_iter(named);
        shop.put(table.with_keys(item).unwrap(), &Condition::always()).unwrap();
    }
    shop
}

fn planned(model: &Model, request: Value) -> QueryPlan {
    let request = serde_json::from_value(request).unwrap();
    plan(&check(model, &request, &Caller::Trusted).unwrap(), &Readiness::complete()).unwrap()
}

/// All pages of an answer.
fn pages(plan: &QueryPlan, table: &ModelTable) -> Vec<Answer> {
    let mut pages: Vec<Answer> = Vec::new();
    loop {
        let from = pages.last().and_then(|page| page.next.as_ref());
        let page = run(plan, table, from, &RunOptions::default(), &mut Random::new(1)).unwrap();
        pages.push(page.answer.unwrap());
        if pages.last().is_some_and(|page| page.next.is_none()) {
            return pages;
        }
    }
}

fn consumed(pages: &[Answer]) -> f64 {
    pages.iter().map(|page| page.consumed_read_units).sum()
}

#[test]
fn a_range_of_several_entities_is_read_once() {
    let model = model();
    let shop = shop(&model);
    for order in ["at", "-at"] {
        let request = json!({ "table": "shop", "where": { "customer": "c1" }, "order": order, "limit": 3 });
        let plan = planned(&model, request);
        assert_eq!(plan.accesses.len(), 1, "{order}");
        assert!(plan.accesses[0].filter.is_always(), "all entities of the range are asked for");
        let pages = pages(&plan, &shop);
        let first = &pages[0];
        assert_eq!((first.items.len(), first.items_read, first.consumed_read_units), (3, 3, 0.5), "{order}");
        assert_eq!(plan.estimated_units, 0.5);
        let times: Vec<_> = pages.iter().flat_map(|page| &page.items).map(|item| &item["at"]).collect();
        assert_eq!(times.len(), ITEMS);
        assert!(times.is_sorted_by(|a, b| match (a, b) {
            (AttributeValue::S(a), AttributeValue::S(b)) =>
                if order == "at" {
                    a < b
                } else {
                    a > b
                },
            _ => false,
        }));
    }
}

#[test]
fn some_entities_of_a_range_are_told_apart_by_one_filter() {
    let model = model();
    let shop = shop(&model);
    let request = json!({
        "table": "shop", "entity": ["order", "note"], "where": { "customer": "c1" }, "order": "at", "limit": 100,
    });
    let plan = planned(&model, request);
    assert_eq!(plan.accesses.len(), 1);
    let pages = pages(&plan, &shop);
    assert_eq!(pages.iter().map(|page| page.items.len()).sum::<usize>(), ITEMS / 2);
    let (read, units) = (pages.iter().map(|page| page.items_read).sum::<u64>(), consumed(&pages));
    assert!(read < 2 * ITEMS as u64, "{read} items were read for {ITEMS}");
    assert!(units < 2.0 * ITEMS as f64 * 300.0 / 8192.0, "{units} units");
    let first = pages[0].consumed_read_units;
    assert!(plan.estimated_units <= 2.0 * first && first <= 2.0 * plan.estimated_units, "{first} units");
}

#[test]
fn a_filter_reads_little_at_first_and_then_more() {
    let model = model();
    let shop = shop(&model);
    let asked = |entity: &str, limit: u32| {
        let order = json!({
            "table": "shop", "entity": entity, "where": { "customer": "c1" }, "order": "at", "limit": limit,
        });
        planned(&model, order)
    };
    let few = &pages(&asked("parcel", 3), &shop)[0];
    assert!(few.consumed_read_units <= 1.5 && few.items_read <= 40, "{} items were read", few.items_read);
    // An entity without items: the pages double, up to the largest.
    let mut rest = ModelTable::new(&model.tables[0]);
    let is_parcel = |item: &&Item| item["kind"] == AttributeValue::S("parcel".to_owned());
    for item in shop.items().filter(|item| !is_parcel(item)) {
        rest.put(item.clone(), &Condition::always()).unwrap();
    }
    let none = pages(&asked("parcel", 3), &rest);
    let requests: u32 = none.iter().map(|page| page.requests).sum();
    assert!((4..=15).contains(&requests), "{requests} requests");
    assert!(consumed(&none) < 1.2 * ITEMS as f64 * 0.75 * 300.0 / 8192.0, "{} units", consumed(&none));
}
