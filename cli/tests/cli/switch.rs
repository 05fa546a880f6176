//! `keyfold retrofit switch` and `quarantine --retry`.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyfold_core::retrofit::{Epoch, Fence, Quarantined};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Expected, delete, enable_stream, put};
use keyfold_local::{InProcessReplicator, PollerOptions, Start, StreamPoller};
use serde_json::{Value, json};

use crate::retrofit::{
    ITEMS, answered, backfill, command, compare, done, old_and_new, quarantine, refuses, retrofit, spawned,
    start,
};
use crate::services::Services;
use crate::support::{Site, event, item_of, json_of, kill};

/// The tables with a tidy target, with a stream of the new table too. A replicator follows that one.
async fn tidied() -> (Site, StreamPoller) {
    let site = old_and_new().await;
    enable_stream(&site.client(), site.table("audit")).await.unwrap();
    start(&site, "auditV2");
    backfill(&site, "auditV2", &[]);
    refuses(&site, &["switch", "auditV2"], &["writers-not-stopped"]);
    let replicator =
        Arc::new(InProcessReplicator::new(&site.model, "auditV2", "keyfold-control", site.dynamo()));
    let table = &site.table("audit").name;
    let options = PollerOptions { start: Start::Latest, ..PollerOptions::default() };
    let poller = StreamPoller::start(site.dynamo().database(), table, replicator, options).await.unwrap();
    (site, poller)
}

fn event_key(number: usize) -> Item {
    item_of([("id", format!("event-{number:05}"))])
}

fn changed(number: usize, attribute: &str, to: &str) -> Item {
    let mut item = event(number);
    item.insert(attribute.to_owned(), AttributeValue::S(to.to_owned()));
    item
}

