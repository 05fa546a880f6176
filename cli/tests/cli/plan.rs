//! `keyfold retrofit plan --full` shows the changes that `run` then makes, on messy items, for each protocol. It writes
//! nothing.

use keyfold_core::value::Item;
use keyfold_dynamo::{PageRequest, ScanPage, TableOptions, scan_page};
use serde_json::{Value, json};

use crate::support::{FAST, Site, assert_words, keyfold_in, stderr, stdout};

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

async fn messy_tables() -> Site {
    let site = Site::new(MANIFEST);
    site.dynamo().create_tables(&site.model.tables, TableOptions { stream: true }).await.unwrap();
    for id in ["old", "same"] {
        site.load(site.table(id), (0..ITEMS).map(messy)).await;
    }
    site
}

async fn items(site: &Site, id: &str) -> Vec<Item> {
    let page = PageRequest { table: site.table(id).name.clone(), consistent: true, ..PageRequest::default() };
    scan_page(&site.client(), &ScanPage { page, segment: None }).await.unwrap().items
}

/// The misfits without their examples: which of the colliding items comes first is left open.
fn by_reason(report: &Value) -> Vec<Value> {
    let mut misfits = report["misfits"].as_array().unwrap().clone();
    for one in &mut misfits {
        assert!(!one["examples"].as_array().unwrap().is_empty(), "{one}");
        one["examples"].take();
    }
    misfits
}

#[tokio::test]
async fn a_full_plan_shows_what_a_backfill_does() {
    let site = messy_tables().await;
    let done = |words: &[&str]| site.done(&[&["retrofit"], words].concat());
    let full = |more: &[&str]| {
        let words = [&["retrofit", "plan", "moved", "--endpoint", site.dynamo().endpoint()], more].concat();
        keyfold_in(site.folder.path(), &words).output().unwrap()
    };
    assert!(!stderr(&full(&["--full"])).contains("the target holds items already"));
    for (retrofit, target) in [("moved", "new"), ("rekeyed", "keyed"), ("inPlace", "same")] {
        let before = items(&site, target).await;
        let plan = done(&["plan", retrofit, "--full", "--segments", "3"]);
        assert_eq!(items(&site, target).await, before, "a plan writes nothing");
        assert_eq!((&plan["items"], &plan["sampled"]), (&json!(ITEMS), &json!(ITEMS)), "{plan}");
        assert_eq!(plan["counts"]["quarantined"], plan["refused"]);
        let sampled = done(&["plan", retrofit, "--sample", "5", "--items", "400"]);
        assert_ne!(by_reason(&sampled), by_reason(&plan), "a sample does not find the rare ones");

        let backfill = done(&["run", retrofit, "--until", "backfill", "--rate", FAST])["backfill"].take();
        assert_eq!(plan["counts"], backfill["counts"], "{retrofit}");
        assert_eq!(by_reason(&plan), by_reason(&backfill), "{retrofit}");
        assert!(by_reason(&plan).len() >= 4, "{plan}");
    }
    let plan = done(&["plan", "rekeyed", "--full"]);
    let misfits = by_reason(&plan);
    let collided =
        misfits.iter().find(|one| one["reason"] == "collides").and_then(|one| one["items"].as_u64());
    assert!(collided.is_some_and(|items| items > 100), "{plan}");
    assert!(!plan.to_string().contains("yesterday"), "no contents");

    let output = full(&["--full"]);
    assert_words(&stdout(&output), &["400 (all were read)", "items that do not fit:\n"]);
    assert_words(&stderr(&output), &["the target holds items already"]);
    for wrong in [["--full", "--sample", "7"], ["--rate", "5", "--sample"]] {
        assert_eq!(full(&wrong).status.code(), Some(2));
    }
}
