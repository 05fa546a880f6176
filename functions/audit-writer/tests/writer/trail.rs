//! The trail, proved: the real function's writes verify clean after any crash; an attacker's changes are found.

mod attacks;
mod crashes;
mod gate;

use std::sync::Arc;

use keyfold_core::audit::{Anchor, Hash, journal_table};
use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_dynamo::Client;
use keyfold_local::EmbeddedDynamo;
use keyfold_local::runtime_api::InvocationResult;
use keyfold_trail::{AnchorFolder, Carried, Report, Trail, VerifyOptions, now, verify};
use serde_json::{Value, json};

use crate::function::{Function, SAMPLE, direct, event, request};

/// The requests of one invocation with two events: since when there is a journal, the begin, the events, the end.
const REQUESTS: usize = 4;

/// The project's own sample, with a journal.
fn sample() -> String {
    SAMPLE.replace("[deploy]", "[deploy]\naudit-journal = \"Journal\"")
}

fn model(text: &str) -> Model {
    manifest::parse("keyfold.toml", text).model.unwrap()
}

fn journal() -> Table {
    journal_table("Journal")
}

fn trail<'t>(client: &'t Client, table: &'t Table, carried: Option<&'t Carried>) -> Trail<'t> {
    let (journal, id, received, former_keys) = ("Journal", "id", "received", [].as_slice());
    Trail { client, table, journal, id, received, carried, former_keys }
}

fn options() -> VerifyOptions {
    VerifyOptions { now: now(), units_per_second: 1e9, ..VerifyOptions::default() }
}

async fn report_of(dynamo: &EmbeddedDynamo, table: &Table, options: VerifyOptions) -> Report {
    verify(&trail(&dynamo.client(), table, None), options).await.unwrap()
}

async fn report(function: &Function, anchors: Vec<(Anchor, Hash)>) -> Report {
    let anchors = AnchorFolder { anchors, ..AnchorFolder::default() };
    let anchors = (!anchors.anchors.is_empty()).then_some(anchors);
    report_of(&function.dynamo(), &function.table, VerifyOptions { anchors, ..options() }).await
}

/// The findings: `changed 1`, with the event's key.
fn told(report: &Report) -> Vec<String> {
    let one = |finding: &keyfold_core::audit::Finding| {
        let id = finding.key.as_ref().and_then(|key| key.get("id"));
        let id = id.map_or_else(String::new, |id| format!(" {}", serde_json::to_value(id).unwrap()["S"]));
        format!("{}{id}", finding.kind.name()).replace('"', "")
    };
    report.findings.iter().map(one).collect()
}

fn message(id: &str, body: &Value) -> Value {
    json!({
        "eventSource": "aws:sqs", "messageId": id, "body": body.to_string(),
        "attributes": { "SentTimestamp": "1488355200123", "SenderId": "AIDA" },
    })
}

#[tokio::test]
async fn hundreds_of_events_over_every_way_verify_clean() {
    let first = Function::start(&sample(), &[]).await;
    let endpoint = first.endpoint().to_owned();
    let second = Function::start_on(first.dynamo(), &endpoint, &sample(), &[]).await;
    let many = |from: usize, count: usize| -> Vec<Value> {
        (from..from + count)
            .map(|at| event(&at.to_string(), &json!({ "size": at, "tags": ["a", 1] })))
            .collect()
    };
    let http = json!({ "jwt": { "claims": { "sub": "service1" } } });
    for (at, function) in [&first, &second, &first].into_iter().enumerate() {
        let from = at * 300;
        let body = json!(many(from, 100)).to_string();
        // Each is sent twice: the second time, everything is there.
        for _ in 0..2 {
            assert!(matches!(function.invoke(request(&body, &http)).await, InvocationResult::Response(_)));
            let of = |nr: usize| message(&format!("m{nr}"), &json!(many(from + 100 + nr * 20, 20)));
            let batch = json!({ "Records": [of(0), of(1), of(2), of(3), of(4)] });
            assert!(matches!(function.invoke(batch.to_string()).await, InvocationResult::Response(_)));
            let direct = direct(&many(from + 200, 100));
            assert!(matches!(function.invoke(direct).await, InvocationResult::Response(_)));
        }
        // Single ones, a conflict, and one that is refused.
        assert_eq!(function.post(&event(&format!("one-{at}"), &json!({})).to_string()).await.0, 201);
        assert_eq!(function.post(&event("0", &json!({ "action": "deleted" })).to_string()).await.0, 409);
        assert_eq!(function.post(&event("bad", &json!({ "action": "no" })).to_string()).await.0, 400);
    }
    let report = report(&first, Vec::new()).await;
    assert!(report.is_clean(), "{:?}", told(&report));
    assert_eq!((report.events.proved, report.items, report.chains), (903, 903, 2));
    assert_eq!((report.events.unconfirmed, report.events.never_confirmed), (0, 0));
    // Two processes, each with a begin and an end for each of its invocations that had an event.
    assert_eq!(report.rows, 2 * 3 * (6 + 2));
}

