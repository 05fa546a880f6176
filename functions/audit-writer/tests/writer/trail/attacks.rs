//! An attacker with all permissions on both tables, who undoes each step before the next.

use std::collections::HashMap;

use keyfold_core::audit::{Anchor, Chain, Content, Entry, Finding, Hash, Key, event_digest, left_out};
use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Client, Expected, delete, put};
use keyfold_local::runtime_api::InvocationResult;
use keyfold_trail::{AnchorFolder, VerifyOptions, anchor, now, read_anchors, verify, write_anchor};
use serde_json::{Value, json};

use super::{journal, model, options, report, report_of, rows, sample, told, trail};
use crate::function::{Function, direct, event};

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// A trail, and an attacker with all permissions.
struct Attacker {
    function: Function,
    client: Client,
    anchors: Vec<(Anchor, Hash)>,
}

impl Attacker {
    async fn new() -> Attacker {
        let function = Function::start(&sample(), &[]).await;
        for at in 0..3 {
            let list: Vec<Value> =
                (0..4).map(|nr| event(&format!("{at}{nr}"), &json!({ "note": "kept" }))).collect();
            assert_eq!(function.post(&json!(list).to_string()).await.0, 201);
        }
        let client = function.dynamo().client();
        let now = now();
        let anchor = anchor(&client, "Journal", &now[..10], &now, None, 1e9).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        write_anchor(folder.path(), &anchor).unwrap();
        Attacker { function, client, anchors: read_anchors(folder.path()).unwrap().anchors }
    }

    fn table(&self) -> &Table {
        &self.function.table
    }

    async fn item(&self, id: &str) -> Item {
        self.function.item(id).await.unwrap()
    }

    async fn write(&self, item: &Item) {
        put(&self.client, self.table(), item.clone()).await.unwrap();
    }

    async fn remove(&self, id: &str) {
        let key = Item::from(HashMap::from([("id".to_owned(), text(id))]));
        delete(&self.client, self.table(), &key, &Expected::nothing()).await.unwrap();
    }

    async fn write_row(&self, row: &Item) {
        put(&self.client, &journal(), row.clone()).await.unwrap();
    }

    async fn remove_row(&self, row: &Item) {
        delete(&self.client, &journal(), row, &Expected::nothing()).await.unwrap();
    }

    async fn found(&self) -> Vec<String> {
        told(&report(&self.function, Vec::new()).await)
    }

    async fn found_with_anchors(&self) -> Vec<String> {
        told(&report(&self.function, self.anchors.clone()).await)
    }

    async fn is_clean(&self) -> bool {
        self.found_with_anchors().await.is_empty()
    }
}

fn received(item: &Item, at: &str) -> AttributeValue {
    let AttributeValue::M(mut members) = item["received"].clone() else { panic!() };
    members.insert("at".to_owned(), text(at));
    AttributeValue::M(members)
}

#[tokio::test]
async fn what_is_done_to_events_is_found() {
    let attacker = Attacker::new().await;
    assert!(attacker.is_clean().await);
    let item = attacker.item("10").await;

    // One attribute is changed, added, removed.
    let mut changed = item.clone();
    changed.insert("accessedBy".to_owned(), text("ann"));
    let mut longer = item.clone();
    longer.insert("hint".to_owned(), text("added"));
    let mut shorter = item.clone();
    shorter.remove("note");
    // `received` is forged: an earlier time, one before the journal, none; another sender.
    let (mut earlier, mut before, mut unstamped) = (item.clone(), item.clone(), item.clone());
    earlier.insert("received".to_owned(), received(&item, &format!("{}T00:00:00.000Z", &now()[..10])));
    before.insert("received".to_owned(), received(&item, "2016-01-01T00:00:00.000Z"));
    unstamped.remove("received");
    for forged in [&changed, &longer, &shorter, &earlier, &before, &unstamped] {
        attacker.write(forged).await;
        assert_eq!(attacker.found().await, ["changed 10"]);
    }
    attacker.write(&item).await;
    assert!(attacker.is_clean().await);

    attacker.remove("10").await;
    assert_eq!(attacker.found().await, ["removed 10"]);
    // Sent again, it is written again; but not when it was.
    let again = event("10", &json!({ "note": "kept" })).to_string();
    assert_eq!(attacker.function.post(&again).await.0, 201);
    assert_eq!(attacker.found().await, ["removed 10"]);
    // The first one again, in place of the second, which is now missing.
    attacker.write(&item).await;
    assert_eq!(attacker.found().await, ["removed 10"]);
}

