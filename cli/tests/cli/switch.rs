//! `keyfold retrofit tidy`, `switch` and `redrive`.

use std::collections::BTreeSet;

use keyfold_core::retrofit::{Epoch, Fence, Quarantined};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Expected, delete, enable_stream, put};
use serde_json::{Value, json};

use crate::retrofit::{ITEMS, answered, command, done, old_and_new, quarantine, refuses, retrofit, spawned};
use crate::support::{FAST, Site, aws_cli, event, item_of, json_of, kill};

/// The tables after `tidy`, with a stream of the new table too. No replicator runs.
async fn tidied() -> Site {
    let site = old_and_new().await;
    enable_stream(&site.client(), site.table("audit")).await.unwrap();
    done(&site, &["start", "auditV2"]);
    done(&site, &["backfill", "auditV2", "--rate", FAST]);
    done(&site, &["tidy", "auditV2", "--wait", "0", "--rate", FAST]);
    site
}

fn event_key(number: usize) -> Item {
    item_of([("id", format!("event-{number:05}"))])
}

fn changed(number: usize, attribute: &str, to: &str) -> Item {
    let mut item = event(number);
    item.insert(attribute.to_owned(), AttributeValue::S(to.to_owned()));
    item
}

/// Enters a batch into the quarantine, and redrives it: the AWS CLI prints this object.
async fn redrive(site: &Site, place: &str, object: &Value) -> Value {
    quarantine(site, Quarantined::set_aside(place, Fence::of_scan(Epoch::FIRST))).await;
    let (folder, path) = aws_cli("cat \"$(dirname \"$0\")/object\"");
    std::fs::write(folder.path().join("object"), object.to_string()).unwrap();
    json_of(&command(site, &["redrive", "auditV2"]).env("PATH", &path).output().unwrap())
}

#[tokio::test]
async fn after_a_switch_a_batch_of_the_target_is_carried_back_and_one_of_the_source_is_late() {
    let site = tidied().await;
    let (old, new) = (site.table("audit-legacy"), site.table("audit"));
    done(&site, &["verify", "auditV2", "--rate", FAST]);
    let words = ["switch", "auditV2", "--writers", "attested", "--quiet", "0", "--unproven"];
    let moved = done(&site, &words);
    assert_eq!(moved["phase"], "reversed");
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
        let end = redrive(&site, place, &json!({ "payload": batch })).await;
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
    let noted = done(&site, &["late", "auditV2", "--images"])["late"].clone();
    assert_eq!(
        (noted.as_array().unwrap().len(), &noted[0]["new"]["resourceId"]["S"]),
        (1, &json!("too late"))
    );
}

#[tokio::test]
async fn an_item_that_stays_out_delays_no_switch() {
    let site = tidied().await;
    let old = site.table("audit-legacy");
    let odd = |timestamp: &str| changed(ITEMS + 1, "timestamp", timestamp);
    let switch =
        ["switch", "auditV2", "--writers", "attested", "--quiet", "0", "--unproven", "--stop-max", "3"];
    let verify = ["verify", "auditV2", "--lag", "0", "--rate", FAST];
    let accept = || done(&site, &["quarantine", "auditV2", "--accept", "of a test", "--by", "ann", "--all"]);
    done(&site, &verify);
    site.put(old, odd("yesterday")).await;
    // It is not accepted yet.
    refuses(&site, &switch, &["stop-too-long"]);
    accept();
    done(&site, &verify);
    // It changes, and fits no better.
    site.put(old, odd("tomorrow")).await;
    assert_eq!(done(&site, &switch)["phase"], "reversed");
    let kept = site.items(&old.name, &[event_key(ITEMS + 1)]).await;
    assert_eq!(kept.len(), 1, "it stays in the source");
}

#[tokio::test]
async fn the_items_of_a_discarded_batch_are_read_again() {
    let site = old_and_new().await;
    done(&site, &["start", "auditV2"]);
    done(&site, &["backfill", "auditV2", "--rate", FAST]);
    // Two changes of an item, whose records were discarded.
    site.put(site.table("audit-legacy"), changed(5, "resourceId", "elsewhere")).await;
    quarantine(&site, Quarantined::set_aside("s3://bucket/aws/lambda/one", Fence::of_scan(Epoch::FIRST)))
        .await;
    refuses(&site, &["cutover", "auditV2"], &["1 items are in quarantine"]);
    let record = |sequence: &str| json!({ "dynamodb": { "Keys": { "id": { "S": "event-00005" } }, "SequenceNumber": sequence } });
    let batch = json!({ "Records": [record("900"), record("1000")] });
    let end = redrive(&site, "s3://bucket/aws/lambda/one", &json!({ "payload": batch.to_string() })).await;
    assert_eq!(end, json!({ "retrofit": "auditV2", "batches": 1, "records": 2, "batchesLeft": 0 }));
    assert_eq!(done(&site, &["status", "auditV2"])["quarantined"], 0);
    let found = done(&site, &["verify", "auditV2", "--rate", FAST]);
    assert_eq!(found["counts"]["same"], 2 * ITEMS, "the changed item has arrived: {found}");
    // A late write of the discarded batch must lose: the item's fence is newer.
    let there = site.items("ResourceAccessAuditV2", &[event_key(5)]).await;
    let AttributeValue::S(fence) = &there[0]["keyfold_fence"] else { panic!() };
    assert!(fence.as_str() >= "0001.0000000000000000000000000000000000001000", "{fence}");
}