#[tokio::test]
async fn without_the_line_in_the_manifest_there_is_no_journal() {
    let function = Function::start(SAMPLE, &[]).await;
    function.dynamo().create_tables([&journal()], keyfold_dynamo::TableOptions::default()).await.unwrap();
    assert_eq!(function.post(&event("1", &json!({})).to_string()).await.0, 201);
    assert!(rows(&function).await.is_empty());
}

/// The journal costs a row before and a row after, and for lists a unit for each kilobyte of digests. Shown with
/// `--nocapture`: the time of one invocation on this machine.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "figures, printed on request")]
async fn what_the_journal_costs() {
    let mut units = Vec::new();
    for manifest in [SAMPLE.to_owned(), sample()] {
        let function = Function::start(&manifest, &[]).await;
        for id in ["first", "one"] {
            assert_eq!(function.post(&event(id, &json!({})).to_string()).await.0, 201);
        }
        let list: Vec<Value> = (0..100).map(|at| event(&at.to_string(), &json!({}))).collect();
        assert_eq!(function.post(&json!(list).to_string()).await.0, 201);
        for at in 0..200 {
            assert_eq!(function.post(&event(&format!("t{at}"), &json!({})).to_string()).await.0, 201);
        }
        let lines = function.end();
        let told: Vec<&Value> = lines.iter().filter(|line| line["message"] == "invocation").collect();
        let mut times: Vec<f64> =
            told[3..].iter().map(|line| line["duration_ms"].as_f64().unwrap()).collect();
        times.sort_by(f64::total_cmp);
        println!("one event: {:.2} ms (median of 200)", times[100]);
        let of =
            |line: &Value| (line["consumed_units"].as_f64().unwrap(), line["requests"].as_u64().unwrap());
        units.push([of(told[1]), of(told[2])]);
    }
    println!("units and requests of one event and of 100, without and with a journal: {units:?}");
    let [without, with] = [units[0], units[1]];
    assert_eq!((with[0].0 - without[0].0, with[0].1 - without[0].1), (2.0, 2));
    assert_eq!((with[1].0 - without[1].0, with[1].1 - without[1].1), (10.0, 2));
}

/// Every row of the journal, in the order of their keys.
async fn rows(function: &Function) -> Vec<keyfold_core::value::Item> {
    use keyfold_dynamo::{PageRequest, ScanPage, scan_page};
    let page = PageRequest { table: "Journal".to_owned(), consistent: true, ..PageRequest::default() };
    let page = scan_page(&function.dynamo().client(), &ScanPage { page, segment: None }).await.unwrap();
    let mut rows: Vec<_> = page.items.into_iter().filter(|row| row["pk"] != row["sk"]).collect();
    rows.sort_by_key(|row| format!("{:?}", row["sk"]));
    rows
}