#[tokio::test]
async fn what_is_inserted_is_found_though_it_is_sent_to_the_writer_too() {
    let attacker = Attacker::new().await;
    let mut inserted = attacker.item("10").await;
    inserted.insert("id".to_owned(), text("new"));
    attacker.write(&inserted).await;
    assert_eq!(attacker.found().await, ["inserted new"]);
    let same = event("new", &json!({ "note": "kept" })).to_string();
    assert_eq!(attacker.function.post(&same).await.1["repeated"], json!(1), "the writer finds it there");
    assert_eq!(attacker.found().await, ["inserted new"]);
    attacker.remove("new").await;
    // The caller received a confirmation of it.
    assert_eq!(attacker.found().await, ["removed new"]);

    let attacker = Attacker::new().await;
    inserted.remove("received");
    attacker.write(&inserted).await;
    assert_eq!(attacker.found().await, ["unstamped new"]);
    attacker.remove("new").await;
    // A refused event, stored in place of the confirmed one.
    let refused = event("10", &json!({ "note": "other" })).to_string();
    assert_eq!(attacker.function.post(&refused).await.0, 409);
    let right = attacker.item("10").await;
    let mut other = right.clone();
    other.insert("note".to_owned(), text("other"));
    attacker.write(&other).await;
    assert_eq!(attacker.found().await, ["changed 10"]);
    attacker.write(&right).await;
    assert!(attacker.is_clean().await);
    // Times before the journal are counted separately, because those events are unverifiable.
    inserted.insert("received".to_owned(), received(&right, "2016-01-01T00:00:00.000Z"));
    attacker.write(&inserted).await;
    let report = report(&attacker.function, Vec::new()).await;
    assert_eq!((told(&report).len(), report.events.before_journal), (0, 1));
}

#[tokio::test]
async fn what_is_done_to_the_journal_is_found() {
    let attacker = Attacker::new().await;
    let all = rows(&attacker.function).await;
    assert_eq!(all.len(), 6);

    attacker.remove_row(&all[2]).await;
    let found = attacker.found().await;
    assert_eq!(found, ["row-missing", "inserted 10", "inserted 11", "inserted 12", "inserted 13"]);
    attacker.write_row(&all[2]).await;
    assert!(attacker.is_clean().await);

    // Two rows exchange their content.
    let exchange = |of: &Item, with: &Item| {
        let mut row = of.clone();
        for name in ["body", "hash"] {
            row.insert(name.to_owned(), with[name].clone());
        }
        row
    };
    attacker.write_row(&exchange(&all[2], &all[3])).await;
    attacker.write_row(&exchange(&all[3], &all[2])).await;
    let found = attacker.found().await;
    assert_eq!(found[..2], ["row-moved", "row-moved"]);
    attacker.write_row(&all[2]).await;
    attacker.write_row(&all[3]).await;
    assert!(attacker.is_clean().await);

    // A row with other content and a recomputed hash.
    let AttributeValue::S(body) = &all[3]["body"] else { panic!() };
    let forged = body.replace("wwww", "wwwr");
    let mut row = all[3].clone();
    row.insert("body".to_owned(), text(&forged));
    attacker.write_row(&row).await;
    assert_eq!(attacker.found().await[..2], ["row-changed", "chain-broken"]);
    row.insert("hash".to_owned(), text(&Hash::of(forged.as_bytes()).to_string()));
    attacker.write_row(&row).await;
    assert_eq!(attacker.found().await, ["chain-broken", "inserted 13"]);
    attacker.write_row(&all[3]).await;

    // The end of the chain, with the events in it: only the anchor proves them.
    for row in &all[4..] {
        attacker.remove_row(row).await;
    }
    for id in ["20", "21", "22", "23"] {
        attacker.remove(id).await;
    }
    assert!(attacker.found().await.is_empty(), "this is why there are anchors");
    assert_eq!(attacker.found_with_anchors().await, ["chain-truncated"]);
    for row in &all[..4] {
        attacker.remove_row(row).await;
    }
    assert!(attacker.found_with_anchors().await.contains(&"chain-missing".to_owned()));
}

