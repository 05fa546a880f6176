//! `keyfold index add`, against the embedded DynamoDB. There an index is active at once; a proxy lets it take its time.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_dynamo::{TableOptions, describe};
use keyfold_harness::{Between, Proxy, Request};
use keyfold_local::EmbeddedDynamo;
use serde_json::{Value, json};

/// Two global indexes that share a key attribute, and a local one.
const MANIFEST: &str = r#"
[tables.orders]
name = "OrdersOfShop"
managed = false
partition = "customer"
sort = "id"
attributes = { customer = "string", id = "string", status = "string", day = "string" }

[tables.orders.indexes.byStatus]
partition = "status"
sort = "day"

[tables.orders.indexes.byDay]
partition = "day"

[tables.orders.indexes.ofDay]
sort = "day"
"#;

struct Shop {
    dynamo: EmbeddedDynamo,
    folder: tempfile::TempDir,
    model: Model,
}

impl Shop {
    /// The live table has only these of the indexes.
    async fn with(indexes: &[&str]) -> Shop {
        let model = manifest::parse("keyfold.toml", MANIFEST).model.unwrap();
        let mut live = model.table("orders").unwrap().clone();
        live.indexes.retain(|index| indexes.contains(&&*index.name));
        Shop::live(model, &live).await
    }

    async fn live(model: Model, live: &Table) -> Shop {
        let dynamo = EmbeddedDynamo::memory().unwrap();
        dynamo.create_tables([live], TableOptions::default()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("keyfold.toml"), MANIFEST).unwrap();
        Shop { dynamo, folder, model }
    }

    fn command(&self, endpoint: &str, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyfold"));
        command
            .current_dir(self.folder.path())
            .env_remove("KEYFOLD_MANIFEST")
            .env("NO_COLOR", "1")
            .args(["--json", "index", "add", "orders"])
            .args(words)
            .args(["--endpoint", endpoint]);
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(self.dynamo.endpoint(), words).output().unwrap()
    }

    fn done(&self, words: &[&str]) -> Value {
        json_of(&self.run(words))
    }

    fn refused(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stderr).unwrap()
    }

    /// How the live table differs from the manifest.
    async fn differs(&self) -> String {
        let table = self.model.table("orders").unwrap();
        describe(&self.dynamo.client(), table, TableOptions::default()).await.unwrap().to_string()
    }
}