/// Without its journal, the writer writes nothing; and events without a recorded outcome are not reported as written.
#[tokio::test]
async fn nothing_is_told_as_written_that_the_journal_does_not_say() {
    let elsewhere = [("KEYFOLD_AUDIT_JOURNAL", "Nowhere")];
    let function = Function::start(&sample(), &elsewhere).await;
    let (status, body) = function.post(&event("1", &json!({})).to_string()).await;
    assert_eq!((status, &body["code"]), (503, &json!("journal-not-written")));
    assert!(function.items().await.is_empty());
    let failed =
        function.invoke(json!({ "Records": [message("m", &event("1", &json!({})))] }).to_string()).await;
    let InvocationResult::Response(text) = failed else { panic!("{failed:?}") };
    assert_eq!(text, r#"{"batchItemFailures":[{"itemIdentifier":"m"}]}"#);
}

/// The events are stored but not recorded: they are not reported as written until they are, in a new chain.
#[tokio::test]
async fn an_end_that_cannot_be_noted_is_no_success() {
    let reading = Function::start(&sample(), &[]).await;
    let gate = gate(&reading.dynamo(), REQUESTS, gate::When::Refused).await;
    let function = Function::start_on(reading.dynamo(), &gate.endpoint, &sample(), &[]).await;
    let both = json!([event("1", &json!({})), event("2", &json!({}))]).to_string();
    let (status, body) = function.post(&both).await;
    assert_eq!((status, &body["code"], &body["failed"]), (503, &json!("nothing-written"), &json!(2)));
    assert_eq!(body["events"][0]["problem"]["code"], "journal-not-written");
    assert_eq!(reading.items().await.len(), 2);
    let before = report(&reading, Vec::new()).await;
    assert!(before.is_clean(), "{:?}", told(&before));
    assert_eq!((before.events.proved, before.events.unconfirmed, before.chains), (0, 2, 1));
    let (status, body) = function.post(&both).await;
    assert_eq!((status, &body["repeated"]), (200, &json!(2)));
    let after = report(&reading, Vec::new()).await;
    assert!(after.is_clean(), "{:?}", told(&after));
    assert_eq!((after.events.proved, after.events.unconfirmed, after.chains), (2, 0, 2));
}

/// Items keep the keys of an index that the manifest no longer has. Digests excluded those keys, so they can hold
/// anything: the operator must declare that the key existed.
#[tokio::test]
async fn an_index_that_is_gone_changes_no_event() {
    let function = Function::start(&sample(), &[]).await;
    assert_eq!(function.post(&event("1", &json!({})).to_string()).await.0, 201);
    let mut table = function.table.clone();
    table.indexes.retain(|index| index.name != "byAction");
    assert!(function.item("1").await.unwrap().contains_key("byAction_pk"));
    let client = function.dynamo().client();
    let former_keys = ["byAction_pk".to_owned()];
    let vouched = Trail { former_keys: &former_keys, ..trail(&client, &table, None) };
    let report = verify(&vouched, options()).await.unwrap();
    assert!(report.is_clean(), "{:?}", told(&report));
    let report = report_of(&function.dynamo(), &table, options()).await;
    assert_eq!(told(&report), ["key-unknown 1"]);
    assert_eq!(report.findings[0].attribute.as_deref(), Some("byAction_pk"));
}

/// A table of organisations whose events expire after a year.
const ORGANISATIONS: &str = r#"
[deploy]
audit-writer = "audit"
audit-journal = "Journal"
audit-keep-days = 365
[tables.audit]
partition = "{org}#{id}"
ttl = "expires"
scope = { org = "jwt.org" }
attributes = { id = "string", org = "string", action = "string", timestamp = "timestamp", expires = "number" }
"#;

/// If the id alone is not the key, the other key attributes are recorded too. Items that expired are not findings, and
/// senders cannot set their expiry.
#[tokio::test]
async fn events_of_organisations_are_told_apart_and_expire_when_the_writer_says() {
    let function = Function::start(ORGANISATIONS, &[]).await;
    let of = |org: &str, id: &str| json!({ "org": org, "id": id, "action": "viewed" });
    let list = [of("acme", "1"), of("umbrella", "1"), of("acme", "2")];
    let InvocationResult::Response(text) = function.invoke(direct(&list)).await else { panic!() };
    assert!(text.contains("\"written\":3"), "{text}");
    let InvocationResult::Response(text) = function.invoke(direct(&list)).await else { panic!() };
    assert!(text.contains("\"repeated\":3"), "another second of receipt is no other event: {text}");
    let hiding = json!({ "org": "acme", "id": "3", "action": "viewed", "expires": 1 });
    let refused = function.invoke(direct(&[hiding])).await;
    assert!(format!("{refused:?}").contains("stamped-attribute"), "{refused:?}");
    assert!(report(&function, Vec::new()).await.is_clean());
    let year =
        i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap() + 365 * 86_400;
    for item in function.items().await {
        let is =
            |name: &str, value: &str| item[name] == keyfold_core::value::AttributeValue::S(value.to_owned());
        let keyfold_core::value::AttributeValue::N(expires) = &item["expires"] else { panic!() };
        assert!((year - 600..=year).contains(&expires.parse().unwrap()), "{expires}");
        if is("org", "umbrella") || is("id", "2") {
            let expected = keyfold_dynamo::Expected::nothing();
            keyfold_dynamo::delete(&function.dynamo().client(), &function.table, &item, &expected)
                .await
                .unwrap();
        }
    }
    let report = report(&function, Vec::new()).await;
    assert_eq!(
        (told(&report), report.events.expired),
        (vec!["removed 1".to_owned(), "removed 2".to_owned()], 0)
    );
    let key = serde_json::to_value(&report.findings[0].key).unwrap();
    assert_eq!(key, json!({ "id": { "S": "1" }, "org": { "S": "umbrella" } }));
    let later = format!("{}-12-31T00:00:00Z", now()[..4].parse::<i32>().unwrap() + 1);
    let later =
        report_of(&function.dynamo(), &function.table, VerifyOptions { now: later, ..options() }).await;
    assert_eq!((told(&later).len(), later.events.expired), (0, 2));
}

/// Verification during writes reports none of them as inserted or removed.
#[tokio::test]
async fn a_trail_that_grows_meanwhile_verifies_clean() {
    let function = Function::start(&sample(), &[]).await;
    assert_eq!(function.post(&event("first", &json!({})).to_string()).await.0, 201);
    let writing = async {
        for at in 0..60 {
            let list: Vec<Value> = (0..5).map(|nr| event(&format!("{at}-{nr}"), &json!({}))).collect();
            assert_eq!(function.post(&json!(list).to_string()).await.0, 201);
        }
    };
    let verifying = async {
        loop {
            let report = report(&function, Vec::new()).await;
            assert!(report.is_clean(), "{:?}", told(&report));
            if report.items == 301 {
                return;
            }
        }
    };
    tokio::join!(writing, verifying);
}

/// A retrofit gives the events other keys in another table, and new names: their digests are the same.
#[tokio::test]
async fn a_retrofit_carries_the_trail_along() {
    let manifest = sample()
        + r#"
[tables.moved]
name = "Moved"
partition = "{resourceId}"
sort = "{timestamp}#{id}"
attributes = { id = "string", resourceId = "string", action = "string", who = "string", timestamp = "timestamp" }
allow = ["collection-may-pass-10gb", "native-would-serve", "lossy-primary-key"]
[retrofits.move]
from = "audit"
to = "moved"
rename = { accessedBy = "who" }
set = { origin = "audit" }
"#;
    let function = Function::start(&sample(), &[]).await;
    let list: Vec<Value> = (0..5).map(|at| event(&at.to_string(), &json!({}))).collect();
    assert_eq!(function.post(&json!(list).to_string()).await.0, 201);
    let parsed = manifest::parse("keyfold.toml", &manifest);
    let model = parsed.model.as_ref().unwrap_or_else(|| panic!("{}", parsed.render(&manifest, false)));
    let (moved, dynamo) = (model.table("moved").unwrap(), function.dynamo());
    dynamo.create_tables([moved], keyfold_dynamo::TableOptions::default()).await.unwrap();
    let mapping = keyfold_core::retrofit::Mapping::of(model, "move").unwrap();
    let client = dynamo.client();
    for item in function.items().await {
        let carried = mapping.target_item(&item).unwrap().unwrap();
        keyfold_dynamo::put(&client, moved, carried).await.unwrap();
    }
    let carried = Carried::through(model, "move").unwrap();
    let report = verify(&trail(&client, moved, Some(&carried)), options()).await.unwrap();
    assert!(report.is_clean(), "{:?}", told(&report));
    assert_eq!(report.events.proved, 5);
    // A key of the source that came along is folded again too.
    let mut forged = function.items_of(moved).await.remove(0);
    forged.insert("byAction_pk".to_owned(), keyfold_core::value::AttributeValue::S("x".to_owned()));
    keyfold_dynamo::put(&client, moved, forged.clone()).await.unwrap();
    let found = verify(&trail(&client, moved, Some(&carried)), options()).await.unwrap();
    assert_eq!(found.found.get("key-unknown"), Some(&1), "{:?}", told(&found));
    // Without the inverse of the retrofit, the renamed attributes are reported as changes.
    assert_eq!(verify(&trail(&client, moved, None), options()).await.unwrap().found["changed"], 5);
    // An irreversible change is an error, not guessed.
    for (line, said) in [
        ("drop = [\"note\"]", "drops `note`"),
        ("set = { resourceName = \"x\" }", "sets `resourceName`"),
        ("only = { action = \"viewed\" }", "carries only some items"),
    ] {
        let other = manifest.replace("set = { origin = \"audit\" }", line);
        let error = Carried::through(&self::model(&other), "move").unwrap_err();
        assert!(error.to_string().contains(said), "{line}: {error}");
    }
}

/// A gate to the tables of a function, for a process that is to end at a certain request.
async fn gate(dynamo: &Arc<EmbeddedDynamo>, at: usize, when: gate::When) -> gate::Gate {
    gate::Gate::start(dynamo.endpoint(), at, when).await
}
