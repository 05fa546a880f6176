//! `keyfold retrofit`, up to the cut-over.

use std::io::{BufRead, BufReader, Lines, Read};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use keyfold_core::model::KeySource;
use keyfold_core::retrofit::{
    Action, Epoch, Fence, Job, Lease, Mapping, Pass, Quarantined, SegmentId, control,
};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Expected, TableOptions, delete, put};
use serde_json::{Value, json};

use crate::support::{
    FAST, Site, assert_words, event, item_of, json_of, keyfold_in, kill, refusal_of, stderr, stdout, unaware,
};

pub(crate) const ITEMS: usize = 1200;

pub(crate) fn command(site: &Site, arguments: &[&str]) -> Command {
    let mut command = site.command(&["retrofit"]);
    command.args(arguments);
    command
}

pub(crate) fn retrofit(site: &Site, arguments: &[&str]) -> Output {
    command(site, arguments).output().unwrap()
}

#[track_caller]
pub(crate) fn done(site: &Site, arguments: &[&str]) -> Value {
    json_of(&retrofit(site, arguments))
}

/// Starts a retrofit.
#[track_caller]
pub(crate) fn start(site: &Site, retrofit: &str) -> Value {
    done(site, &["run", retrofit, "--until", "start"])
}

/// Copies the existing items, and returns the report.
#[track_caller]
pub(crate) fn backfill(site: &Site, retrofit: &str, more: &[&str]) -> Value {
    done(site, &[&["run", retrofit, "--until", "backfill", "--rate", FAST][..], more].concat())["backfill"]
        .take()
}

/// Compares both sides, and returns the report.
#[track_caller]
pub(crate) fn compare(site: &Site, retrofit: &str, more: &[&str]) -> Value {
    done(site, &[&["run", retrofit, "--rate", FAST][..], more].concat())["comparison"].take()
}

#[track_caller]
pub(crate) fn refuses(site: &Site, arguments: &[&str], words: &[&str]) {
    assert_words(&refusal_of(&retrofit(site, arguments)), words);
}

