//! `keyfold index add`. In the embedded DynamoDB an index is active at once; a proxy delays it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use keyfold_core::model::Table;
use keyfold_dynamo::{TableOptions, describe};
use keyfold_harness::{Between, Proxy, Request};
use serde_json::{Value, json};

use crate::support::{Site, assert_words, json_of, kill, refusal_of, stderr};

/// Two global indexes that share a key attribute, and a local one.
const MANIFEST: &str = r#"
[tables.orders]
name = "OrdersOfShop"
managed = false
partition = "customer"
sort = "id"
attributes = { customer = "string", id = "string", status = "string", day = "string" }
indexes.byStatus = { partition = "status", sort = "day" }
indexes.byDay.partition = "day"
indexes.ofDay.sort = "day"
"#;

/// The live table has only these of the indexes.
async fn shop(indexes: &[&str]) -> Site {
    let site = Site::new(MANIFEST);
    let mut live = site.table("orders").clone();
    live.indexes.retain(|index| indexes.contains(&&*index.name));
    site.create(&live, false).await;
    site
}

fn add<'w>(words: &[&'w str]) -> Vec<&'w str> {
    [&["index", "add", "orders"], words].concat()
}

/// The differences between the live table and the manifest.
async fn differences(site: &Site) -> String {
    describe(&site.client(), site.table("orders"), TableOptions::default()).await.unwrap().to_string()
}

#[tokio::test]
async fn all_missing_indexes_are_added_and_once_more_does_nothing() {
    let site = shop(&["ofDay"]).await;
    let checked = site.done(&add(&["--all", "--check"]));
    assert_eq!(checked["missing"], json!(["byStatus", "byDay"]));
    assert_eq!(
        differences(&site).await,
        "index `byDay` is missing; index `byStatus` is missing",
        "only checked"
    );
    assert_eq!(site.done(&add(&["byStatus"]))["added"], json!(["byStatus"]));
    assert_eq!(differences(&site).await, "index `byDay` is missing");
    let all = site.done(&add(&["--all", "--warm-throughput", "12000,4000"]));
    assert_eq!(all["added"], json!(["byDay"]));
    assert_eq!(differences(&site).await, "");
    assert_eq!(site.done(&add(&["--all"]))["added"], json!([]));
    assert!(!site.run(&add(&[])).status.success(), "which ones?");
}

#[tokio::test]
async fn an_index_that_cannot_become_the_manifests_is_refused_and_nothing_is_added() {
    let site = shop(&[]).await;
    let words = ["local-index-missing", "`OrdersOfShop`", "`ofDay`", "a local one"];
    assert_words(&site.refused(&add(&["--all"])), &words);
    assert_words(&site.refused(&add(&["ofDay"])), &["local-index-missing"]);
    assert_words(&site.refused(&add(&["nope"])), &["has no index `nope`"]);
    assert_words(&differences(&site).await, &["`byDay` is missing; index `byStatus` is missing"]);

    let site = Site::new(MANIFEST);
    let table = site.table("orders");
    let mut turned = table.index("byStatus").unwrap().clone();
    std::mem::swap(&mut turned.partition, &mut turned.sort);
    let indexes = vec![turned, table.index("ofDay").unwrap().clone()];
    site.create(&Table { indexes, ..table.clone() }, false).await;
    let words =
        ["table-differs", "`OrdersOfShop`", "`byStatus` is partition `day`, sort `status` instead of"];
    assert_words(&site.refused(&add(&["--all"])), &words);
    assert_words(&differences(&site).await, &["`byDay` is missing"]);
    assert_eq!(
        site.done(&add(&["byDay"]))["added"],
        json!(["byDay"]),
        "the other index does not matter here"
    );
}

/// Each new index is shown as being filled until it was described this many times.
#[derive(Default)]
struct Slow {
    looks: Mutex<BTreeMap<String, u32>>,
    /// `None`: never.
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
    let site = shop(&["ofDay"]).await;
    let slow = Arc::new(Slow::default());
    *slow.enough.lock().unwrap() = Some(3);
    let proxy = Proxy::start(site.dynamo().endpoint(), Arc::clone(&slow) as Arc<dyn Between>);
    let output = site.command_at(proxy.endpoint(), &add(&["--all"])).output().unwrap();
    assert_eq!(json_of(&output)["added"], json!(["byStatus", "byDay"]));
    assert_eq!(*slow.created.lock().unwrap(), ["byStatus", "byDay"]);
    let looks = BTreeMap::from([("byDay".to_owned(), 3), ("byStatus".to_owned(), 3)]);
    assert_eq!(*slow.looks.lock().unwrap(), looks);
    let words = [
        "`byStatus` creating, `byDay` missing",
        "`byStatus` filling (2 of about ",
        "`byStatus` active, `byDay` creating",
    ];
    assert_words(&stderr(&output), &words);
    assert_eq!(differences(&site).await, "");
}

#[tokio::test]
async fn a_command_that_was_stopped_or_killed_is_repeated_and_continues() {
    let site = shop(&["ofDay"]).await;
    let slow = Arc::new(Slow::default());
    let proxy = Proxy::start(site.dynamo().endpoint(), Arc::clone(&slow) as Arc<dyn Between>);
    for (signal, code) in [("-INT", Some(130)), ("-KILL", None)] {
        let mut command = site.command_at(proxy.endpoint(), &add(&["--all"]));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("`byStatus` filling")));
        kill(signal, child.id());
        assert_eq!(child.wait().unwrap().code(), code);
        assert_eq!(*slow.created.lock().unwrap(), ["byStatus"], "asked for once");
    }
    *slow.enough.lock().unwrap() = Some(1);
    let output = site.command_at(proxy.endpoint(), &add(&["--all"])).output().unwrap();
    assert_eq!(json_of(&output)["added"], json!(["byDay"]));
    assert_eq!(*slow.created.lock().unwrap(), ["byStatus", "byDay"]);
    assert_eq!(differences(&site).await, "");
}

#[tokio::test]
async fn an_index_of_a_table_that_a_stack_makes_is_left_to_the_stack() {
    let site = shop(&["ofDay"]).await;
    site.rewrite(&MANIFEST.replace("managed = false\n", ""));
    // Nothing is sent there.
    let output = site.command_at("https://127.0.0.1:1", &add(&["--all"])).output().unwrap();
    assert_words(&refusal_of(&output), &["made by a stack", "--stages", "managed = false"]);
    // On this machine there is no stack.
    assert_eq!(site.done(&add(&["byDay"]))["added"], json!(["byDay"]));
}