#[tokio::test]
async fn a_forged_chain_does_not_take_an_event_to_another_time() {
    let attacker = Attacker::new().await;
    let mut forged = attacker.item("10").await;
    forged.insert("id".to_owned(), text("forged"));
    let then = received(&forged, "2026-01-01T10:00:00.000Z");
    forged.insert("received".to_owned(), then);
    attacker.write(&forged).await;
    let chain_of = |id: &str, day: &str, at: &str| {
        let digest = event_digest(&forged, &left_out(attacker.table()));
        let entry = Entry { id: "forged".to_owned(), digest, key: Key::new(), expires: None };
        let mut chain = Chain::new(id, day);
        let begin = Content::Begin {
            table: "audit".to_owned(),
            id_attribute: "id".to_owned(),
            left_out: Some(left_out(attacker.table())),
            events: vec![entry],
        };
        let begin = chain.row(at, begin).unwrap();
        chain.advance(&begin);
        let end = Content::End { of: 0, outcomes: "w".to_owned(), found: Vec::new() };
        [begin.item, chain.row(at, end).unwrap().item]
    };
    let id = "f0000000000000000000000000000000";
    // Today's chain for an event of another day; and a row whose time is not of the chain's day.
    let (now, then) = (now(), "2026-01-01T10:00:01.000Z");
    let today = &now[..10];
    for (at, found) in [(now.as_str(), "back-dated forged"), (then, "back-dated")] {
        let rows = chain_of(id, today, at);
        for row in &rows {
            attacker.write_row(row).await;
        }
        assert_eq!(attacker.found().await, [found], "{at}");
    }
    // A chain of that day, where the anchor of the day has none.
    let rows = chain_of(id, "2026-01-01", then);
    for row in &rows {
        attacker.write_row(row).await;
    }
    for row in chain_of(id, today, &now) {
        attacker.remove_row(&row).await;
    }
    let client = &attacker.client;
    let made = "2026-01-02T01:00:00.000Z";
    let mut of_the_day = anchor(client, "Journal", "2026-01-01", made, None, 1e9).await.unwrap();
    assert!(of_the_day.closed);
    of_the_day.chains.clear();
    of_the_day.since = "2025-12-01T00:00:00.000Z".to_owned();
    let days = ("2026-01-01".to_owned(), "2026-01-01".to_owned());
    let anchors = vec![(of_the_day, Hash::of(b"file"))];
    let anchors = Some(AnchorFolder { anchors, ..AnchorFolder::default() });
    let options = VerifyOptions { from: Some(days.0), to: Some(days.1), anchors, ..options() };
    let report = report_of(&attacker.function.dynamo(), attacker.table(), options).await;
    assert_eq!(told(&report), ["chain-added"]);
}

/// The journal's own start time is trusted only if no anchor contradicts it.
#[tokio::test]
async fn a_later_beginning_does_not_hide_what_was_inserted() {
    let attacker = Attacker::new().await;
    put(&attacker.client, &journal(), keyfold_core::audit::since_item("2099-01-01T00:00:00.000Z"))
        .await
        .unwrap();
    let mut inserted = attacker.item("10").await;
    inserted.insert("id".to_owned(), text("new"));
    attacker.write(&inserted).await;
    assert_eq!(attacker.found_with_anchors().await, ["inserted new"]);
    // Without an anchor, there is no answer rather than a wrong one.
    let trail = trail(&attacker.client, attacker.table(), None);
    let error = verify(&trail, options()).await.unwrap_err();
    assert!(error.to_string().starts_with("the first day, 2099-01-01, is after the last"), "{error}");
}

/// A table with no keys but these attributes, to write items as they are.
fn unfolded(name: &str, partition: &str) -> Table {
    let text = format!(
        "[tables.t]\nname = \"{name}\"\npartition = \"{partition}\"\nattributes = {{ {partition} = \"string\" }}\n"
    );
    model(&text).tables.remove(0)
}

