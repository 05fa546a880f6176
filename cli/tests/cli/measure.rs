//! `keyfold measure`: the figures of a live table, in the manifest.

use keyfold_core::value::{AttributeValue, Item};
use serde_json::json;

use crate::support::{Site, item_of};

const SHOP: &str = r#"# Our shop.
[tables.shop]
partition = "customer"
sort = { attribute = "SK" }
entity-attribute = "kind"
expect = { items = 7, writes = "20/s" } # guessed
attributes = { customer = "string", id = "string", kind = { type = "string", values = ["note", "order"] }, at = "string" }
entities.order.sort = "ORDER#{id}"
entities.note.sort = "NOTE#{id}"

[tables.shop.indexes.byTime]
partition = "at"
projection = "keys-only"
"#;

/// Ten customers, each with nine orders and a note. Every second order has a time, one of three.
fn shop() -> impl Iterator<Item = Item> {
    (0..100_u32).map(|number| {
        let kind = if number % 10 == 9 { "note" } else { "order" };
        let mut item = item_of([
            ("customer", format!("c{}", number / 10)),
            ("id", number.to_string()),
            ("kind", kind.to_owned()),
            ("text", "x".repeat(100)),
        ]);
        if number % 2 == 0 {
            item.insert("at".to_owned(), AttributeValue::S((number % 3).to_string()));
        }
        item
    })
}

#[tokio::test]
async fn the_figures_of_a_live_table_are_written_into_its_manifest() {
    let site = Site::new(SHOP);
    site.create(site.table("shop"), false).await;
    let table = site.table("shop");
    let items: Vec<Item> = shop().map(|item| table.with_keys(item).unwrap()).collect();
    site.load(table, items).await;
    let path = site.folder.path().join("keyfold.toml");
    let text = || std::fs::read_to_string(&path).unwrap();

    let shown = site.done(&["measure", "shop", "--dry-run"]);
    assert_eq!(shown["written"], false);
    assert_eq!(text(), SHOP, "nothing is written");
    let written = site.done(&["measure", "shop"]);
    assert_eq!(written["figures"], shown["figures"]);
    let figure = |name: &str| {
        let figures = written["figures"].as_array().unwrap();
        let figure = figures.iter().find(|figure| figure["name"] == name).unwrap();
        (figure["items"].clone(), figure["itemsPerPartition"].clone())
    };
    assert_eq!(figure("shop"), (json!(100), json!(10)));
    assert_eq!(figure("note"), (json!(10), json!(null)));
    assert_eq!(figure("order"), (json!(90), json!(null)));
    assert_eq!(figure("byTime"), (json!(50), json!(17)), "50 entries in three partitions");
    let after = text();
    assert!(after.contains("items-per-partition = 10, values = { kind = { note = 10, order = 90 } }, writes = \"20/s\" } # guessed"), "{after}");
    assert!(after.starts_with("# Our shop.\n") && after.contains("entities.note.expect = { items = 10"));
    site.done(&["check"]);
}

#[tokio::test]
async fn an_empty_table_has_no_figures() {
    let site = Site::new(SHOP);
    site.create(site.table("shop"), false).await;
    assert!(site.refused(&["measure", "shop"]).contains("no items"));
}