/// A command that runs, and the lines of its standard error.
pub(crate) fn spawned(site: &Site, arguments: &[&str]) -> (Child, Lines<BufReader<ChildStderr>>) {
    let mut child = command(site, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    (child, lines)
}

/// The old table, which has items and a stream, and the new one, which is empty.
pub(crate) async fn old_and_new() -> Site {
    let site = Site::sample();
    let (old, new) = (site.table("audit-legacy"), site.table("audit"));
    site.create(new, false).await;
    site.create(old, true).await;
    site.load(old, (0..ITEMS).map(event)).await;
    site
}

/// Only the new table, with items of a program without folded keys.
async fn in_place() -> Site {
    let site = Site::sample();
    site.create(site.table("audit"), false).await;
    site.load(site.table("audit"), (0..ITEMS).map(event)).await;
    site
}

/// Adds an entry to the quarantine of `auditV2`, as a function does.
pub(crate) async fn quarantine(site: &Site, entry: Quarantined) {
    let mapping = Mapping::of(&site.model, "auditV2").unwrap();
    let Action::Put(row) = entry.enter(&mapping).action else { panic!("an entry is put") };
    site.put(&control::table("keyfold-control"), row).await;
}

#[tokio::test]
async fn items_are_carried_into_a_new_table_once_and_verified() {
    let site = old_and_new().await;

    assert_eq!(done(&site, &["plan", "auditV2"])["items"], ITEMS);
    refuses(&site, &["status", "auditV2"], &["table"]);
    let started = start(&site, "auditV2");
    assert_eq!(started["next"], "keyfold retrofit run auditV2");
    refuses(&site, &["switch", "auditV2"], &["backfill was not started"]);
    let first = backfill(&site, "auditV2", &["--segments", "3"]);
    assert_eq!(first["counts"]["written"], ITEMS);
    let second = backfill(&site, "auditV2", &["--segments", "3", "--again"]);
    assert_eq!(
        (&second["counts"]["superseded"], second["writeUnits"].as_f64()),
        (&Value::from(ITEMS), Some(0.0))
    );

    let verified = compare(&site, "auditV2", &[]);
    assert_eq!(verified["counts"]["same"], 2 * ITEMS);
    // The replicator does not run, so this change is missing in the target.
    let mut changed = event(5);
    changed.insert("resourceId".to_owned(), AttributeValue::S("elsewhere".to_owned()));
    site.put(site.table("audit-legacy"), changed).await;
    assert_eq!(retrofit(&site, &["run", "auditV2"]).status.code(), Some(1));
    let status = done(&site, &["status", "auditV2"]);
    assert_eq!(status["next"], "keyfold retrofit run auditV2 --repair");
    assert_eq!(done(&site, &["run", "auditV2", "--repair"])["next"], "keyfold retrofit switch auditV2");
    let gates = done(&site, &["status", "auditV2"])["gates"].clone();
    assert_eq!((&gates[0]["code"], gates.as_array().unwrap().len()), (&json!("tombstones"), 1), "{gates}");
    assert_eq!(done(&site, &["switch", "auditV2", "--writers", "stay"])["phase"], "cut-over");
    for more in ["--again", "--repair"] {
        refuses(&site, &["run", "auditV2", more], &["already-cut-over", "take back what was written"]);
    }
    assert_eq!(done(&site, &["switch", "auditV2", "--back"])["phase"], "tidy");
    // The command compares first.
    assert_eq!(done(&site, &["switch", "auditV2", "--writers", "stay"])["phase"], "cut-over");
    refuses(&site, &["finish", "auditV2"], &["`cut-over`", "`keyfold retrofit switch` moves the writers"]);
    // A change of the writers was not carried over, because the replicator does not run.
    let mut changed = event(6);
    changed.insert("resourceId".to_owned(), AttributeValue::S("at the end".to_owned()));
    site.put(site.table("audit-legacy"), changed).await;
    let for_good = ["switch", "auditV2", "--writers", "attested", "--for-good"];
    refuses(&site, &for_good, &["2 items that differ", "next: keyfold retrofit switch auditV2 --back"]);
    assert_eq!(done(&site, &["switch", "auditV2", "--back"])["phase"], "tidy");
    done(&site, &["run", "auditV2", "--repair"]);
    assert_eq!(done(&site, &["switch", "auditV2", "--writers", "stay"])["phase"], "cut-over");
    assert_eq!(done(&site, &for_good)["phase"], "settled");
    // After an interruption, the same command waits for the rest of the time.
    for _ in 0..2 {
        let (mut waiting, mut lines) = spawned(&site, &["finish", "auditV2", "--waits", "in-flight=600"]);
        assert!(lines.any(|line| line.unwrap().contains("until functions in progress have ended")));
        waiting.kill().unwrap();
        waiting.wait().unwrap();
        assert_eq!(done(&site, &["status", "auditV2"])["phase"], "finalising");
    }
    assert_eq!(done(&site, &["finish", "auditV2"])["phase"], "finalised");
    refuses(&site, &["run", "auditV2"], &["it writes nothing now"]);
}

#[tokio::test]
async fn items_get_their_keys_in_place_and_a_second_pass_writes_nothing() {
    let site = in_place().await;
    refuses(&site, &["run", "auditInPlace", "--until", "start"], &["no stream"]);
    done(&site, &["run", "auditInPlace", "--until", "start", "--no-stream"]);
    let first = backfill(&site, "auditInPlace", &[]);
    assert_eq!(first["counts"]["written"], ITEMS);
    let second = backfill(&site, "auditInPlace", &["--again"]);
    assert_eq!(
        (&second["counts"]["unchanged"], second["writeUnits"].as_f64()),
        (&Value::from(ITEMS), Some(0.0))
    );
    assert_eq!(compare(&site, "auditInPlace", &[])["counts"]["same"], ITEMS);
}

/// `keyfold query` of the new table.
fn query(site: &Site, words: &[&str]) -> Output {
    site.run(&[&["query", "--table", "audit", "--limit", "1000"], words].concat())
}

#[track_caller]
pub(crate) fn answered(site: &Site, words: &[&str]) -> Value {
    json_of(&query(site, words))
}

#[track_caller]
fn unanswered(site: &Site, words: &[&str]) -> String {
    refusal_of(&query(site, words))
}

/// Who viewed one resource: only the folded index of the sample answers that.
const WHO_VIEWED: [&str; 6] =
    ["--where", "resourceId=r1", "--where", "action=viewed", "--where", "accessedBy=u1"];

#[tokio::test]
async fn an_index_that_is_still_being_filled_is_not_asked() {
    let site = in_place().await;
    let expected = (0..ITEMS).filter(|number| number % 7 == 1 && number % 11 == 1).count();
    let uses = |conditions: &[&str]| {
        let answer = answered(&site, &[conditions, &["--explain"]].concat());
        assert_eq!(answer["count"], expected, "{answer}");
        answer["plan"].to_string()
    };
    // DynamoDB fills the native index itself, so it can be used, at a higher price. Without it, the question is
    // refused.
    assert!(uses(&WHO_VIEWED).contains("byUserAction"), "no control table");
    let refused = |conditions: &[&str]| unanswered(&site, conditions);
    let only_folded = ["--where", "action=viewed"];
    assert!(refused(&only_folded).contains("not started"));
    done(&site, &["run", "auditInPlace", "--until", "start", "--no-stream"]);
    let pending = "is being filled by retrofit `auditInPlace`: ";
    assert!(refused(&only_folded).contains(&format!("{pending}backfill not started")));
    backfill(&site, "auditInPlace", &["--segments", "4"]);
    assert!(refused(&only_folded).contains(&format!("{pending}4 of 4 segments, not switched")));
    assert!(uses(&WHO_VIEWED).contains("byUserAction"));
    done(&site, &["run", "auditInPlace"]);
    done(&site, &["switch", "auditInPlace"]);
    assert!(uses(&WHO_VIEWED).contains("byResourceActionUser"));
    assert_eq!(answered(&site, &["--where", "action=viewed", "--count"])["count"], ITEMS);
    done(&site, &["switch", "auditInPlace", "--back"]);
    assert!(refused(&only_folded).contains(pending));
}

#[tokio::test]
async fn a_deleted_item_is_gone_after_the_cut_over_and_nothing_of_the_retrofit_shows() {
    let site = old_and_new().await;
    start(&site, "auditV2");
    backfill(&site, "auditV2", &[]);
    assert!(
        unanswered(&site, &["--where", "id=event-00001"]).contains("auditV2"),
        "the new table lacks items"
    );
    let old = site.table("audit-legacy");
    let key = old.key_of(&event(2)).unwrap();
    delete(&site.client(), old, &key, &Expected::nothing()).await.unwrap();
    done(&site, &["run", "auditV2", "--repair", "--lag", "0"]);
    done(&site, &["run", "auditV2"]);
    let held = site.items("ResourceAccessAuditV2", &[key]).await;
    assert!(held[0].contains_key("keyfold_tombstone"), "DynamoDB still holds the tombstone: {held:?}");
    done(&site, &["switch", "auditV2", "--writers", "stay"]);
    let gone = answered(&site, &["--where", "id=event-00002"]);
    assert_eq!((&gone["count"], gone["items"].as_array().unwrap().len()), (&Value::from(0), 0));
    let kept = answered(&site, &["--where", "id=event-00003"])["items"].to_string();
    assert!(kept.contains("u3") && !kept.contains("keyfold_"), "{kept}");
    assert_eq!(answered(&site, &["--scan", "--count"])["count"], ITEMS - 1);
}

#[tokio::test]
async fn ctrl_c_ends_a_backfill_at_its_page_and_the_same_command_continues() {
    let site = old_and_new().await;
    start(&site, "auditV2");
    // At this rate it takes half a minute: about 5 units for each item.
    let slow = ["run", "auditV2", "--until", "backfill", "--segments", "2", "--rate", "200"];
    let (mut child, mut lines) = spawned(&site, &slow);
    // Once it has shown the progress of the backfill: a slow machine shows an earlier step first.
    let shown = lines.by_ref().map(Result::unwrap).find(|line| line.contains(" items")).unwrap();
    assert_words(&shown, &[" items, ", " items/s, ", " left", " throttled, ", " units"]);
    // After each page the worker stores its rate, and `status` shows it.
    let rates = || done(&site, &["status", "auditV2"])["rates"].clone();
    let noted = (0..50).map(|_| rates()).find(|rates| *rates != json!([])).unwrap();
    assert_eq!((&noted[0]["unitsPerSecond"], &noted[0]["limitedBy"]), (&json!(200), &Value::Null), "{noted}");
    kill("-INT", child.id());
    let said: Vec<_> = lines.map(Result::unwrap).collect();
    assert!(said.iter().any(|line| line.contains("ctrl-C again")), "{said:?}");
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let first = serde_json::from_str::<Value>(&text).unwrap()["backfill"].take();
    let written = first["counts"]["written"].as_u64().unwrap();
    assert!(first["done"] == false && written > 0 && written < ITEMS as u64, "{first}");
    // It continues there: items that were written are neither written nor read again.
    let second = backfill(&site, "auditV2", &["--segments", "2"]);
    assert_eq!((&second["done"], &second["counts"]["written"]), (&true.into(), &ITEMS.into()));
    assert_eq!(second["counts"].get("superseded"), None);
}

/// The leases that a killed worker left, which end after these milliseconds.
async fn leases_of_the_dead(site: &Site, segments: u32, left_ms: u64) {
    let job = Job::new(Mapping::of(&site.model, "auditV2").unwrap(), Epoch::FIRST);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let until_ms = u64::try_from(now.as_millis()).unwrap() + left_ms;
    for number in 0..segments {
        let segment = SegmentId::new(number, segments).unwrap();
        let lease = Lease { pass: Pass::Backfill, segment, owner: "killed".to_owned(), until_ms };
        let Action::Put(row) = lease.take(&job, 0).action else { panic!("a lease is put") };
        site.put(&control::table("keyfold-control"), row).await;
    }
}

#[tokio::test]
async fn a_backfill_that_was_killed_is_taken_over_with_its_segments_when_its_leases_end() {
    let site = old_and_new().await;
    start(&site, "auditV2");
    let slow = ["run", "auditV2", "--until", "backfill", "--segments", "6", "--rate", "200"];
    let (mut child, mut lines) = spawned(&site, &slow);
    assert!(lines.any(|line| line.unwrap().contains(" items/s")), "it is at work");
    child.kill().unwrap();
    child.wait().unwrap();
    leases_of_the_dead(&site, 6, 1_500).await;
    let output = retrofit(&site, &["run", "auditV2", "--until", "backfill", "--rate", FAST]);
    assert_words(&stderr(&output), &["another worker has 6 segments: waiting"]);
    let end = json_of(&output)["backfill"].take();
    assert_eq!((&end["done"], &end["counts"]["items"]), (&json!(true), &json!(ITEMS)), "{end}");
    let status = done(&site, &["status", "auditV2"]);
    assert_eq!((&status["segmentsDone"], &status["segments"]), (&json!(6), &json!(6)), "{status}");
    // From its beginning it has the same number too, unless another one is given.
    backfill(&site, "auditV2", &["--again"]);
    assert_eq!(done(&site, &["status", "auditV2"])["segments"], 6);
    backfill(&site, "auditV2", &["--again", "--segments", "5"]);
    assert_eq!(done(&site, &["status", "auditV2"])["segments"], 5);
}

#[tokio::test]
async fn the_number_of_segments_is_known_before_anything_is_carried_over() {
    let site = old_and_new().await;
    start(&site, "auditV2");
    // Another worker holds every segment: nothing is copied before the interruption.
    leases_of_the_dead(&site, 7, 60_000).await;
    let (mut child, mut lines) =
        spawned(&site, &["run", "auditV2", "--until", "backfill", "--segments", "7"]);
    assert!(lines.any(|line| line.unwrap().contains("another worker has 7 segments")));
    child.kill().unwrap();
    child.wait().unwrap();
    let status = done(&site, &["status", "auditV2"]);
    assert_eq!((&status["segmentsDone"], &status["segments"]), (&json!(0), &json!(7)), "{status}");
    refuses(
        &site,
        &["run", "auditV2", "--segments", "5"],
        &["started with 7 segments", "--again", "next: keyfold retrofit run auditV2"],
    );
}

#[tokio::test]
async fn the_status_is_watched_until_the_retrofit_is_over() {
    let site = old_and_new().await;
    start(&site, "auditV2");
    let mut watching = command(&site, &["status", "auditV2", "--watch", "--every", "1"]);
    let mut watching = watching.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut looks = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let first = looks.next().unwrap();
    assert_eq!(
        (&first["phase"], &first["passes"], &first["lagMilliseconds"]),
        (&json!("running"), &json!([]), &Value::Null)
    );
    done(&site, &["run", "auditV2", "--until", "backfill", "--rate", "2000"]);
    let of_backfill = |look: Value| look["passes"][0].clone();
    let end = looks.by_ref().map(of_backfill).find(|pass| pass["done"] == true).unwrap();
    assert_eq!(
        (&end["pass"], &end["items"], &end["secondsLeft"]),
        (&json!("backfill"), &json!(ITEMS), &json!(0)),
        "{end}"
    );
    assert!(end["itemsPerSecond"].as_f64().unwrap() > 0.0, "{end}");
    done(&site, &["abandon", "auditV2"]);
    assert_eq!(looks.last().unwrap()["phase"], "abandoned");
    assert!(watching.wait().unwrap().success());
}

#[tokio::test]
async fn an_entry_that_names_no_item_is_dismissed_after_a_comparison_that_found_nothing() {
    let site = old_and_new().await;
    start(&site, "auditV2");
    backfill(&site, "auditV2", &[]);
    // A record that could not be read, as the replicator enters it.
    quarantine(&site, Quarantined::named("lost", Fence::of_scan(Epoch::FIRST))).await;
    refuses(&site, &["quarantine", "auditV2", "--release"], &["only a comparison can answer"]);
    let shown = done(&site, &["quarantine", "auditV2"]);
    assert_eq!(shown["entries"][0]["code"], "record-unreadable", "{shown}");
    refuses(&site, &["switch", "auditV2", "--writers", "stay"], &["1 items are in quarantine"]);
    // Both sides agree, so it succeeds; `switch` looks at the other gates.
    assert_eq!(done(&site, &["run", "auditV2", "--rate", FAST])["code"], "gates-closed");
    assert_eq!(done(&site, &["quarantine", "auditV2", "--release"])["released"], 1);
    assert_eq!(done(&site, &["status", "auditV2"])["quarantined"], 0);
    done(&site, &["switch", "auditV2", "--writers", "stay"]);
}

#[tokio::test]
async fn nothing_starts_on_what_another_retrofit_still_fills() {
    let site = Site::sample();
    site.dynamo().create_tables(&site.model.tables, TableOptions { stream: true }).await.unwrap();
    start(&site, "auditV2");
    refuses(
        &site,
        &["run", "auditInPlace", "--until", "start"],
        &["source-unfinished", "`audit`", "`auditV2`"],
    );
    refuses(&site, &["status", "auditInPlace"], &["was not started"]);
    done(&site, &["abandon", "auditV2"]);
    start(&site, "auditInPlace");
}

#[tokio::test]
async fn a_retrofit_or_a_table_that_does_not_exist_is_named() {
    let site = Site::sample();
    refuses(&site, &["plan", "nope"], &["no retrofit `nope`"]);
    refuses(&site, &["run", "auditV2", "--until", "start"], &["no such table"]);
}

#[tokio::test]
async fn in_aws_the_control_table_is_the_stacks_and_start_makes_none() {
    let site = old_and_new().await;
    // As in AWS, without an endpoint option: the profile selects the embedded DynamoDB.
    let config = site.folder.path().join("config");
    let endpoint = site.dynamo().endpoint();
    std::fs::write(&config, format!("[default]\nregion = us-east-1\nendpoint_url = {endpoint}\n")).unwrap();
    let start = |more: &[&str]| {
        let mut command =
            keyfold_in(site.folder.path(), &["--json", "retrofit", "run", "auditV2", "--until", "start"]);
        command.envs([("AWS_ACCESS_KEY_ID", "local"), ("AWS_SECRET_ACCESS_KEY", "local")]);
        command.env("AWS_CONFIG_FILE", &config).args(more).output().unwrap()
    };
    let words = ["no control table `keyfold-control`", "deploy the stack", "--create-control-table"];
    assert_words(&refusal_of(&start(&[])), &words);
    let tables = site.client().list_tables().send().await.unwrap();
    assert_eq!(tables.table_names(), ["ResourceAccessAudit", "ResourceAccessAuditV2"]);
    // The stack's is found, under the stack's name. Without a stack it is created on request.
    site.create(&control::table("dev-keyfold-control"), false).await;
    json_of(&start(&["--control", "dev-keyfold-control"]));
    json_of(&start(&["--create-control-table"]));
    // A table of another kind is refused with a code, whether it may be created or not.
    for more in [&[][..], &["--create-control-table"]] {
        let refusal = refusal_of(&start(&[&["--control", "ResourceAccessAudit"], more].concat()));
        assert_words(&refusal, &["table-differs", "`ResourceAccessAudit`", "hint"]);
    }
}

/// A live table whose items lack their folded key, and a retrofit in place that also changes attributes.
fn live_manifest(allowed: bool) -> String {
    let allows = if allowed { "changes-live-attributes = true\n" } else { "" };
    format!(
        "[tables.live]\nname = \"LiveEvents\"\npartition = \"id\"\nindexes.byUser.partition = \"u:{{user}}-{{at}}\"\n\
         [tables.live.attributes]\nid = \"string\"\nuser = \"string\"\nnote = \"string\"\nat = {{ type = \"string\", values = [\"am\", \"pm\"] }}\n\
         [retrofits.fill]\nfrom = \"live\"\nto = \"live\"\nrename = {{ note = \"remark\" }}\ndrop = [\"junk\"]\n{allows}"
    )
}

/// A single-table design: customers have their id in the key alone, and some orders lack their key of the old index.
const SHOP: &str = r##"
[tables.shop]
name = "Shop"
partition = { attribute = "PK" }
sort = { attribute = "SK" }
attributes = { customerId = { type = "string", from-key = true }, orderId = { type = "string", from-key = true }, state = "string" }
indexes.gsi1 = { partition = { attribute = "GSI1PK" }, sort = { attribute = "GSI1SK" } }
indexes.byState = { partition = { attribute = "StatePK" }, sort = { attribute = "StateSK" } }
[tables.shop.entities.customer]
when = { SK = { begins-with = "PROFILE" } }
partition = "c#{customerId}"
sort = "PROFILE"
[tables.shop.entities.order]
when = { SK = { begins-with = "o#" } }
partition = "c#{customerId}"
sort = "o#{orderId}"
indexes.gsi1 = { partition = "o#{orderId}", sort = "{state}" }
indexes.byState = { partition = "s#{state}", sort = "{customerId}" }
[tables.shop2]
name = "Shop2"
partition = { attribute = "PK2", fold = "T1#{PK}" }
sort = { attribute = "SK2", fold = "{SK}" }
attributes = { PK = "string", SK = "string" }
[retrofits.fill]
from = "shop"
to = "shop"
fills = ["byState"]
[retrofits.moved]
from = "shop"
to = "shop2"
"##;

#[tokio::test]
async fn plan_prints_what_changes_by_entity_and_attribute_and_tries_the_way_back() {
    let site = Site::new(SHOP);
    site.create(site.table("shop"), true).await;
    site.create(site.table("shop2"), true).await;
    let mut plain = unaware(site.table("shop"));
    plain.entities.clear();
    for key in std::iter::once(&mut plain.partition).chain(&mut plain.sort) {
        key.source = KeySource::Natural;
    }
    for number in 0..20 {
        let customer =
            [("PK", format!("c#{number}")), ("SK", "PROFILE".to_owned()), ("mail", format!("{number}@x"))];
        put(&site.client(), &plain, item_of(customer)).await.unwrap();
        let order = [
            ("PK", format!("c#{number}")),
            ("SK", format!("o#{number}")),
            ("orderId", number.to_string()),
            ("state", "open".to_owned()),
        ];
        let mut order = item_of(order);
        if number % 2 == 0 {
            order.extend(item_of([("GSI1PK", format!("o#{number}")), ("GSI1SK", "open".to_owned())]));
        }
        put(&site.client(), &plain, order).await.unwrap();
    }
    let text = |name: &str| {
        let mut command = keyfold_in(
            site.folder.path(),
            &["--endpoint", site.dynamo().endpoint(), "retrofit", "plan", name],
        );
        stdout(&command.output().unwrap())
    };
    let lines = |name: &str| done(&site, &["plan", name])["diff"]["found"].as_array().unwrap().clone();
    let brief = |line: &Value| {
        [&line["entity"], &line["attribute"], &line["change"], &line["items"], &line["keyOf"]]
            .map(Value::clone)
    };
    let found: Vec<_> = lines("fill").iter().map(brief).collect();
    let key = |name: &str| [json!("order"), json!(name), json!("added"), json!(20), json!(["byState"])];
    assert_eq!(found, [key("StatePK"), key("StateSK")], "the keys of the filled index, and nothing else");
    let shown = text("fill");
    assert_words(
        &shown,
        &[
            "attributes that the retrofit changes",
            "it changes no others",
            "order",
            "StatePK",
            "added",
            "byState",
        ],
    );
    let shown = text("moved");
    let words = [
        "PK2",
        "folded key",
        "way back",
        "`GSI1PK` of `shop` is added",
        "10",
        "`StatePK` of `shop` is added",
    ];
    assert_words(&shown, &words);
    assert!(!shown.contains("refused: no-way-back"), "{shown}");
}

fn live_item(number: usize, at: &str) -> Item {
    let texts = [("id", format!("live-{number:02}")), ("user", "ann".to_owned()), ("at", at.to_owned())];
    let mut item = item_of(texts);
    if number.is_multiple_of(2) {
        item.insert("note".to_owned(), AttributeValue::S("secret words".to_owned()));
    }
    item
}

/// The table of [`live_manifest`] with ten items.
async fn live_table(times: impl Fn(usize) -> &'static str) -> Site {
    let site = Site::new(&live_manifest(true));
    site.create(site.table("live"), true).await;
    site.load(site.table("live"), (0..10).map(|number| live_item(number, times(number)))).await;
    site
}

#[tokio::test]
async fn a_retrofit_in_place_changes_live_attributes_only_if_the_manifest_allows_it() {
    let site = live_table(|_| "am").await;
    site.rewrite(&live_manifest(false));
    let words = ["live-attributes", "retrofit `fill`", "`live`", "`note`", "changes-live-attributes = true"];
    refuses(&site, &["run", "fill", "--until", "start"], &words);
    let check = keyfold_in(site.folder.path(), &["check"]).output().unwrap();
    assert_words(&refusal_of(&check), &["error[live-attributes]: retrofit `fill`", "`note`"]);
    site.rewrite(&live_manifest(true));
    let check = keyfold_in(site.folder.path(), &["check"]).output().unwrap();
    assert_words(&stdout(&check), &["changes attributes of the live table `live`: `junk` is removed"]);
    assert_eq!(site.done(&["check"])["liveChanges"][0]["attribute"], "note");
    let plan = done(&site, &["plan", "fill"]);
    let found = plan["diff"]["found"].as_array().unwrap().iter();
    let found: Vec<_> = found.map(|line| [&line["attribute"], &line["change"], &line["items"]]).collect();
    let expected =
        [json!(["byUser_pk", "added", 10]), json!(["note", "removed", 5]), json!(["remark", "added", 5])];
    assert_eq!(json!(found), json!(expected));
    assert_eq!(plan["diff"]["found"][1]["because"], json!(["renamed to `remark`"]));
    let possible = plan["diff"]["possible"].as_array().unwrap();
    assert!(possible.iter().any(|line| line["attribute"] == "junk"), "no item has it");
    start(&site, "fill");
    // A retrofit that runs already continues without the line.
    site.rewrite(&live_manifest(false));
    start(&site, "fill");
    assert_eq!(backfill(&site, "fill", &[])["counts"]["written"], 10);
    site.rewrite(&live_manifest(true));
    let given_up = done(&site, &["abandon", "fill"]);
    let text = given_up["said"].as_str().unwrap();
    let words = [
        "table `LiveEvents` is your live table: keep it",
        "stay changed: `note` is renamed to `remark`, `junk` is removed",
    ];
    assert_words(text, &words);
    assert!(!text.contains("delete") && !text.contains("target"), "{text}");
}

#[tokio::test]
async fn items_that_do_not_fit_are_listed_by_attribute_index_and_reason() {
    // Three of ten items have a value that the manifest does not list.
    let site = live_table(|number| if number < 3 { "night" } else { "pm" }).await;
    let misfit = |value: &Value| {
        let [one] = value["misfits"].as_array().unwrap().as_slice() else { panic!("{value}") };
        (one["attribute"].clone(), one["reason"].clone(), one["index"].clone(), one["items"].clone())
    };
    let wanted = (json!("at"), json!("unlisted value"), json!("byUser"), json!(3));
    assert_eq!(misfit(&done(&site, &["plan", "fill", "--sample", "1000", "--items", "10"])), wanted);
    start(&site, "fill");
    assert_eq!(done(&site, &["status", "fill"])["misfits"], json!([]));
    let backfilled = backfill(&site, "fill", &[]);
    for value in [backfilled, done(&site, &["status", "fill"]), done(&site, &["quarantine", "fill"])] {
        assert_eq!(misfit(&value), wanted);
        let text = value.to_string();
        assert!(text.contains("live-0") && !text.contains("night") && !text.contains("secret"), "{text}");
    }
    let words = ["retrofit", "status", "fill", "--endpoint", site.dynamo().endpoint()];
    let text = stdout(&keyfold_in(site.folder.path(), &words).output().unwrap());
    assert_words(&text, &["\nat         unlisted value  byUser  3      {\"id\":{\"S\":\"live-0"]);
}