/// Enters a batch into the quarantine, and retries it: a bucket has this object.
async fn retry(site: &Site, place: &str, object: &Value) -> Value {
    quarantine(site, Quarantined::set_aside(place, Fence::of_scan(Epoch::FIRST))).await;
    let path = format!("/{}", place.trim_start_matches("s3://"));
    let bucket = Services::answering([(path.clone(), object.to_string())]);
    let mut retry = command(site, &["quarantine", "auditV2", "--retry"]);
    let end = json_of(&retry.env("AWS_ENDPOINT_URL_S3", bucket.endpoint()).output().unwrap());
    // Otherwise the next run of the state machine would enter it again.
    bucket.input(&format!("DELETE {path}"));
    end
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_switch_a_batch_of_the_target_is_carried_back_and_one_of_the_source_is_late() {
    let (site, poller) = tidied().await;
    let (old, new) = (site.table("audit-legacy"), site.table("audit"));
    let moved = done(&site, &["switch", "auditV2", "--writers", "attested"]);
    assert_eq!(moved["phase"], "reversed");
    poller.stop().await.unwrap();
    let status = done(&site, &["status", "auditV2"]);
    assert_eq!(
        (&status["gates"], &status["segments"]),
        (&json!([]), &json!(0)),
        "the way back needs no backfill"
    );
    put(&site.client(), new, changed(5, "resourceId", "in the target")).await.unwrap();
    site.put(old, changed(6, "resourceId", "too late")).await;
    let redriven = async |place: &str, stream: &str, record: Value| {
        let arn = format!("arn:aws:dynamodb:us-east-1:1:table/{stream}/stream/x");
        let batch = json!({ "Records": [{ "eventSourceARN": arn, "dynamodb": record }] });
        let end = retry(&site, place, &json!({ "payload": batch })).await;
        assert_eq!((&end["records"], &end["batchesLeft"]), (&json!(1), &json!(0)));
    };
    let image = |item: &Item| serde_json::to_value(item).unwrap();
    let (five, six) = (event_key(5), event_key(6));
    redriven("s3://b/five", &new.name, json!({ "Keys": image(&five), "SequenceNumber": "9000" })).await;
    let late = json!({
        "Keys": image(&six), "SequenceNumber": "9001",
        "OldImage": image(&event(6)), "NewImage": image(&changed(6, "resourceId", "too late")),
    });
    redriven("s3://b/six", &old.name, late).await;
    let there = site.items(&old.name, &[five, six]).await;
    let said: BTreeSet<String> = there.iter().map(|item| format!("{:?}", item["resourceId"])).collect();
    assert!(said.contains("S(\"in the target\")") && !said.contains("S(\"too late\")"), "{said:?}");
    let noted = done(&site, &["quarantine", "auditV2", "--images"])["late"].clone();
    assert_eq!(
        (noted.as_array().unwrap().len(), &noted[0]["new"]["resourceId"]["S"]),
        (1, &json!("too late"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_that_stays_out_delays_no_switch() {
    let (site, poller) = tidied().await;
    let old = site.table("audit-legacy");
    let odd = |timestamp: &str| changed(ITEMS + 1, "timestamp", timestamp);
    let switch = |seconds| ["switch", "auditV2", "--writers", "attested", "--stop-max", seconds];
    let accept = || done(&site, &["quarantine", "auditV2", "--accept", "of a test", "--by", "ann", "--all"]);
    site.put(old, odd("yesterday")).await;
    // It is not accepted yet.
    refuses(
        &site,
        &switch("3"),
        &[
            "stop-too-long",
            "table `ResourceAccessAudit` is open: its writers may write",
            "is the replicator behind, or do writers go on? See `keyfold retrofit status auditV2`",
        ],
    );
    accept();
    compare(&site, "auditV2", &[]);
    // It changes, and fits no better.
    site.put(old, odd("tomorrow")).await;
    assert_eq!(done(&site, &switch("20"))["phase"], "reversed");
    let kept = site.items(&old.name, &[event_key(ITEMS + 1)]).await;
    assert_eq!(kept.len(), 1, "it stays in the source");
    poller.stop().await.unwrap();
}

#[tokio::test]
async fn the_items_of_a_discarded_batch_are_read_again() {
    let site = old_and_new().await;
    start(&site, "auditV2");
    backfill(&site, "auditV2", &[]);
    // Two changes of an item, whose records were discarded.
    site.put(site.table("audit-legacy"), changed(5, "resourceId", "elsewhere")).await;
    quarantine(&site, Quarantined::set_aside("s3://bucket/aws/lambda/one", Fence::of_scan(Epoch::FIRST)))
        .await;
    let record = |sequence: &str| json!({ "dynamodb": { "Keys": { "id": { "S": "event-00005" } }, "SequenceNumber": sequence } });
    let batch = json!({ "Records": [record("900"), record("1000")] });
    let end = retry(&site, "s3://bucket/aws/lambda/one", &json!({ "payload": batch.to_string() })).await;
    assert_eq!(
        end,
        json!({ "retrofit": "auditV2", "batches": 1, "records": 2, "batchesLeft": 0, "released": 0, "left": 0 })
    );
    assert_eq!(done(&site, &["status", "auditV2"])["quarantined"], 0);
    let found = compare(&site, "auditV2", &[]);
    assert_eq!(found["counts"]["same"], 2 * ITEMS, "the changed item has arrived: {found}");
    // A late write of the discarded batch must lose: the item's fence is newer.
    let there = site.items("ResourceAccessAuditV2", &[event_key(5)]).await;
    let AttributeValue::S(fence) = &there[0]["keyfold_fence"] else { panic!() };
    assert!(fence.as_str() >= "0001.0000000000000000000000000000000000001000", "{fence}");
}

#[tokio::test]
async fn a_tidied_target_has_no_tombstones_and_gets_none() {
    let site = old_and_new().await;
    start(&site, "auditV2");
    refuses(&site, &["switch", "auditV2"], &["backfill was not started"]);
    backfill(&site, "auditV2", &[]);
    let old = site.table("audit-legacy");
    delete(&site.client(), old, &event_key(2), &Expected::nothing()).await.unwrap();
    done(&site, &["run", "auditV2", "--repair"]);
    let target = [2, 3, 4].map(event_key);
    let held = async |keys: &[Item]| site.items("ResourceAccessAuditV2", keys).await;
    assert!(held(&target[..1]).await[0].contains_key("keyfold_tombstone"));
    refuses(
        &site,
        &["switch", "auditV2", "--check"],
        &["the target has tombstones", "`switch` deletes them first"],
    );

    // It is interrupted while it waits, and the same command continues.
    let stay = ["switch", "auditV2", "--writers", "stay"];
    let (mut waiting, mut lines) = spawned(&site, &[&stay[..], &["--waits", "in-flight=600"]].concat());
    assert!(lines.any(|line| line.unwrap().contains("until requests of the earlier phase have ended")));
    kill("-INT", waiting.id());
    drop(lines);
    assert_eq!(waiting.wait().unwrap().code(), Some(130));
    let status = done(&site, &["status", "auditV2"]);
    assert_eq!(
        (&status["phase"], &status["next"]),
        (&json!("tidying"), &json!("keyfold retrofit switch auditV2"))
    );
    let output = retrofit(&site, &stay);
    assert_eq!(json_of(&output)["phase"], "cut-over");
    assert!(held(&target[..1]).await.is_empty());
    assert_eq!(done(&site, &["switch", "auditV2", "--back"])["phase"], "tidy");

    // A delete now leaves no tombstone, and a repair and a backfill follow the same direction.
    delete(&site.client(), old, &event_key(3), &Expected::nothing()).await.unwrap();
    assert_eq!(retrofit(&site, &["run", "auditV2"]).status.code(), Some(1));
    done(&site, &["run", "auditV2", "--repair", "--again"]);
    assert_eq!(held(&target).await.len(), 1);
    assert_eq!(done(&site, &stay)["phase"], "cut-over");
    // Keeping marks costs nothing, and no query shows them.
    let price = done(&site, &["finish", "auditV2", "--check"]);
    assert!(price["writeUnits"].as_u64() >= price["items"].as_u64(), "{price}");
    let nothing = done(&site, &["finish", "auditV2", "--check", "--leave-marks"]);
    assert_eq!((&nothing["writeUnits"], &nothing["readUnits"]), (&json!(0), &json!(0)));
    assert_eq!(done(&site, &["status", "auditV2"])["phase"], "cut-over");
    done(&site, &["switch", "auditV2", "--writers", "attested", "--for-good"]);
    // Nothing is cleaned, so there is no wait, on any endpoint.
    let end = done(&site, &["finish", "auditV2", "--leave-marks", "--waits", "in-flight=600"]);
    assert_eq!(end["phase"], "finalised");
    assert!(held(&target[2..]).await[0].contains_key("keyfold_fence"));
    assert_eq!(answered(&site, &["--scan", "--count"])["count"], ITEMS - 2);
    let shown = answered(&site, &["--where", "id=event-00004"]);
    assert!(!shown.to_string().contains("keyfold_"), "{shown}");
}