#[tokio::test]
async fn a_tidied_target_has_no_tombstones_and_gets_none() {
    let site = old_and_new().await;
    done(&site, &["start", "auditV2"]);
    refuses(&site, &["tidy", "auditV2"], &["backfill was not started"]);
    done(&site, &["backfill", "auditV2", "--rate", FAST]);
    let old = site.table("audit-legacy");
    delete(&site.client(), old, &event_key(2), &Expected::nothing()).await.unwrap();
    done(&site, &["repair", "auditV2", "--lag", "0", "--rate", FAST]);
    let target = [2, 3, 4].map(event_key);
    let held = async |keys: &[Item]| site.items("ResourceAccessAuditV2", keys).await;
    assert!(held(&target[..1]).await[0].contains_key("keyfold_tombstone"));
    let price = done(&site, &["tidy", "auditV2", "--check"]);
    assert_eq!(
        (&price["phase"], &price["waits"], &price["tombstones"]),
        (&json!("running"), &json!(2), &json!(true))
    );

    // It is interrupted while it waits, and the same command continues.
    let (mut waiting, mut lines) = spawned(&site, &["tidy", "auditV2", "--wait", "600"]);
    assert!(lines.any(|line| line.unwrap().contains("waiting until ")));
    kill("-INT", waiting.id());
    drop(lines);
    assert_eq!(waiting.wait().unwrap().code(), Some(130));
    assert_eq!(done(&site, &["status", "auditV2"])["phase"], "tidying");
    let tidied = done(&site, &["tidy", "auditV2", "--wait", "0", "--rate", FAST]);
    let wanted = json!({ "retrofit": "auditV2", "phase": "tidy", "tombstones": false, "items": ITEMS, "swept": 1, "revived": 0 });
    assert_eq!(tidied, wanted);
    assert!(held(&target[..1]).await.is_empty());

    // A delete leaves nothing now, a repair and a backfill go the same way, and the cut-over needs no flag.
    delete(&site.client(), old, &event_key(3), &Expected::nothing()).await.unwrap();
    let found = retrofit(&site, &["verify", "auditV2", "--lag", "0", "--rate", FAST]);
    assert_eq!(found.status.code(), Some(1));
    done(&site, &["repair", "auditV2", "--lag", "0", "--rate", FAST]);
    done(&site, &["backfill", "auditV2", "--again", "--rate", FAST]);
    assert_eq!(held(&target).await.len(), 1);
    assert_eq!(done(&site, &["tidy", "auditV2"])["tombstones"], false, "once more does nothing");
    done(&site, &["verify", "auditV2", "--rate", FAST]);
    assert_eq!(done(&site, &["cutover", "auditV2"])["phase"], "cut-over");
    assert_eq!(done(&site, &["undo", "auditV2"])["phase"], "tidy");
    done(&site, &["verify", "auditV2", "--rate", FAST]);
    done(&site, &["cutover", "auditV2"]);
    // Marks that stay cost nothing, and no query shows them.
    let price = done(&site, &["finalise", "auditV2", "--check"]);
    assert!(price["writeUnits"].as_u64() >= price["items"].as_u64(), "{price}");
    let nothing = done(&site, &["finalise", "auditV2", "--check", "--leave-marks"]);
    assert_eq!((&nothing["writeUnits"], &nothing["readUnits"]), (&json!(0), &json!(0)));
    assert_eq!(done(&site, &["status", "auditV2"])["phase"], "cut-over");
    let end = done(&site, &["finalise", "auditV2", "--leave-marks", "--settle", "0"]);
    assert_eq!(end["phase"], "finalised");
    assert!(held(&target[2..]).await[0].contains_key("keyfold_fence"));
    assert_eq!(answered(&site, &["--scan", "--count"])["count"], ITEMS - 2);
    let shown = answered(&site, &["--where", "id=event-00004"]);
    assert!(!shown.to_string().contains("keyfold_"), "{shown}");
}
