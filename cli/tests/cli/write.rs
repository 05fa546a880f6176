//! `keyfold put`, `update`, `delete` and `load`.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use keyfold_core::value::{AttributeValue, Item};
use keyfold_harness::{Between, Proxy, Request};
use serde_json::{Value, json};

use crate::support::{Site, item_of, json_of, kill, stderr};

const MANIFEST: &str = r#"
[tables.visits]
partition = "id"
attributes = { id = "string", user = "string", place = "string", at = "timestamp", count = "number" }

[tables.visits.indexes.byUserPlace]
partition = "{user}-{place}"
sort = "at"
"#;
const KEY: &str = "byUserPlace_pk";

/// The sort key depends on the entity.
const SHOP: &str = r#"
[tables.shop]
partition = "customer"
sort = { attribute = "SK" }
entity-attribute = "kind"
attributes = { customer = "string", id = "string", kind = "string" }
entities.order.sort = "ORDER#{id}"
entities.note.sort = "NOTE#{id}"
"#;

struct Desk {
    site: Site,
}

impl Desk {
    async fn new() -> Desk {
        let site = Site::new(MANIFEST);
        site.create(site.table("visits"), false).await;
        Desk { site }
    }

    fn done(&self, words: &[&str]) -> Value {
        self.site.done(words)
    }

    fn refused(&self, words: &[&str], code: &str) -> String {
        let said = self.site.refused(words);
        let document: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{words:?}: {said}"));
        assert_eq!(document["code"], code, "{words:?}: {said}");
        said
    }

    async fn item(&self, id: &str) -> Option<Item> {
        self.site.items("visits", &[item_of([("id", id.to_owned())])]).await.pop()
    }

    fn count(&self) -> u64 {
        let counted = self.done(&["query", "--table", "visits", "--scan", "--count", "--all"]);
        counted["count"].as_u64().unwrap()
    }

