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

/// A table of several pages: one is read, and the rest is estimated.
#[tokio::test]
async fn a_part_of_a_table_stands_for_all_of_it() {
    let site = Site::new(SHOP);
    site.create(site.table("shop"), false).await;
    let table = site.table("shop");
    let items = (0..300_u32).map(|number| {
        let kind = if number % 10 == 9 { "note" } else { "order" };
        let mut item = item_of([
            ("customer", format!("c{}", number / 10)),
            ("id", number.to_string()),
            ("kind", kind.to_owned()),
            ("text", "x".repeat(5_000)),
        ]);
        if number % 2 == 0 {
            item.insert("at".to_owned(), AttributeValue::S((number % 3).to_string()));
        }
        table.with_keys(item).unwrap()
    });
    let items: Vec<Item> = items.collect();
    site.load(table, items).await;
    let shown = site.done(&["measure", "shop", "--read-units", "50", "--dry-run"]);
    let figure = |name: &str| {
        let figures = shown["figures"].as_array().unwrap();
        figures.iter().find(|figure| figure["name"] == name).unwrap()["items"].as_u64().unwrap()
    };
    assert_eq!(figure("shop"), 300, "as DynamoDB counts them");
    assert!((25..=35).contains(&figure("note")) && (265..=275).contains(&figure("order")), "{shown}");
    assert!((140..=160).contains(&figure("byTime")), "{shown}");
    let units = shown["readUnits"].as_f64().unwrap();
    assert!((100.0..160.0).contains(&units), "one page of the table and one of the index: {shown}");
    let whole = site.done(&["measure", "shop", "--read-units", "600", "--dry-run"]);
    assert!(whole["readUnits"].as_f64().unwrap() > units, "all pages: {whole}");
    assert_eq!(
        whole["figures"][1]["items"].as_u64().unwrap() + whole["figures"][2]["items"].as_u64().unwrap(),
        300
    );
}

#[tokio::test]
async fn a_manifest_that_cannot_be_edited_stays_and_keeps_its_own_names() {
    let dotted = SHOP.replace("expect = { items = 7, writes = \"20/s\" }", "expect.items = 7");
    let site = Site::new(&dotted);
    site.create(site.table("shop"), false).await;
    let table = site.table("shop");
    let items: Vec<Item> = shop().map(|item| table.with_keys(item).unwrap()).collect();
    site.load(table, items).await;
    let refused = site.refused(&["measure", "shop"]);
    assert!(refused.contains("cannot edit") && refused.contains("--dry-run"), "{refused}");
    let path = site.folder.path().join("keyfold.toml");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), dotted);
    site.done(&["measure", "shop", "--dry-run"]);
    // The table has another name in this deployment; the manifest keeps its own.
    site.rewrite(&SHOP.replace("[tables.shop]", "[tables.shop]\nname = \"Elsewhere\""));
    let mut named = site.command(&["measure", "shop"]);
    let output = named.env("KEYFOLD_TABLES", "shop=shop").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let after = std::fs::read_to_string(&path).unwrap();
    assert!(after.contains("name = \"Elsewhere\"") && after.contains("items = 100"), "{after}");
}
