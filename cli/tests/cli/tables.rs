//! `keyfold tables diff` and `apply`.

use keyfold_core::model::Table;
use keyfold_dynamo::{TablePlan, plan_table, table_options};
use serde_json::{Value, json};

use crate::support::{Site, assert_words};

/// A table with everything, and a second one with a retrofit from the first.
const MANIFEST: &str = r#"
[tables.orders]
name = "OrdersOfShop"
managed = false
partition = "customer"
sort = "id"
ttl = "gone"
attributes = { customer = "string", id = "string", status = "string", day = "string", gone = "number" }
indexes.byStatus = { partition = "status", sort = "day" }
indexes.byDay.partition = "day"
indexes.ofDay.sort = "day"

[tables.old]
managed = false
partition = "id"
attributes = { id = "string", customer = "string", status = "string", day = "string", gone = "number" }

[retrofits.move]
from = "orders"
to = "old"
"#;

/// The tables of the output, and whether the command succeeded.
fn tables(site: &Site, words: &[&str]) -> (Vec<Value>, bool) {
    let output = site.run(&[&["tables"], words].concat());
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    (value["tables"].as_array().unwrap().clone(), output.status.success())
}

async fn plan(site: &Site, id: &str) -> TablePlan {
    let table = site.table(id);
    plan_table(&site.client(), table, table_options(&site.model, table)).await.unwrap()
}

#[tokio::test]
async fn everything_missing_is_created_and_then_nothing_differs() {
    let site = Site::new(MANIFEST);
    let mut live = site.table("orders").clone();
    live.indexes.retain(|index| index.name == "ofDay");
    site.create(&live, false).await;

    let (listed, same) = tables(&site, &["diff"]);
    assert!(!same, "they differ");
    let steps = json!([
        "switch the stream on, with both images",
        "switch time to live on, with the time in `gone`",
        "add index `byDay`",
        "add index `byStatus`"
    ]);
    let of = |tables: &[Value], id: &str| {
        tables.iter().find(|table| table["table"] == id).unwrap()["steps"].clone()
    };
    assert_eq!(of(&listed, "orders"), steps);
    assert_eq!(of(&listed, "old"), json!(["create the table, with all its indexes"]));
    assert!(!plan(&site, "orders").await.is_done(), "`diff` changes nothing");

    let (listed, done) = tables(&site, &["apply"]);
    assert!(done && of(&listed, "orders") == steps, "{listed:?}");
    for table in &site.model.tables {
        assert_eq!(plan(&site, &table.id).await.steps, [], "`{}`", table.id);
    }
    let (listed, same) = tables(&site, &["diff"]);
    assert!(same && of(&listed, "orders") == json!([]), "{listed:?}");
    let (listed, done) = tables(&site, &["apply", "orders"]);
    assert!(done && listed.len() == 1, "{listed:?}");
}

#[tokio::test]
async fn a_difference_that_dynamodb_cannot_change_is_shown_and_then_nothing_is_changed() {
    let site = Site::new(MANIFEST);
    let mut live = site.table("orders").clone();
    let mut turned = live.index("byStatus").unwrap().clone();
    std::mem::swap(&mut turned.partition, &mut turned.sort);
    let mut other = live.index("byDay").unwrap().clone();
    other.name = "forgotten".to_owned();
    live.indexes = vec![turned, other];
    live.ttl = None;
    site.create(&live, true).await;
    let elsewhere = Table { ttl: Some("day".to_owned()), ..live };
    keyfold_dynamo::enable_ttl(&site.client(), &elsewhere).await.unwrap();

    let (listed, same) = tables(&site, &["diff", "orders"]);
    assert!(!same);
    let differences = |member: &str| -> Vec<String> {
        let all = listed[0][member].as_array().unwrap().iter();
        assert!(all.clone().all(|one| one["hint"].as_str().is_some_and(|hint| hint.len() > 20)));
        all.map(|one| one["difference"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        differences("obstacles"),
        [
            "the key of index `byStatus` is partition `day`, sort `status` instead of partition `status`, sort `day`",
            "index `ofDay` is missing",
            "its time to live is in `day` instead of `gone`",
        ]
    );
    assert_eq!(differences("extras"), ["index `forgotten` is not in the manifest"]);

    // `old` could be created, and `byDay` added, but nothing is changed.
    let words =
        ["table-differs", "`OrdersOfShop`", "the key of index `byStatus`", "`ofDay` is missing", "hint"];
    assert_words(&site.refused(&["tables", "apply"]), &words);
    assert_eq!(plan(&site, "orders").await.added().collect::<Vec<_>>(), ["byDay"]);
    assert_eq!(plan(&site, "old").await.steps.len(), 1, "it was not created");
    // On its own it can be created, and on this machine no table is left to a stack.
    site.rewrite(&MANIFEST.replace("managed = false\n", ""));
    assert!(tables(&site, &["apply", "old"]).1);
}

#[tokio::test]
async fn a_misspelt_name_of_an_existing_table_is_not_created() {
    let site = Site::new(MANIFEST);
    site.create(site.table("orders"), false).await;
    site.rewrite(&MANIFEST.replace("OrdersOfShop", "OrderOfShop"));
    let (listed, same) = tables(&site, &["diff", "orders"]);
    assert!(!same && listed[0]["steps"] == json!([]), "{listed:?}");
    let found = &listed[0]["obstacles"][0]["difference"];
    assert_eq!(found, "it does not exist: did you mean `OrdersOfShop`?");
    assert_words(&site.refused(&["tables", "apply", "orders"]), &["table-differs", "`OrdersOfShop`", "hint"]);
    // A new table with another name is created.
    assert!(tables(&site, &["apply", "old"]).1);
}