fn json_of(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn all_that_the_table_lacks_is_added_and_once_more_does_nothing() {
    let shop = Shop::with(&["ofDay"]).await;
    let checked = shop.done(&["--all", "--check"]);
    assert_eq!(checked["missing"], json!(["byStatus", "byDay"]));
    assert_eq!(shop.differs().await, "index `byDay` is missing; index `byStatus` is missing", "only checked");
    assert_eq!(shop.done(&["byStatus"])["added"], json!(["byStatus"]));
    assert_eq!(shop.differs().await, "index `byDay` is missing");
    let all = shop.done(&["--all", "--warm-throughput", "12000,4000"]);
    assert_eq!(all["added"], json!(["byDay"]));
    assert_eq!(shop.differs().await, "");
    assert_eq!(shop.done(&["--all"])["added"], json!([]));
    assert!(!shop.run(&[]).status.success(), "which ones?");
    shop.dynamo.shutdown();
}

#[tokio::test]
async fn what_cannot_become_the_manifests_is_refused_and_nothing_is_added() {
    let shop = Shop::with(&[]).await;
    let said = shop.refused(&["--all"]);
    for words in ["local-index-missing", "`OrdersOfShop`", "`ofDay`", "a local one"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(shop.refused(&["ofDay"]).contains("local-index-missing"));
    assert!(shop.refused(&["nope"]).contains("has no index `nope`"));
    assert!(shop.differs().await.contains("`byDay` is missing; index `byStatus` is missing"));
    shop.dynamo.shutdown();

    let model = manifest::parse("keyfold.toml", MANIFEST).model.unwrap();
    let table = model.table("orders").unwrap();
    let mut other = table.clone();
    let mut turned = table.index("byStatus").unwrap().clone();
    std::mem::swap(&mut turned.partition, &mut turned.sort);
    other.indexes = vec![turned, table.index("ofDay").unwrap().clone()];
    let shop = Shop::live(model.clone(), &other).await;
    let said = shop.refused(&["--all"]);
    for words in
        ["table-differs", "`OrdersOfShop`", "`byStatus` is partition `day`, sort `status` instead of"]
    {
        assert!(said.contains(words), "{said}");
    }
    assert!(shop.differs().await.contains("`byDay` is missing"), "nothing was added");
    assert_eq!(shop.done(&["byDay"])["added"], json!(["byDay"]), "the other index is nobody's matter here");
    shop.dynamo.shutdown();
}

/// Each new index is seen as being filled until it has been looked at so often.
#[derive(Default)]
struct Slow {
    looks: Mutex<BTreeMap<String, u32>>,
    /// So many looks; `None` for ever.
    enough: Mutex<Option<u32>>,
    created: Mutex<Vec<String>>,
}

impl Between for Slow {
    fn before(&self, request: &Request) -> Option<(u16, Value)> {
        let updates = request.body["GlobalSecondaryIndexUpdates"]
            .as_array()
            .filter(|_| request.operation == "UpdateTable")?;
        assert_eq!(updates.len(), 1, "DynamoDB takes one at a time");
        let name = updates[0]["Create"]["IndexName"].as_str().unwrap().to_owned();
        let busy = self.looks.lock().unwrap().values().any(|looks| self.filling(*looks));
        if busy {
            let error = json!({ "__type": "com.amazonaws.dynamodb.v20120810#LimitExceededException",
                "message": "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table" });
            return Some((400, error));
        }
        self.looks.lock().unwrap().insert(name.clone(), 0);
        self.created.lock().unwrap().push(name);
        None
    }

    fn after(&self, request: &Request, answer: &mut Value) {
        if request.operation != "DescribeTable" {
            return;
        }
        for index in answer["Table"]["GlobalSecondaryIndexes"].as_array_mut().into_iter().flatten() {
            let name = index["IndexName"].as_str().unwrap().to_owned();
            let mut looks = self.looks.lock().unwrap();
            let Some(looks) = looks.get_mut(&name) else { continue };
            if self.filling(*looks) {
                *looks += 1;
                index["IndexStatus"] = json!("CREATING");
                index["Backfilling"] = json!(*looks > 1);
                index["ItemCount"] = json!(*looks);
            }
        }
    }
}

impl Slow {
    fn filling(&self, looks: u32) -> bool {
        self.enough.lock().unwrap().is_none_or(|enough| looks < enough)
    }
}

#[tokio::test]
async fn each_index_waits_for_the_one_before_it() {
    let shop = Shop::with(&["ofDay"]).await;
    let slow = Arc::new(Slow::default());
    *slow.enough.lock().unwrap() = Some(3);
    let proxy = Proxy::start(shop.dynamo.endpoint(), Arc::clone(&slow) as Arc<dyn Between>);
    let output = shop.command(proxy.endpoint(), &["--all"]).output().unwrap();
    assert_eq!(json_of(&output)["added"], json!(["byStatus", "byDay"]));
    assert_eq!(*slow.created.lock().unwrap(), ["byStatus", "byDay"]);
    assert_eq!(
        *slow.looks.lock().unwrap(),
        BTreeMap::from([("byDay".to_owned(), 3), ("byStatus".to_owned(), 3)])
    );
    let said = String::from_utf8(output.stderr).unwrap();
    for words in [
        "`byStatus` creating, `byDay` missing",
        "`byStatus` filling (2 of about ",
        "`byStatus` active, `byDay` creating",
    ] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(shop.differs().await, "");
    shop.dynamo.shutdown();
}

#[tokio::test]
async fn a_command_that_was_stopped_or_killed_is_repeated_and_goes_on() {
    let shop = Shop::with(&["ofDay"]).await;
    let slow = Arc::new(Slow::default());
    let proxy = Proxy::start(shop.dynamo.endpoint(), Arc::clone(&slow) as Arc<dyn Between>);
    for (signal, code) in [("-INT", Some(130)), ("-KILL", None)] {
        let mut child = shop.command(proxy.endpoint(), &["--all"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("`byStatus` filling")));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), code);
        assert_eq!(*slow.created.lock().unwrap(), ["byStatus"], "asked for once");
    }
    // While it is filled by nobody's hand here, it is filled by DynamoDB.
    *slow.enough.lock().unwrap() = Some(1);
    let output = shop.command(proxy.endpoint(), &["--all"]).output().unwrap();
    assert_eq!(json_of(&output)["added"], json!(["byDay"]));
    assert_eq!(*slow.created.lock().unwrap(), ["byStatus", "byDay"]);
    assert_eq!(shop.differs().await, "");
    shop.dynamo.shutdown();
}

#[tokio::test]
async fn an_index_of_a_table_that_a_stack_makes_is_left_to_the_stack() {
    let shop = Shop::with(&["ofDay"]).await;
    let text = MANIFEST.replace("managed = false\n", "");
    std::fs::write(shop.folder.path().join("keyfold.toml"), text).unwrap();
    // Nothing is sent there.
    let output = shop.command("https://127.0.0.1:1", &["--all"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("made by a stack") && said.contains("--stages") && said.contains("managed = false"),
        "{said}"
    );
    // On this machine there is no stack.
    assert_eq!(shop.done(&["byDay"])["added"], json!(["byDay"]));
    shop.dynamo.shutdown();
}