/// Digests do not have folded keys, because another table has others. So each key is folded again.
#[tokio::test]
async fn an_event_that_an_index_hides_is_found() {
    let attacker = Attacker::new().await;
    let unfolded = unfolded(&attacker.table().name, "id");
    let write = async |item: &Item| put(&attacker.client, &unfolded, item.clone()).await.unwrap();
    let one = attacker.item("10").await;
    let names: Vec<String> = attacker.table().folded_names().cloned().collect();
    assert_eq!(names, ["byResourceActionUser_pk", "byAction_pk"]);
    for name in &names {
        let mut hidden = one.clone();
        hidden.remove(name);
        let mut elsewhere = one.clone();
        elsewhere.insert(name.clone(), text("somewhere"));
        for wrong in [&hidden, &elsewhere] {
            write(wrong).await;
            let report = report(&attacker.function, Vec::new()).await;
            assert_eq!(told(&report), ["key-changed 10"], "{name}");
            assert_eq!(report.findings[0].attribute.as_ref(), Some(name));
        }
    }
    write(&one).await;
    assert!(attacker.is_clean().await);
    // Two events exchange their keys: each is found where the other belongs.
    let mut others = attacker.function.items().await.into_iter();
    let other = others.find(|other| other["byAction_pk"] != one["byAction_pk"]).unwrap();
    for (of, with) in [(&one, &other), (&other, &one)] {
        let mut exchanged = of.clone();
        exchanged.insert("byAction_pk".to_owned(), with["byAction_pk"].clone());
        write(&exchanged).await;
    }
    let AttributeValue::S(id) = &other["id"] else { panic!() };
    let mut expected = ["key-changed 10".to_owned(), format!("key-changed {id}")];
    expected.sort();
    assert_eq!(attacker.found().await, expected);
}

#[tokio::test]
async fn an_event_that_is_moved_to_another_primary_key_is_found() {
    let function = Function::start(super::ORGANISATIONS, &[]).await;
    let outcome = function.invoke(direct(&[json!({ "org": "acme", "id": "1", "action": "viewed" })])).await;
    assert!(matches!(outcome, InvocationResult::Response(_)), "{outcome:?}");
    let mut item = function.item("1").await.unwrap();
    let client = function.dynamo().client();
    delete(&client, &function.table, &item, &Expected::nothing()).await.unwrap();
    item.insert("pk".to_owned(), text("umbrella#1"));
    put(&client, &unfolded(&function.table.name, "pk"), item).await.unwrap();
    assert_eq!(told(&report(&function, Vec::new()).await), ["key-changed 1"]);
}

/// An attacker who can write to the folder of anchors, or stop the job that creates them.
#[tokio::test]
async fn a_day_without_an_anchor_is_found() {
    let attacker = Attacker::new().await;
    let began = "2026-01-01T10:00:00.000Z";
    let mut first = attacker.anchors[0].clone();
    first.0.since = began.to_owned();
    let of_day = |day: &str, closed: bool| {
        let (day, made) = (day.to_owned(), format!("{day}T23:59:59.000Z"));
        (Anchor { day, made, closed, previous: None, chains: [].into(), ..first.0.clone() }, Hash::of(b"1"))
    };
    let found = async |anchors: Vec<(Anchor, Hash)>, unread: &[&str]| {
        let unread = unread.iter().map(|name| (*name).to_owned()).collect();
        let (from, to) = (Some("2026-01-01".to_owned()), Some("2026-01-02".to_owned()));
        let anchors = Some(AnchorFolder { anchors, unread });
        let options = VerifyOptions { from, to, anchors, ..options() };
        let report = report_of(&attacker.function.dynamo(), attacker.table(), options).await;
        let place = |finding: &Finding| finding.day.clone().or(finding.file.clone()).unwrap();
        report.findings.iter().map(|one| format!("{} {}", one.kind.name(), place(one))).collect::<Vec<_>>()
    };
    let missing = |day: &str| format!("anchor-missing {day}");
    put(&attacker.client, &journal(), keyfold_core::audit::since_item(began)).await.unwrap();
    let one = of_day("2026-01-01", true);
    assert_eq!(found(Vec::new(), &[]).await, [missing("2026-01-01"), missing("2026-01-02")]);
    assert_eq!(found(vec![one.clone()], &[]).await, [missing("2026-01-02")]);
    assert_eq!(
        found(vec![one.clone(), of_day("2026-01-02", false)], &[]).await,
        ["anchor-broken 2026-01-02".to_owned(), missing("2026-01-02"),]
    );
    assert_eq!(
        found(vec![one], &["2026-01-02.json.bak"]).await,
        [missing("2026-01-02"), "file-unread 2026-01-02.json.bak".to_owned(),]
    );
    // On the first day no day is over, so the folder is empty.
    let options = VerifyOptions { anchors: Some(AnchorFolder::default()), ..options() };
    let options = VerifyOptions { from: Some(now()[..10].to_owned()), ..options };
    let report = report_of(&attacker.function.dynamo(), attacker.table(), options).await;
    assert_eq!(told(&report), ["anchor-missing"]);
}
