//! `keyfold retrofit` as its users run it, against the embedded DynamoDB.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::retrofit::{
    Action, Epoch, Fence, Job, Lease, Mapping, Pass, Quarantined, SegmentId, control,
};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{BatchGet, Expected, TableOptions, batch_get, delete, enable_stream, load, put};
use keyfold_local::EmbeddedDynamo;
use serde_json::{Value, json};

const ITEMS: usize = 1200;
/// A rate that holds nothing up.
const FAST: &str = "1000000";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn command(server: &EmbeddedDynamo, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyfold"));
    command
        .current_dir(root())
        .env_remove("KEYFOLD_MANIFEST")
        .env("NO_COLOR", "1")
        .args(["--json", "retrofit"])
        .args(arguments)
        .args(["--endpoint", server.endpoint()]);
    command
}

fn retrofit(server: &EmbeddedDynamo, arguments: &[&str]) -> Output {
    command(server, arguments).output().unwrap()
}

fn done(server: &EmbeddedDynamo, arguments: &[&str]) -> Value {
    let output = retrofit(server, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(server: &EmbeddedDynamo, arguments: &[&str]) -> String {
    let output = retrofit(server, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

fn event(number: usize) -> Item {
    let attributes = [
        ("id", format!("event-{number:05}")),
        ("resourceId", format!("r{}", number % 7)),
        ("action", "viewed".to_owned()),
        ("accessedBy", format!("user{}", number % 11)),
        ("timestamp", "2017-03-01T08:00:00.000Z".to_owned()),
    ];
    let attributes = attributes.map(|(name, value)| (name.to_owned(), AttributeValue::S(value)));
    std::collections::HashMap::from(attributes).into()
}

/// The tables of the sample; the items as a program wrote them that knew no folded keys.
async fn legacy(server: &EmbeddedDynamo, table: &Table) {
    let old = Table { indexes: Vec::new(), ..table.clone() };
    load(&server.client(), &old, futures_util::stream::iter((0..ITEMS).map(event))).await.unwrap();
}

/// A server with the old table, which has items and a stream, and the new one, which is empty.
async fn old_and_new(model: &Model) -> EmbeddedDynamo {
    let (old, new) = (model.table("audit-legacy").unwrap(), model.table("audit").unwrap());
    let server = EmbeddedDynamo::memory().unwrap();
    server.create_tables([new], TableOptions::default()).await.unwrap();
    server.create_tables([old], TableOptions { stream: true }).await.unwrap();
    legacy(&server, old).await;
    server
}

/// The same after the retrofit was tidied, with a stream of the new table too. No replicator runs.
async fn tidied(model: &Model) -> EmbeddedDynamo {
    let server = old_and_new(model).await;
    enable_stream(&server.client(), model.table("audit").unwrap()).await.unwrap();
    done(&server, &["start", "auditV2"]);
    done(&server, &["backfill", "auditV2", "--rate", FAST]);
    done(&server, &["tidy", "auditV2", "--wait", "0", "--rate", FAST]);
    server
}

fn sample() -> manifest::Parsed {
    let text = std::fs::read_to_string(root().join("keyfold.toml")).unwrap();
    manifest::parse("keyfold.toml", &text)
}

#[tokio::test]
async fn items_are_carried_into_a_new_table_once_and_verified() {
    let model = sample().model.unwrap();
    let server = old_and_new(&model).await;

    assert_eq!(done(&server, &["plan", "auditV2"])["items"], ITEMS);
    assert!(refused(&server, &["status", "auditV2"]).contains("table"), "nothing was started");
    done(&server, &["start", "auditV2"]);
    assert!(refused(&server, &["cutover", "auditV2"]).contains("backfill was not started"));
    let first = done(&server, &["backfill", "auditV2", "--segments", "3", "--rate", FAST]);
    assert_eq!(first["counts"]["written"], ITEMS);
    let second = done(&server, &["backfill", "auditV2", "--segments", "3", "--again", "--rate", FAST]);
    assert_eq!(
        (&second["counts"]["superseded"], second["writeUnits"].as_f64()),
        (&Value::from(ITEMS), Some(0.0))
    );
    assert!(refused(&server, &["backfill", "auditV2", "--segments", "2"]).contains("--again"));

    let verified = done(&server, &["verify", "auditV2"]);
    assert_eq!(verified["counts"]["same"], 2 * ITEMS);
    // Somebody changes the target behind the retrofit's back.
    let mut changed = event(5);
    changed.insert("resourceId".to_owned(), AttributeValue::S("elsewhere".to_owned()));
    put(&server.client(), model.table("audit-legacy").unwrap(), changed).await.unwrap();
    assert_eq!(retrofit(&server, &["verify", "auditV2", "--lag", "0"]).status.code(), Some(1));
    assert!(refused(&server, &["cutover", "auditV2"]).contains("items that differ"));
    done(&server, &["repair", "auditV2", "--lag", "0"]);
    assert!(refused(&server, &["cutover", "auditV2"]).contains("not compared since"));
    done(&server, &["verify", "auditV2"]);
    let gates = done(&server, &["status", "auditV2"])["gates"].clone();
    assert_eq!((&gates[0]["code"], gates.as_array().unwrap().len()), (&json!("tombstones"), 1), "{gates}");
    assert!(refused(&server, &["cutover", "auditV2"]).contains("would meet tombstones"));
    assert_eq!(done(&server, &["cutover", "auditV2", "--with-tombstones"])["phase"], "cut-over");
    for work in ["backfill", "repair"] {
        let said = refused(&server, &[work, "auditV2"]);
        assert!(said.contains("already-cut-over") && said.contains("take back what was written"), "{said}");
    }
    done(&server, &["undo", "auditV2"]);
    assert!(refused(&server, &["cutover", "auditV2"]).contains("not compared since"), "an old verdict");
    done(&server, &["verify", "auditV2"]);
    done(&server, &["cutover", "auditV2", "--with-tombstones"]);
    // Whoever comes after an interruption waits for what is left.
    for _ in 0..2 {
        let mut waiting = command(&server, &["finalise", "auditV2", "--settle", "600"]);
        let mut waiting = waiting.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(waiting.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("until functions in progress have ended")));
        waiting.kill().unwrap();
        waiting.wait().unwrap();
        assert_eq!(done(&server, &["status", "auditV2"])["phase"], "finalising");
    }
    assert_eq!(done(&server, &["finalise", "auditV2", "--settle", "0"])["phase"], "finalised");
    assert!(refused(&server, &["backfill", "auditV2"]).contains("nothing is written any more"));
    server.shutdown();
}

#[tokio::test]
async fn items_get_their_keys_in_place_and_a_second_pass_writes_nothing() {
    let model = sample().model.unwrap();
    let table = model.table("audit").unwrap();
    let server = EmbeddedDynamo::memory().unwrap();
    server.create_tables([table], TableOptions::default()).await.unwrap();
    legacy(&server, table).await;
    assert!(refused(&server, &["start", "auditInPlace"]).contains("no stream"));
    done(&server, &["start", "auditInPlace", "--no-stream"]);
    let first = done(&server, &["backfill", "auditInPlace", "--rate", FAST]);
    assert_eq!(first["counts"]["written"], ITEMS);
    let second = done(&server, &["backfill", "auditInPlace", "--again", "--rate", FAST]);
    assert_eq!(
        (&second["counts"]["unchanged"], second["writeUnits"].as_f64()),
        (&Value::from(ITEMS), Some(0.0))
    );
    assert_eq!(done(&server, &["verify", "auditInPlace"])["counts"]["same"], ITEMS);
    server.shutdown();
}

/// `keyfold query` of the new table, with what it asks.
fn asked(server: &EmbeddedDynamo, conditions: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyfold"));
    command.current_dir(root()).env_remove("KEYFOLD_MANIFEST").env("NO_COLOR", "1");
    command.args(["--json", "query", "--table", "audit", "--endpoint", server.endpoint(), "--limit", "1000"]);
    conditions.iter().for_each(|condition| {
        let argument =
            if condition.starts_with("--") { vec![*condition] } else { vec!["--where", condition] };
        command.args(argument);
    });
    command.output().unwrap()
}

fn answered(server: &EmbeddedDynamo, conditions: &[&str]) -> Value {
    let output = asked(server, conditions);
    assert!(output.status.success(), "{conditions:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn unanswered(server: &EmbeddedDynamo, conditions: &[&str]) -> String {
    let output = asked(server, conditions);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

/// Who viewed one resource: only the folded index of the sample answers that.
const WHO_VIEWED: [&str; 3] = ["resourceId=r1", "action=viewed", "accessedBy=user1"];

#[tokio::test]
async fn an_index_that_is_still_being_filled_is_not_asked() {
    let model = sample().model.unwrap();
    let table = model.table("audit").unwrap();
    let server = EmbeddedDynamo::memory().unwrap();
    server.create_tables([table], TableOptions::default()).await.unwrap();
    legacy(&server, table).await;
    let expected = (0..ITEMS).filter(|number| number % 7 == 1 && number % 11 == 1).count();
    let uses = |conditions: &[&str]| {
        let conditions = [conditions, &["--explain"]].concat();
        let answer = answered(&server, &conditions);
        assert_eq!(answer["count"], expected, "{answer}");
        answer["plan"].to_string()
    };
    // DynamoDB fills the native index by itself: it answers, at a higher price. Without it, the question is refused.
    assert!(uses(&WHO_VIEWED).contains("byUserAction"), "no control table");
    let refused = |conditions: &[&str]| unanswered(&server, conditions);
    let only_folded = ["action=viewed"];
    assert!(refused(&only_folded).contains("not started"));
    done(&server, &["start", "auditInPlace", "--no-stream"]);
    let pending = "is being filled by retrofit `auditInPlace`: ";
    assert!(refused(&only_folded).contains(&format!("{pending}backfill not started")));
    done(&server, &["backfill", "auditInPlace", "--segments", "4", "--rate", FAST]);
    assert!(refused(&only_folded).contains(&format!("{pending}4 of 4 segments, not cut over")));
    assert!(uses(&WHO_VIEWED).contains("byUserAction"));
    done(&server, &["verify", "auditInPlace"]);
    done(&server, &["cutover", "auditInPlace"]);
    assert!(uses(&WHO_VIEWED).contains("byResourceActionUser"));
    assert_eq!(answered(&server, &["action=viewed", "--count"])["count"], ITEMS);
    done(&server, &["undo", "auditInPlace"]);
    assert!(refused(&only_folded).contains(pending));
    server.shutdown();
}

#[tokio::test]
async fn a_deleted_item_is_gone_after_the_cut_over_and_nothing_of_the_retrofit_shows() {
    let model = sample().model.unwrap();
    let server = old_and_new(&model).await;
    done(&server, &["start", "auditV2"]);
    done(&server, &["backfill", "auditV2", "--rate", FAST]);
    assert!(unanswered(&server, &["id=event-00001"]).contains("auditV2"), "the new table lacks items");
    let old = model.table("audit-legacy").unwrap();
    let key = old.key_of(&event(2)).unwrap();
    delete(&server.client(), old, &key, &Expected::nothing()).await.unwrap();
    done(&server, &["repair", "auditV2", "--lag", "0"]);
    done(&server, &["verify", "auditV2"]);
    done(&server, &["cutover", "auditV2", "--with-tombstones"]);
    let new = BatchGet { table: "ResourceAccessAuditV2".to_owned(), keys: vec![key], ..BatchGet::default() };
    let held = batch_get(&server.client(), &new).await.unwrap().items;
    assert!(held[0].contains_key("keyfold_tombstone"), "DynamoDB still holds the tombstone: {held:?}");
    let gone = answered(&server, &["id=event-00002"]);
    assert_eq!((&gone["count"], gone["items"].as_array().unwrap().len()), (&Value::from(0), 0));
    let kept = answered(&server, &["id=event-00003"])["items"].to_string();
    assert!(kept.contains("user3") && !kept.contains("keyfold_"), "{kept}");
    assert_eq!(answered(&server, &["--scan", "--count"])["count"], ITEMS - 1);
    server.shutdown();
}

#[tokio::test]
async fn ctrl_c_ends_a_backfill_at_its_page_and_the_same_command_goes_on() {
    let model = sample().model.unwrap();
    let server = old_and_new(&model).await;
    done(&server, &["start", "auditV2"]);
    // At this rate it takes half a minute: about 5 units for an item.
    let slow = ["backfill", "auditV2", "--segments", "2", "--rate", "200"];
    let mut child = command(&server, &slow).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Once it has shown how far it is.
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    for wanted in [" items, ", " items/s, ", " units, ", " throttled, ", " left"] {
        assert!(line.contains(wanted), "{line}");
    }
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let said: Vec<_> = lines.map(Result::unwrap).collect();
    assert!(said.iter().any(|line| line.contains("ctrl-C again")), "{said:?}");
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let first: Value = serde_json::from_str(&text).unwrap();
    let written = first["counts"]["written"].as_u64().unwrap();
    assert!(first["done"] == false && written > 0 && written < ITEMS as u64, "{first}");
    // It goes on where it was: what was written is neither written nor looked at again.
    let second = done(&server, &["backfill", "auditV2", "--segments", "2", "--rate", FAST]);
    assert_eq!((&second["done"], &second["counts"]["written"]), (&true.into(), &ITEMS.into()));
    assert_eq!(second["counts"].get("superseded"), None);
    server.shutdown();
}

/// The leases that a killed worker left, as they are just before they end.
async fn leases_of_the_dead(server: &EmbeddedDynamo, model: &Model, segments: u32) {
    let job = Job::new(Mapping::of(model, "auditV2").unwrap(), Epoch::FIRST);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let until_ms = u64::try_from(now.as_millis()).unwrap() + 1_500;
    for number in 0..segments {
        let segment = SegmentId::new(number, segments).unwrap();
        let lease = Lease { pass: Pass::Backfill, segment, owner: "killed".to_owned(), until_ms };
        let Action::Put(row) = lease.take(&job, 0).action else { panic!("a lease is put") };
        put(&server.client(), &control::table("keyfold-control"), row).await.unwrap();
    }
}

#[tokio::test]
async fn a_backfill_that_was_killed_is_taken_over_with_its_segments_when_its_leases_end() {
    let model = sample().model.unwrap();
    let server = old_and_new(&model).await;
    done(&server, &["start", "auditV2"]);
    let slow = ["backfill", "auditV2", "--segments", "6", "--rate", "200"];
    let mut child = command(&server, &slow).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    BufReader::new(child.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    leases_of_the_dead(&server, &model, 6).await;
    let output = retrofit(&server, &["backfill", "auditV2", "--rate", FAST]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("another worker has 6 segments: waiting"), "{said}");
    let end: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&end["done"], &end["counts"]["items"]), (&json!(true), &json!(ITEMS)), "{end}");
    let status = done(&server, &["status", "auditV2"]);
    assert_eq!((&status["segmentsDone"], &status["segments"]), (&json!(6), &json!(6)), "{status}");
    // From its beginning it has the same number too, unless another one is given.
    done(&server, &["backfill", "auditV2", "--again", "--rate", FAST]);
    assert_eq!(done(&server, &["status", "auditV2"])["segments"], 6);
    assert!(refused(&server, &["backfill", "auditV2", "--segments", "5"]).contains("begun with 6 segments"));
    done(&server, &["backfill", "auditV2", "--again", "--segments", "5", "--rate", FAST]);
    assert_eq!(done(&server, &["status", "auditV2"])["segments"], 5);
    server.shutdown();
}

#[tokio::test]
async fn the_number_of_segments_is_known_before_anything_is_carried_over() {
    let model = sample().model.unwrap();
    let server = old_and_new(&model).await;
    done(&server, &["start", "auditV2"]);
    // Every segment is somebody else's: nothing is carried over before this is interrupted.
    leases_of_the_dead(&server, &model, 7).await;
    let mut child = command(&server, &["backfill", "auditV2", "--segments", "7"]);
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let first = BufReader::new(child.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(first.contains("another worker has 7 segments"), "{first}");
    let status = done(&server, &["status", "auditV2"]);
    assert_eq!((&status["segmentsDone"], &status["segments"]), (&json!(0), &json!(7)), "{status}");
    server.shutdown();
}

#[tokio::test]
async fn the_status_is_watched_until_the_retrofit_is_over() {
    let model = sample().model.unwrap();
    let server = old_and_new(&model).await;
    done(&server, &["start", "auditV2"]);
    let mut watching = command(&server, &["status", "auditV2", "--watch", "--every", "1"]);
    let mut watching = watching.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut looks = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let first = looks.next().unwrap();
    assert_eq!(
        (&first["phase"], &first["passes"], &first["lagMilliseconds"]),
        (&json!("running"), &json!([]), &Value::Null)
    );
    done(&server, &["backfill", "auditV2", "--rate", "2000"]);
    let of_backfill = |look: Value| look["passes"][0].clone();
    let end = looks.by_ref().map(of_backfill).find(|pass| pass["done"] == true).unwrap();
    assert_eq!(
        (&end["pass"], &end["items"], &end["secondsLeft"]),
        (&json!("backfill"), &json!(ITEMS), &json!(0)),
        "{end}"
    );
    assert!(end["itemsPerSecond"].as_f64().unwrap() > 0.0, "{end}");
    done(&server, &["abandon", "auditV2"]);
    assert_eq!(looks.last().unwrap()["phase"], "abandoned");
    assert!(watching.wait().unwrap().success());
    server.shutdown();
}

/// A record of which nothing could be read, as the replicator enters it.
async fn quarantined_record(server: &EmbeddedDynamo, model: &Model) {
    let mapping = Mapping::of(model, "auditV2").unwrap();
    let entry = Quarantined::named("lost", Fence::of_scan(Epoch::FIRST));
    let Action::Put(row) = entry.enter(&mapping).action else { panic!("an entry is put") };
    put(&server.client(), &control::table("keyfold-control"), row).await.unwrap();
}

#[tokio::test]
async fn an_entry_that_names_no_item_is_dismissed_after_a_comparison_that_found_nothing() {
    let model = sample().model.unwrap();
    let server = old_and_new(&model).await;
    done(&server, &["start", "auditV2"]);
    done(&server, &["backfill", "auditV2", "--rate", FAST]);
    quarantined_record(&server, &model).await;
    assert!(
        refused(&server, &["quarantine", "auditV2", "--dismiss"]).contains("only a comparison can answer")
    );
    let shown = done(&server, &["quarantine", "auditV2"]);
    assert_eq!(shown["entries"][0]["code"], "record-unreadable", "{shown}");
    assert!(refused(&server, &["cutover", "auditV2"]).contains("1 items are in quarantine"));
    done(&server, &["verify", "auditV2", "--rate", FAST]);
    assert_eq!(done(&server, &["quarantine", "auditV2", "--dismiss"])["dismissed"], 1);
    assert_eq!(done(&server, &["status", "auditV2"])["quarantined"], 0);
    done(&server, &["cutover", "auditV2", "--with-tombstones"]);
    server.shutdown();
}

fn event_key(number: usize) -> Item {
    let mut key = event(number);
    key.retain(|name, _| name == "id");
    key
}

/// A folder with a program `aws` that prints this.
fn aws(prints: &Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("object"), prints.to_string()).unwrap();
    let program = folder.path().join("aws");
    std::fs::write(&program, "#!/bin/sh\ncat \"$(dirname \"$0\")/object\"\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

#[tokio::test]
async fn after_a_switch_a_batch_of_the_target_is_carried_back_and_one_of_the_source_is_late() {
    let model = sample().model.unwrap();
    let server = tidied(&model).await;
    let (old, new) = (model.table("audit-legacy").unwrap(), model.table("audit").unwrap());
    done(&server, &["verify", "auditV2", "--rate", FAST]);
    let words = ["switch", "auditV2", "--writers", "attested", "--quiet", "0", "--unproven"];
    let moved = done(&server, &words);
    assert_eq!(moved["phase"], "reversed");
    let changed = |number: usize, to: &str| {
        let mut item = event(number);
        item.insert("resourceId".to_owned(), AttributeValue::S(to.to_owned()));
        item
    };
    put(&server.client(), new, changed(5, "in the target")).await.unwrap();
    put(&server.client(), old, changed(6, "too late")).await.unwrap();
    let redrive = async |place: &str, stream: &str, record: Value| {
        let entry = Quarantined::set_aside(place, Fence::of_scan(Epoch::FIRST));
        let Action::Put(row) = entry.enter(&Mapping::of(&model, "auditV2").unwrap()).action else { panic!() };
        put(&server.client(), &control::table("keyfold-control"), row).await.unwrap();
        let arn = format!("arn:aws:dynamodb:us-east-1:1:table/{stream}/stream/x");
        let batch = json!({ "Records": [{ "eventSourceARN": arn, "dynamodb": record }] });
        let folder = aws(&json!({ "payload": batch }));
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let output = command(&server, &["redrive", "auditV2"]).env("PATH", &path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&said["records"], &said["batchesLeft"]), (&json!(1), &json!(0)));
    };
    let image = |item: &Item| serde_json::to_value(item).unwrap();
    let (five, six) = (event_key(5), event_key(6));
    redrive("s3://b/five", &new.name, json!({ "Keys": image(&five), "SequenceNumber": "9000" })).await;
    let late = json!({
        "Keys": image(&six), "SequenceNumber": "9001",
        "OldImage": image(&event(6)), "NewImage": image(&changed(6, "too late")),
    });
    redrive("s3://b/six", &old.name, late).await;
    let read = BatchGet { table: old.name.clone(), keys: vec![five, six], ..BatchGet::default() };
    let there = batch_get(&server.client(), &read).await.unwrap().items;
    let said: BTreeSet<String> = there.iter().map(|item| format!("{:?}", item["resourceId"])).collect();
    assert!(said.contains("S(\"in the target\")") && !said.contains("S(\"too late\")"), "{said:?}");
    let noted = done(&server, &["late", "auditV2", "--images"])["late"].clone();
    assert_eq!(
        (noted.as_array().unwrap().len(), &noted[0]["new"]["resourceId"]["S"]),
        (1, &json!("too late"))
    );
    server.shutdown();
}

#[tokio::test]
async fn an_item_that_stays_out_holds_no_switch_up() {
    let model = sample().model.unwrap();
    let server = tidied(&model).await;
    let old = model.table("audit-legacy").unwrap();
    let odd = |timestamp: &str| {
        let mut item = event(ITEMS + 1);
        item.insert("timestamp".to_owned(), AttributeValue::S(timestamp.to_owned()));
        item
    };
    let switch =
        ["switch", "auditV2", "--writers", "attested", "--quiet", "0", "--unproven", "--stop-max", "3"];
    let verify = ["verify", "auditV2", "--lag", "0", "--rate", FAST];
    let accept =
        || done(&server, &["quarantine", "auditV2", "--accept", "of a test", "--by", "ann", "--all"]);
    done(&server, &verify);
    put(&server.client(), old, odd("yesterday")).await.unwrap();
    let text = refused(&server, &switch);
    assert!(text.contains("stop-too-long"), "nobody said that it stays out: {text}");
    accept();
    done(&server, &verify);
    // It changes, and fits no better.
    put(&server.client(), old, odd("tomorrow")).await.unwrap();
    assert_eq!(done(&server, &switch)["phase"], "reversed");
    let key = event_key(ITEMS + 1);
    let read = BatchGet { table: old.name.clone(), keys: vec![key], ..BatchGet::default() };
    assert_eq!(batch_get(&server.client(), &read).await.unwrap().items.len(), 1, "it stays in the source");
    server.shutdown();
}

#[tokio::test]
async fn the_items_of_a_batch_that_was_set_aside_are_read_anew() {
    let model = sample().model.unwrap();
    let server = old_and_new(&model).await;
    done(&server, &["start", "auditV2"]);
    done(&server, &["backfill", "auditV2", "--rate", FAST]);
    // Two changes of an item whose records are given up, and a delete.
    let mut changed = event(5);
    changed.insert("resourceId".to_owned(), AttributeValue::S("elsewhere".to_owned()));
    put(&server.client(), model.table("audit-legacy").unwrap(), changed).await.unwrap();
    let entry = Quarantined::set_aside("s3://bucket/aws/lambda/one", Fence::of_scan(Epoch::FIRST));
    let Action::Put(row) = entry.enter(&Mapping::of(&model, "auditV2").unwrap()).action else { panic!() };
    put(&server.client(), &control::table("keyfold-control"), row).await.unwrap();
    assert!(refused(&server, &["cutover", "auditV2"]).contains("1 items are in quarantine"));
    let record = |sequence: &str| json!({ "dynamodb": { "Keys": { "id": { "S": "event-00005" } }, "SequenceNumber": sequence } });
    let batch = json!({ "Records": [record("900"), record("1000")] });
    let folder = aws(&json!({ "payload": batch.to_string() }));
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let output = command(&server, &["redrive", "auditV2"]).env("PATH", &path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said, json!({ "retrofit": "auditV2", "batches": 1, "records": 2, "batchesLeft": 0 }));
    assert_eq!(done(&server, &["status", "auditV2"])["quarantined"], 0);
    let found = done(&server, &["verify", "auditV2", "--rate", FAST]);
    assert_eq!(found["counts"]["same"], 2 * ITEMS, "the changed item has arrived: {found}");
    // What was given up may still be written by somebody late: the item's fence is newer.
    let key = BatchGet {
        table: "ResourceAccessAuditV2".to_owned(),
        keys: vec![event_key(5)],
        ..BatchGet::default()
    };
    let there = batch_get(&server.client(), &key).await.unwrap().items;
    let AttributeValue::S(fence) = &there[0]["keyfold_fence"] else { panic!() };
    assert!(fence.as_str() >= "0001.0000000000000000000000000000000000001000", "{fence}");
    server.shutdown();
}

#[tokio::test]
async fn nothing_starts_on_what_another_retrofit_still_fills() {
    let model = sample().model.unwrap();
    let server = EmbeddedDynamo::memory().unwrap();
    server.create_tables(&model.tables, TableOptions { stream: true }).await.unwrap();
    done(&server, &["start", "auditV2"]);
    let said = refused(&server, &["start", "auditInPlace"]);
    assert!(
        said.contains("source-unfinished") && said.contains("`audit`") && said.contains("`auditV2`"),
        "{said}"
    );
    assert!(refused(&server, &["status", "auditInPlace"]).contains("was not started"));
    done(&server, &["abandon", "auditV2"]);
    done(&server, &["start", "auditInPlace"]);
    server.shutdown();
}

#[tokio::test]
async fn what_is_wrong_is_said_and_nothing_is_written() {
    let server = EmbeddedDynamo::memory().unwrap();
    assert!(refused(&server, &["plan", "nope"]).contains("no retrofit `nope`"));
    assert!(refused(&server, &["start", "auditV2"]).contains("no such table"));
    server.shutdown();
}

#[tokio::test]
async fn a_tidied_target_has_no_tombstones_and_gets_none() {
    let model = sample().model.unwrap();
    let server = old_and_new(&model).await;
    done(&server, &["start", "auditV2"]);
    assert!(refused(&server, &["tidy", "auditV2"]).contains("backfill was not started"));
    done(&server, &["backfill", "auditV2", "--rate", FAST]);
    let old = model.table("audit-legacy").unwrap();
    delete(&server.client(), old, &event_key(2), &Expected::nothing()).await.unwrap();
    done(&server, &["repair", "auditV2", "--lag", "0", "--rate", FAST]);
    let target = ["event-00002", "event-00003", "event-00004"].map(|id| {
        let id = AttributeValue::S(id.to_owned());
        Item::from(std::collections::HashMap::from([("id".to_owned(), id)]))
    });
    let held = async |of: &[Item]| {
        let read =
            BatchGet { table: "ResourceAccessAuditV2".to_owned(), keys: of.to_vec(), ..BatchGet::default() };
        batch_get(&server.client(), &read).await.unwrap().items
    };
    assert!(held(&target[..1]).await[0].contains_key("keyfold_tombstone"));
    let price = done(&server, &["tidy", "auditV2", "--check"]);
    assert_eq!(
        (&price["phase"], &price["waits"], &price["tombstones"]),
        (&json!("running"), &json!(2), &json!(true))
    );

    // It is interrupted while it waits, and the same command goes on.
    let mut waiting =
        command(&server, &["tidy", "auditV2", "--wait", "600"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(waiting.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("waiting until ")));
    let pid = waiting.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    drop(lines);
    assert_eq!(waiting.wait().unwrap().code(), Some(130));
    assert_eq!(done(&server, &["status", "auditV2"])["phase"], "tidying");
    let tidied = done(&server, &["tidy", "auditV2", "--wait", "0", "--rate", FAST]);
    let wanted = json!({ "retrofit": "auditV2", "phase": "tidy", "tombstones": false, "items": ITEMS, "swept": 1, "revived": 0 });
    assert_eq!(tidied, wanted);
    assert!(held(&target[..1]).await.is_empty());

    // A delete leaves nothing now, a repair and a backfill go the same way, and the cut-over needs no flag.
    delete(&server.client(), old, &event_key(3), &Expected::nothing()).await.unwrap();
    let found = retrofit(&server, &["verify", "auditV2", "--lag", "0", "--rate", FAST]);
    assert_eq!(found.status.code(), Some(1));
    done(&server, &["repair", "auditV2", "--lag", "0", "--rate", FAST]);
    done(&server, &["backfill", "auditV2", "--again", "--rate", FAST]);
    assert_eq!(held(&target).await.len(), 1);
    assert_eq!(done(&server, &["tidy", "auditV2"])["tombstones"], false, "once more does nothing");
    done(&server, &["verify", "auditV2", "--rate", FAST]);
    assert_eq!(done(&server, &["cutover", "auditV2"])["phase"], "cut-over");
    assert_eq!(done(&server, &["undo", "auditV2"])["phase"], "tidy");
    done(&server, &["verify", "auditV2", "--rate", FAST]);
    done(&server, &["cutover", "auditV2"]);
    // To leave the marks costs nothing, and nobody who asks sees them.
    let price = done(&server, &["finalise", "auditV2", "--check"]);
    assert!(price["writeUnits"].as_u64() >= price["items"].as_u64(), "{price}");
    let nothing = done(&server, &["finalise", "auditV2", "--check", "--leave-marks"]);
    assert_eq!((&nothing["writeUnits"], &nothing["readUnits"]), (&json!(0), &json!(0)));
    assert_eq!(done(&server, &["status", "auditV2"])["phase"], "cut-over");
    assert_eq!(
        done(&server, &["finalise", "auditV2", "--leave-marks", "--settle", "0"])["phase"],
        "finalised"
    );
    assert!(held(&target[2..]).await[0].contains_key("keyfold_fence"));
    assert_eq!(answered(&server, &["--scan", "--count"])["count"], ITEMS - 2);
    let shown = answered(&server, &["id=event-00004"]);
    assert!(!shown.to_string().contains("keyfold_"), "{shown}");
    server.shutdown();
}

/// As in AWS: nobody names an endpoint. The profile leads to the embedded DynamoDB all the same.
fn as_in_aws(server: &EmbeddedDynamo, folder: &Path, arguments: &[&str]) -> Output {
    let config = folder.join("config");
    std::fs::write(&config, format!("[default]\nregion = us-east-1\nendpoint_url = {}\n", server.endpoint()))
        .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyfold"));
    command
        .current_dir(root())
        .env_remove("KEYFOLD_MANIFEST")
        .env("NO_COLOR", "1")
        .env("AWS_CONFIG_FILE", config);
    command.envs([("AWS_ACCESS_KEY_ID", "local"), ("AWS_SECRET_ACCESS_KEY", "local")]);
    command.args(["--json", "retrofit"]).args(arguments).output().unwrap()
}

#[tokio::test]
async fn in_aws_the_control_table_is_the_stacks_and_start_makes_none() {
    let model = sample().model.unwrap();
    let server = old_and_new(&model).await;
    let folder = tempfile::tempdir().unwrap();
    let start = ["start", "auditV2"];
    let refused = as_in_aws(&server, folder.path(), &start);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    for words in ["no control table `keyfold-control`", "deploy the stack", "--create-control-table"] {
        assert!(said.contains(words), "{said}");
    }
    let tables = server.client().list_tables().send().await.unwrap();
    assert_eq!(tables.table_names(), ["ResourceAccessAudit", "ResourceAccessAuditV2"]);
    // The stack's is found, under the stack's name.
    let control = control::table("dev-keyfold-control");
    server.create_tables([&control], TableOptions::default()).await.unwrap();
    let started =
        as_in_aws(&server, folder.path(), &[&start[..], &["--control", "dev-keyfold-control"]].concat());
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
    // Without a stack it is made if that is said.
    let made = as_in_aws(&server, folder.path(), &[&start[..], &["--create-control-table"]].concat());
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    server.shutdown();
}

/// A live table whose items lack their folded key, and a retrofit in place that also changes attributes.
fn live_manifest(allowed: bool) -> tempfile::NamedTempFile {
    let allows = if allowed { "changes-live-attributes = true\n" } else { "" };
    let text = format!(
        "[tables.live]\nname = \"LiveEvents\"\npartition = \"id\"\nindexes.byUser.partition = \"u:{{user}}-{{at}}\"\n\
         [tables.live.attributes]\nid = \"string\"\nuser = \"string\"\nnote = \"string\"\nat = {{ type = \"string\", values = [\"am\", \"pm\"] }}\n\
         [retrofits.fill]\nfrom = \"live\"\nto = \"live\"\nrename = {{ note = \"remark\" }}\ndrop = [\"junk\"]\n{allows}"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

fn live_item(number: usize, at: &str) -> Item {
    let mut attributes =
        vec![("id", format!("live-{number:02}")), ("user", "ann".to_owned()), ("at", at.to_owned())];
    if number.is_multiple_of(2) {
        attributes.push(("note", "secret words".to_owned()));
    }
    let attributes = attributes.into_iter().map(|(name, value)| (name.to_owned(), AttributeValue::S(value)));
    attributes.collect::<std::collections::HashMap<_, _>>().into()
}

/// The table of [`live_manifest`] with ten items.
async fn live_table(times: impl Fn(usize) -> &'static str) -> EmbeddedDynamo {
    let text = std::fs::read_to_string(live_manifest(true).path()).unwrap();
    let model = manifest::parse("keyfold.toml", &text).model.unwrap();
    let server = EmbeddedDynamo::memory().unwrap();
    server.create_tables(&model.tables, TableOptions { stream: true }).await.unwrap();
    let plain = Table { indexes: Vec::new(), attributes: Default::default(), ..model.tables[0].clone() };
    let items = (0..10).map(|number| live_item(number, times(number)));
    load(&server.client(), &plain, futures_util::stream::iter(items)).await.unwrap();
    server
}

/// `keyfold retrofit` with a manifest of its own.
fn with_manifest(server: &EmbeddedDynamo, manifest: &Path, arguments: &[&str]) -> Output {
    command(server, arguments).args(["--manifest".as_ref(), manifest.as_os_str()]).output().unwrap()
}

fn value_of(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn a_retrofit_in_place_changes_live_attributes_only_if_that_is_said() {
    let server = live_table(|_| "am").await;
    let (unsaid, said) = (live_manifest(false), live_manifest(true));
    let refused = with_manifest(&server, unsaid.path(), &["start", "fill"]);
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{text}");
    for words in ["live-attributes", "retrofit `fill`", "`live`", "`note`", "changes-live-attributes = true"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let plan = value_of(&with_manifest(&server, said.path(), &["plan", "fill"]));
    let note = json!({ "attribute": "note", "change": "`note` is renamed to `remark`", "items": 5 });
    let junk = json!({ "attribute": "junk", "change": "`junk` is removed", "items": 0 });
    assert_eq!(plan["liveChanges"], json!([note, junk]));
    value_of(&with_manifest(&server, said.path(), &["start", "fill"]));
    // A retrofit that runs already goes on without the line.
    value_of(&with_manifest(&server, unsaid.path(), &["start", "fill"]));
    let filled = value_of(&with_manifest(&server, unsaid.path(), &["backfill", "fill", "--rate", FAST]));
    assert_eq!(filled["counts"]["written"], 10);
    let given_up = value_of(&with_manifest(&server, said.path(), &["abandon", "fill"]));
    let text = given_up["said"].as_str().unwrap();
    assert!(text.contains("table `LiveEvents` is your live table: keep it"), "{text}");
    assert!(text.contains("stay changed: `note` is renamed to `remark`, `junk` is removed"), "{text}");
    assert!(!text.contains("delete") && !text.contains("target"), "{text}");
    server.shutdown();
}

#[test]
fn check_refuses_unsaid_changes_in_place_and_spells_out_said_ones() {
    let check = |manifest: &Path, json: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyfold"));
        command.env("NO_COLOR", "1").args(["check", "--manifest"]).arg(manifest);
        command.args(json.then_some("--json")).output().unwrap()
    };
    let refused = check(live_manifest(false).path(), false);
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text.contains("error[live-attributes]: retrofit `fill`") && text.contains("`note`"), "{text}");
    let said = live_manifest(true);
    let shown = String::from_utf8(check(said.path(), false).stdout).unwrap();
    assert!(shown.contains("changes attributes of the live table `live`: `junk` is removed"), "{shown}");
    let machine = value_of(&check(said.path(), true));
    assert_eq!(machine["liveChanges"][0]["attribute"], "note", "{machine}");
}

#[tokio::test]
async fn items_that_do_not_fit_are_told_by_attribute_index_and_reason() {
    // Three of ten items have a value that the manifest does not list.
    let server = live_table(|number| if number < 3 { "night" } else { "pm" }).await;
    let manifest = live_manifest(true);
    let ask = |arguments: &[&str]| value_of(&with_manifest(&server, manifest.path(), arguments));
    let misfit = |value: &Value| {
        let [one] = value["misfits"].as_array().unwrap().as_slice() else { panic!("{value}") };
        (one["attribute"].clone(), one["reason"].clone(), one["index"].clone(), one["items"].clone())
    };
    let wanted = (json!("at"), json!("unlisted value"), json!("byUser"), json!(3));
    assert_eq!(misfit(&ask(&["plan", "fill", "--sample", "1000", "--items", "10"])), wanted);
    ask(&["start", "fill"]);
    assert_eq!(ask(&["status", "fill"])["misfits"], json!([]));
    for arguments in [&["backfill", "fill", "--rate", FAST][..], &["status", "fill"], &["quarantine", "fill"]]
    {
        let value = ask(arguments);
        assert_eq!(misfit(&value), wanted, "{arguments:?}");
        let text = value.to_string();
        assert!(text.contains("live-0") && !text.contains("night") && !text.contains("secret"), "{text}");
    }
    let mut shown = Command::new(env!("CARGO_BIN_EXE_keyfold"));
    shown.env("NO_COLOR", "1").args(["retrofit", "status", "fill", "--endpoint", server.endpoint()]);
    let shown = shown.arg("--manifest").arg(manifest.path()).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    let row = text.lines().find(|line| line.starts_with("at ")).unwrap_or_else(|| panic!("{text}"));
    assert!(row.starts_with("at         unlisted value  byUser  3      {\"id\":{\"S\":\"live-0"), "{text}");
    server.shutdown();
}
