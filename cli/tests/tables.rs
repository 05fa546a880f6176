//! `keyfold tables diff` and `apply`, against the embedded DynamoDB.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Command, Output};

use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_dynamo::{TableOptions, TablePlan, plan_table, table_options};
use keyfold_local::EmbeddedDynamo;
use serde_json::{Value, json};

/// A table with everything, and one that a retrofit begins at.
const MANIFEST: &str = r#"
[tables.orders]
name = "OrdersOfShop"
managed = false
partition = "customer"
sort = "id"
ttl = "gone"
attributes = { customer = "string", id = "string", status = "string", day = "string", gone = "number" }

[tables.orders.indexes.byStatus]
partition = "status"
sort = "day"

[tables.orders.indexes.byDay]
partition = "day"

[tables.orders.indexes.ofDay]
sort = "day"

[tables.old]
managed = false
partition = "id"
attributes = { id = "string", customer = "string", status = "string", day = "string", gone = "number" }

[retrofits.move]
from = "orders"
to = "old"
"#;

struct Shop {
    dynamo: EmbeddedDynamo,
    folder: tempfile::TempDir,
    model: Model,
}

impl Shop {
    fn empty() -> Shop {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("keyfold.toml"), MANIFEST).unwrap();
        let parsed = manifest::parse("keyfold.toml", MANIFEST);
        let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
        Shop { dynamo: EmbeddedDynamo::memory().unwrap(), folder, model }
    }

    fn orders(&self) -> Table {
        self.model.table("orders").unwrap().clone()
    }

    async fn create(&self, live: &Table, stream: bool) {
        self.dynamo.create_tables([live], TableOptions { stream }).await.unwrap();
    }

    fn command(&self, words: &[&str]) -> Output {
        self.at(self.dynamo.endpoint(), words)
    }

    fn at(&self, endpoint: &str, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_keyfold"))
            .current_dir(self.folder.path())
            .env_remove("KEYFOLD_MANIFEST")
            .env("NO_COLOR", "1")
            .args(["--json", "tables"])
            .args(words)
            .args(["--endpoint", endpoint])
            .output()
            .unwrap()
    }

    /// What is printed of each table, and whether the command says yes.
    fn tables(&self, words: &[&str]) -> (Vec<Value>, bool) {
        let output = self.command(words);
        let value: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        (value["tables"].as_array().unwrap().clone(), output.status.success())
    }

    async fn plan(&self, table: &Table) -> TablePlan {
        let options = table_options(&self.model, table);
        plan_table(&self.dynamo.client(), table, options).await.unwrap()
    }
}

#[tokio::test]
async fn all_that_is_missing_is_made_and_then_nothing_differs() {
    let shop = Shop::empty();
    let mut live = shop.orders();
    live.indexes.retain(|index| index.name == "ofDay");
    shop.create(&live, false).await;

    let (tables, same) = shop.tables(&["diff"]);
    assert!(!same, "they differ");
    let steps = json!([
        "switch the stream on, with both images",
        "let items go when the time in `gone` is over",
        "add index `byDay`",
        "add index `byStatus`"
    ]);
    let of = |tables: &[Value], id: &str| tables.iter().find(|table| table["table"] == id).unwrap().clone();
    assert_eq!(of(&tables, "orders")["steps"], steps);
    assert_eq!(of(&tables, "old")["steps"], json!(["create the table, with all its indexes"]));
    assert!(!shop.plan(&shop.orders()).await.is_done(), "`diff` changes nothing");

    let (tables, done) = shop.tables(&["apply"]);
    assert!(done && of(&tables, "orders")["steps"] == steps, "{tables:?}");
    for table in &shop.model.tables {
        assert_eq!(shop.plan(table).await.steps, [], "`{}`", table.id);
    }
    let (tables, same) = shop.tables(&["diff"]);
    assert!(same && of(&tables, "orders")["steps"] == json!([]), "{tables:?}");
    let (tables, done) = shop.tables(&["apply", "orders"]);
    assert!(done && tables.len() == 1, "{tables:?}");
    shop.dynamo.shutdown();
}

#[tokio::test]
async fn what_dynamodb_cannot_change_is_told_and_then_nothing_is_changed() {
    let shop = Shop::empty();
    let mut live = shop.orders();
    let mut turned = live.index("byStatus").unwrap().clone();
    std::mem::swap(&mut turned.partition, &mut turned.sort);
    let mut other = live.index("byDay").unwrap().clone();
    other.name = "forgotten".to_owned();
    live.indexes = vec![turned, other];
    live.ttl = None;
    shop.create(&live, true).await;
    let client = shop.dynamo.client();
    let elsewhere = Table { ttl: Some("day".to_owned()), ..live };
    keyfold_dynamo::enable_ttl(&client, &elsewhere).await.unwrap();

    let (tables, same) = shop.tables(&["diff", "orders"]);
    assert!(!same);
    let differences = |member: &str| -> Vec<String> {
        let found = tables[0][member].as_array().unwrap().iter();
        assert!(found.clone().all(|one| one["hint"].as_str().is_some_and(|hint| hint.len() > 20)));
        found.map(|one| one["difference"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        differences("obstacles"),
        [
            "the key of index `byStatus` is partition `day`, sort `status` instead of partition `status`, sort `day`",
            "index `ofDay` is missing",
            "its items go by `day` instead of `gone`",
        ]
    );
    assert_eq!(differences("extras"), ["index `forgotten` is not in the manifest"]);

    // `old` could be created, and `byDay` added: nothing is.
    let output = shop.command(&["apply"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in
        ["table-differs", "`OrdersOfShop`", "the key of index `byStatus`", "`ofDay` is missing", "hint"]
    {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(shop.plan(&shop.orders()).await.added().collect::<Vec<_>>(), ["byDay"]);
    assert_eq!(shop.plan(shop.model.table("old").unwrap()).await.steps.len(), 1, "it was not created");
    // By itself, it is nobody's obstacle.
    assert!(shop.tables(&["apply", "old"]).1);
    shop.dynamo.shutdown();
}

#[tokio::test]
async fn on_this_machine_no_table_is_left_to_a_stack() {
    let shop = Shop::empty();
    let text = MANIFEST.replace("managed = false\n", "");
    std::fs::write(shop.folder.path().join("keyfold.toml"), text).unwrap();
    assert!(shop.tables(&["apply"]).1);
    shop.dynamo.shutdown();
}
