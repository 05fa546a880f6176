//! The cap on read units holds for items of any size: an execution exceeds it by at most one page.

use keyfold_core::execute::RunOptions;
use keyfold_core::query::check::Caller;
use keyfold_core::query::{Condition, Readiness, check, plan};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_testkit::ModelTable;
use keyfold_testkit::generate::Random;
use keyfold_testkit::run::run;

/// A page of 1 MB, read with eventual consistency. The model's page, as DynamoDB's, ends with the item that reaches it.
const PAGE_UNITS: f64 = 128.0 + 50.0;

const MANIFEST: &str = r#"
[tables.events]
partition = "id"
attributes = { id = "string", day = { type = "string", required = true }, at = { type = "number", required = true } }
indexes.byDay = { partition = "day", sort = "at" }
indexes.byDayKeys = { partition = "day", sort = "id", projection = "keys-only" }
"#;

/// Items of this size in eight partitions of each index, unknown to the manifest.
fn table(item_bytes: usize) -> ModelTable {
    let parsed = keyfold_core::manifest::parse("keyfold.toml", MANIFEST);
    let mut table =
        ModelTable::new(&parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics)).tables[0]);
    for number in 0..160 {
        let text = |text: String| AttributeValue::S(text);
        let all = [
            ("id", text(format!("{number:03}"))),
            ("day", text((number % 8).to_string())),
            ("at", AttributeValue::N(number.to_string())),
            ("body", text("x".repeat(item_bytes))),
        ];
        table.put(Item::from_iter(all), &Condition::always()).unwrap_or_else(|error| panic!("{error}"));
    }
    table
}

#[test]
fn a_run_exceeds_its_cap_by_one_page_at_the_most() {
    let model =
        keyfold_core::manifest::parse("keyfold.toml", MANIFEST).model.unwrap_or_else(|| panic!("a manifest"));
    let days: Vec<String> = (0..8).map(|day| day.to_string()).collect();
    let mut dearest = 0.0_f64;
    for item_bytes in [10, 3000, 50_000, 390_000] {
        let table = table(item_bytes);
        for order in ["at", "id", ""] {
            for units in [1.0, 10.0, 100.0, 500.0] {
                let order: Vec<&str> = [order].into_iter().filter(|order| !order.is_empty()).collect();
                let request = serde_json::json!({ "table": "events", "where": { "day": { "in": days } }, "order": order });
                let request = serde_json::from_value(request).unwrap_or_else(|error| panic!("{error}"));
                let checked =
                    check(&model, &request, &Caller::Trusted).unwrap_or_else(|error| panic!("{error}"));
                let plan = plan(&checked, &Readiness::complete()).unwrap_or_else(|error| panic!("{error}"));
                let options = RunOptions { read_units_max: Some(units), ..RunOptions::default() };
                let ran = run(&plan, &table, None, &options, &mut Random::new(7))
                    .unwrap_or_else(|error| panic!("{error}"));
                assert!(
                    ran.units <= units + PAGE_UNITS,
                    "a cap of {units}, items of {item_bytes} bytes, order {order:?}: {} units",
                    ran.units
                );
                dearest = dearest.max(ran.units - units);
            }
        }
    }
    assert!(dearest > 0.0, "the cap was never reached, so this proves nothing");
}