    fn file(&self, text: &str) -> String {
        let path = self.site.folder.path().join("items.jsonl");
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn mark(&self) -> bool {
        self.site.folder.path().join("items.jsonl.progress").exists()
    }
}

fn visit(id: usize, place: &str) -> String {
    json!({ "id": format!("v{id}"), "user": "ann", "place": place, "at": "2026-03-01T08:00:00Z" }).to_string()
}

fn text(item: &Item, name: &str) -> String {
    match &item[name] {
        AttributeValue::S(text) | AttributeValue::N(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_item_is_put_once_and_over_another_only_with_replace() {
    let desk = Desk::new().await;
    let harbour = visit(1, "harbour");
    desk.done(&["put", "visits", &harbour]);
    assert_eq!(text(&desk.item("v1").await.unwrap(), KEY), "ann-harbour");
    let said = desk.refused(&["put", "visits", &visit(1, "museum")], "item-exists");
    assert!(said.contains("--replace") && !said.contains("harbour") && !said.contains("museum"), "{said}");
    assert_eq!(text(&desk.item("v1").await.unwrap(), KEY), "ann-harbour");
    desk.done(&["put", "visits", &visit(1, "museum"), "--replace"]);
    assert_eq!(text(&desk.item("v1").await.unwrap(), KEY), "ann-museum");
    desk.refused(&["put", "visits", r#"{"user":"ann"}"#], "item-key-missing");
    desk.refused(&["put", "visits", r#"{"id":"v2","id":"v3"}"#], "malformed-request");
    desk.refused(&["put", "visits", r#"{"id":"v2"}"#, "--entity", "cat"], "item-unknown-entity");
    desk.refused(&["put", "visits", r#"{"id":"v2","keyfold_x":1}"#], "item-attribute-reserved");
    // A double would lose the last digits.
    desk.done(&["put", "visits", r#"{"id":"v3","count":12345678901234567890.5}"#]);
    assert_eq!(text(&desk.item("v3").await.unwrap(), "count"), "12345678901234567890.5");
}

#[tokio::test]
async fn an_update_takes_the_folded_keys_along_and_happens_only_as_expected() {
    let desk = Desk::new().await;
    desk.done(&["put", "visits", &visit(1, "harbour")]);
    let key = ["update", "visits", "--key", "id=v1"];
    let update = |words: &[&'static str]| [&key[..], words].concat();
    desk.done(&update(&["--set", "place=museum", "--set", "count=007", "--set", "tags:=[1,{\"a\":null}]"]));
    let item = desk.item("v1").await.unwrap();
    assert_eq!((text(&item, KEY), text(&item, "count")), ("ann-museum".to_owned(), "7".to_owned()));
    assert!(matches!(&item["tags"], AttributeValue::L(list) if list.len() == 2));
    desk.refused(&update(&["--set", "place=park", "--if", "place=harbour"]), "expectation-failed");
    desk.refused(&update(&["--set", "place=park", "--if", "count!?"]), "expectation-failed");
    desk.refused(&update(&["--set", "id=v2"]), "update-primary-key");
    desk.refused(&update(&["--set", "byUserPlace_pk=x"]), "update-folded-attribute");
    desk.refused(&["update", "visits", "--key", "id=v9", "--set", "place=park"], "item-not-found");
    assert_eq!(desk.item("v1").await.unwrap(), item, "nothing was changed");
    desk.done(&update(&["--remove", "place", "--if", "place=museum", "--if", "count=7"]));
    let item = desk.item("v1").await.unwrap();
    assert!(!item.contains_key(KEY) && !item.contains_key("place"), "a key without its parts");
}

#[tokio::test]
async fn an_entity_completes_the_key_of_an_update_and_of_a_deletion() {
    let site = Site::new(SHOP);
    site.create(site.table("shop"), false).await;
    let desk = Desk { site };
    desk.done(&["put", "shop", r#"{"customer":"ann","kind":"order","id":"7"}"#]);
    let key = ["shop", "--key", "customer=ann", "--key", "id=7"];
    let with = |command: &'static str, words: &[&'static str]| [&[command], &key[..], words].concat();
    desk.done(&with("update", &["--entity", "order", "--set", "note=x"]));
    desk.refused(&with("update", &["--entity", "note", "--set", "note=x"]), "item-not-found");
    desk.refused(&with("update", &["--entity", "cat", "--set", "note=x"]), "item-unknown-entity");
    let deleted = desk.done(&with("delete", &["--entity", "order"]));
    assert_eq!(deleted["item"]["note"], "x");
}

#[tokio::test]
async fn an_item_is_deleted_only_as_expected() {
    let desk = Desk::new().await;
    desk.done(&["put", "visits", &visit(1, "harbour")]);
    let delete = ["delete", "visits", "--key", "id=v1"];
    desk.refused(&[&delete[..], &["--if", "place=museum"]].concat(), "expectation-failed");
    assert!(desk.item("v1").await.is_some());
    let deleted = desk.done(&[&delete[..], &["--if", "place=harbour"]].concat());
    assert_eq!((&deleted["deleted"], &deleted["item"]["user"]), (&json!(true), &json!("ann")));
    assert_eq!(desk.done(&delete)["deleted"], false);
    desk.refused(&[&delete[..], &["--if", "place=harbour"]].concat(), "item-not-found");
}

fn visits(ids: std::ops::Range<usize>) -> String {
    ids.fold(String::new(), |mut text, id| {
        writeln!(text, "{}", visit(id, "harbour")).unwrap();
        text
    })
}

#[tokio::test]
async fn a_file_is_loaded_and_what_is_there_is_left_as_it_is() {
    let desk = Desk::new().await;
    desk.done(&["put", "visits", &visit(1, "harbour")]);
    desk.done(&["put", "visits", &visit(2, "museum")]);
    let file = desk.file(&format!("{}\n{}", visits(0..3), visits(3..5)));
    let output = desk.site.run(&["load", "visits", &file]);
    assert_eq!(output.status.code(), Some(1), "one key is taken: {}", stderr(&output));
    let loaded: Value = serde_json::from_slice(&output.stdout).unwrap();
    let counts = |loaded: &Value| ["written", "there", "taken"].map(|name| loaded[name].as_u64().unwrap());
    assert_eq!((counts(&loaded), &loaded["takenLines"]), ([3, 1, 1], &json!([3])));
    assert_eq!(text(&desk.item("v2").await.unwrap(), "place"), "museum");
    assert_eq!(text(&desk.item("v4").await.unwrap(), KEY), "ann-harbour");
    assert!(!desk.mark(), "it is over");
    let loaded = desk.done(&["load", "visits", &file, "--replace"]);
    assert_eq!(counts(&loaded), [5, 0, 0]);
    assert_eq!(text(&desk.item("v2").await.unwrap(), KEY), "ann-harbour");
}

#[tokio::test]
async fn a_file_with_a_mistake_writes_nothing() {
    let desk = Desk::new().await;
    let bad = format!("{}{}\n{}not json: secret\n", visits(0..700), r#"{"user":"secret"}"#, visits(700..702));
    let said = desk.refused(&["load", "visits", &desk.file(&bad)], "item-invalid");
    assert!(said.contains("line 701") && said.contains("line 704") && said.contains("2 lines"), "{said}");
    assert!(!said.contains("secret"), "{said}");
    assert_eq!(desk.count(), 0);
    assert!(!desk.mark());
}

/// Kills or stops the command at the n-th request that writes, and counts them.
struct Deadly {
    writes: AtomicU64,
    at: u64,
    signal: &'static str,
    victim: AtomicU32,
}

impl Between for Deadly {
    fn before(&self, request: &Request) -> Option<(u16, Value)> {
        if request.operation == "BatchExecuteStatement" {
            let count = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
            if count == self.at {
                kill(self.signal, self.victim.load(Ordering::SeqCst));
            }
        }
        None
    }

    fn after(&self, _: &Request, _: &mut Value) {}
}

#[tokio::test]
async fn a_load_that_was_stopped_or_killed_goes_on_and_no_item_is_missing_or_in_conflict() {
    for (signal, code) in [("-KILL", None), ("-INT", Some(130))] {
        let desk = Desk::new().await;
        let file = desk.file(&visits(0..1700));
        let deadly = Arc::new(Deadly {
            writes: AtomicU64::new(0),
            // In the middle of the second part.
            at: 31,
            signal,
            victim: AtomicU32::new(0),
        });
        let proxy = Proxy::start(desk.site.dynamo().endpoint(), Arc::clone(&deadly) as Arc<dyn Between>);
        let mut child = desk.site.command_at(proxy.endpoint(), &["load", "visits", &file]).spawn().unwrap();
        deadly.victim.store(child.id(), Ordering::SeqCst);
        assert_eq!(child.wait().unwrap().code(), code);
        let before = desk.count();
        assert!((500..1700).contains(&before) && desk.mark(), "{signal}: {before} items");

        let again = desk.site.run(&["load", "visits", &file, "--replace"]);
        assert!(stderr(&again).contains("another load"), "other options: {}", stderr(&again));
        let other = desk.file(&visits(7..1707));
        assert!(stderr(&desk.site.run(&["load", "visits", &other])).contains("--again"), "another file");
        desk.file(&visits(0..1700));

        let output = desk.site.run(&["load", "visits", &file]);
        assert!(stderr(&output).contains("continues after line "), "{}", stderr(&output));
        let loaded = json_of(&output);
        assert_eq!((&loaded["items"], &loaded["taken"]), (&json!(1700), &json!(0)), "{loaded}");
        assert_eq!(desk.count(), 1700);
        assert!(!desk.mark());
    }
}
