//! `keyfold retrofit plan --full` says what `backfill` then does, on messy items, for each protocol. And it writes nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Command, Output};

use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::value::Item;
use keyfold_dynamo::{TableOptions, load};
use keyfold_local::EmbeddedDynamo;
use serde_json::{Value, json};

const MANIFEST: &str = r#"
[tables.old]
partition = "id"
attributes = { id = "string", hidden = "boolean" }
[tables.new]
partition = "id"
attributes = { id = "string", owner = "string", at = "timestamp", size = "number" }
indexes.byOwner = { partition = "o#{owner}", sort = "{at}" }
indexes.bySize.partition = "s#{size:03}"
[tables.keyed]
partition = "{owner}"
sort = "{size:03}"
attributes = { id = "string", owner = { type = "string", required = true }, at = "timestamp", size = "number" }
[tables.same]
partition = "id"
attributes = { id = "string", owner = "string", at = "timestamp", size = "number" }
indexes.byOwner = { partition = "o#{owner}", sort = "t#{at}" }
[retrofits.moved]
from = "old"
to = "new"
only = { hidden = { exists = false } }
[retrofits.rekeyed]
from = "old"
to = "keyed"
[retrofits.inPlace]
from = "same"
to = "same"
"#;
const ITEMS: usize = 400;

/// Every fifth item has a flaw of one of many kinds; sizes repeat, so that keys of owner and size collide.
fn messy(number: usize) -> Item {
    let mut item = json!({
        "id": { "S": format!("i{number:04}") }, "owner": { "S": format!("ann{}", number % 3) },
        "at": { "S": "2017-03-01T08:00:00Z" }, "size": { "N": (number % 120).to_string() },
    });
    let (name, value) = match number % 35 {
        0 => ("at", Some(json!({ "S": "yesterday" }))),
        5 => ("at", Some(json!({ "N": "1488355200" }))),
        10 => ("size", Some(json!({ "N": "1000" }))),
        15 => ("owner", None),
        20 => ("owner", Some(json!({ "N": "7" }))),
        25 => ("owner", Some(json!({ "S": "x".repeat(3000) }))),
        30 => ("hidden", Some(json!({ "BOOL": true }))),
        _ => ("note", Some(json!({ "S": "fits" }))),
    };
    match value {
        Some(value) => item[name] = value,
        None => drop(item.as_object_mut().unwrap().remove(name)),
    }
    serde_json::from_value(item).unwrap()
}

struct Scene {
    server: EmbeddedDynamo,
    manifest: tempfile::NamedTempFile,
    model: Model,
}

impl Scene {
    async fn new() -> Scene {
        let parsed = manifest::parse("keyfold.toml", MANIFEST);
        let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
        let server = EmbeddedDynamo::memory().unwrap();
        server.create_tables(&model.tables, TableOptions { stream: true }).await.unwrap();
        for id in ["old", "same"] {
            let unaware = Table { indexes: Vec::new(), ..model.table(id).unwrap().clone() };
            let unaware = Table { attributes: model.table("old").unwrap().attributes.clone(), ..unaware };
            let items = futures_util::stream::iter((0..ITEMS).map(messy));
            load(&server.client(), &unaware, items).await.unwrap();
        }
        let manifest = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(manifest.path(), MANIFEST).unwrap();
        Scene { server, manifest, model }
    }

    fn run(&self, json: bool, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyfold"));
        command.env_remove("KEYFOLD_MANIFEST").env("NO_COLOR", "1").args(json.then_some("--json"));
        command.arg("--manifest").arg(self.manifest.path()).arg("retrofit").args(arguments);
        command.args(["--endpoint", self.server.endpoint()]).output().unwrap()
    }

    fn done(&self, arguments: &[&str]) -> Value {
        let output = self.run(true, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    async fn items(&self, id: &str) -> Vec<Item> {
        let page = keyfold_dynamo::PageRequest {
            table: self.model.table(id).unwrap().name.clone(),
            consistent: true,
            ..keyfold_dynamo::PageRequest::default()
        };
        let scan = keyfold_dynamo::ScanPage { page, segment: None };
        keyfold_dynamo::scan_page(&self.server.client(), &scan).await.unwrap().items
    }
}

/// The misfits without their examples: of items that collide, it is left open which one is first.
fn by_reason(report: &Value) -> Vec<Value> {
    let mut found = report["misfits"].as_array().unwrap().clone();
    for one in &mut found {
        assert!(!one["examples"].as_array().unwrap().is_empty(), "{one}");
        one["examples"].take();
    }
    found
}

#[tokio::test]
async fn what_a_full_plan_says_is_what_a_backfill_does() {
    let scene = Scene::new().await;
    for (retrofit, target) in [("moved", "new"), ("rekeyed", "keyed"), ("inPlace", "same")] {
        let before = scene.items(target).await;
        let plan = scene.done(&["plan", retrofit, "--full", "--segments", "3"]);
        assert_eq!(scene.items(target).await, before, "a plan writes nothing");
        assert_eq!((&plan["items"], &plan["sampled"]), (&json!(ITEMS), &json!(ITEMS)), "{plan}");
        assert_eq!(plan["counts"]["quarantined"], plan["refused"]);
        let seldom = scene.done(&["plan", retrofit, "--sample", "5", "--items", "400"]);
        assert_ne!(by_reason(&seldom), by_reason(&plan), "a sample does not find the rare ones");

        scene.done(&["start", retrofit]);
        let backfill = scene.done(&["backfill", retrofit, "--rate", "1000000"]);
        assert_eq!(plan["counts"], backfill["counts"], "{retrofit}");
        assert_eq!(by_reason(&plan), by_reason(&backfill), "{retrofit}");
        assert!(by_reason(&plan).len() >= 4, "{plan}");
    }
    let collided = |report: &Value| {
        by_reason(report).iter().find(|one| one["reason"] == "collides").map(|one| one["items"].clone())
    };
    let plan = scene.done(&["plan", "rekeyed", "--full"]);
    assert!(collided(&plan).and_then(|items| items.as_u64()).is_some_and(|items| items > 100), "{plan}");
    assert!(!plan.to_string().contains("yesterday"), "no contents");
    scene.server.shutdown();
}

#[tokio::test]
async fn a_full_plan_says_in_words_that_all_was_read_and_what_it_cannot_know() {
    let scene = Scene::new().await;
    let output = scene.run(false, &["plan", "moved", "--full"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("400 (all were read)") && text.contains("items that do not fit:\n"), "{text}");
    assert!(!String::from_utf8(output.stderr).unwrap().contains("holds items already"));
    scene.done(&["start", "moved"]);
    scene.done(&["backfill", "moved", "--rate", "1000000"]);
    let output = scene.run(false, &["plan", "moved", "--full"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("the target holds items already"));
    for wrong in [["--full", "--sample", "7"], ["--rate", "5", "--sample"]] {
        assert_eq!(scene.run(false, &[&["plan", "moved"][..], &wrong].concat()).status.code(), Some(2));
    }
    scene.server.shutdown();
}
