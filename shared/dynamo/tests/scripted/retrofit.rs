//! A retrofit's slices when DynamoDB throttles, or does not answer as it should.

use std::ops::ControlFlow;

use keyfold_core::manifest;
use keyfold_core::retrofit::{Checkpoint, Epoch, Job, Mapping, Pass, SegmentId};
use keyfold_dynamo::Client;
use keyfold_dynamo::retrofit::{Carrier, SliceOptions, backfill_slice, verify_slice};
use serde_json::{Value, json};

use crate::script::{refusal, scripted, success};

const MANIFEST: &str = r#"
[tables.old]
name = "old-events"
partition = "id"
attributes = { id = "string", who = "string" }
[tables.new]
name = "new-events"
partition = "id"
attributes = { id = "string", who = "string" }
indexes.byWho.partition = "{who}-{id}"
[retrofits.moved]
from = "old"
to = "new"
"#;

fn carrier(client: Client) -> Carrier {
    let model = manifest::parse("keyfold.toml", MANIFEST).model.unwrap();
    let job = Job::new(Mapping::of(&model, "moved").unwrap(), Epoch::FIRST);
    Carrier::new(client, job, "control").paced(Some(100_000.0))
}

fn page(ids: &[&str]) -> Value {
    let items: Vec<_> = ids.iter().map(|id| json!({ "id": { "S": id }, "who": { "S": "joe" } })).collect();
    json!({ "Items": items, "Count": items.len(), "ScannedCount": items.len(), "ConsumedCapacity": { "CapacityUnits": 1.0 } })
}

fn begun(carrier: &Carrier, pass: Pass) -> Checkpoint {
    Checkpoint::start(carrier.job(), pass, SegmentId::WHOLE)
}

#[tokio::test]
async fn statements_that_are_throttled_are_sent_again_and_the_others_are_not() {
    let throttled = json!({ "Error": { "Code": "ThrottlingError", "Message": "x" } });
    let written = json!({ "TableName": "new-events" });
    let (client, requests) = scripted(vec![
        success(&page(&["a", "b", "c"])),
        success(&json!({ "Responses": {} })),
        refusal(400, "ThrottlingException", "x"),
        success(&json!({ "Responses": [written, throttled, throttled] })),
        success(&json!({ "Responses": [written, written] })),
    ])
    .await;
    let carrier = carrier(client);
    let before = carrier.units_per_second().unwrap();
    let options = SliceOptions { in_flight_max: 1, ..SliceOptions::default() };
    let from = begun(&carrier, Pass::Backfill);
    let end = backfill_slice(&carrier, from, &options, &mut |_| ControlFlow::Continue(())).await;
    assert!(end.error.is_none() && end.checkpoint.is_done());
    assert_eq!(end.checkpoint.count("written"), 3);
    let requests = requests.lock().unwrap();
    let sent: Vec<_> = requests
        .iter()
        .filter(|(operation, _)| operation == "BatchExecuteStatement")
        .map(|(_, body)| body["Statements"].as_array().unwrap().len())
        .collect();
    assert_eq!(sent, [3, 3, 2]);
    assert_eq!((carrier.spent().throttles, carrier.spent().resent), (3, 3));
    assert!(carrier.units_per_second().unwrap() < before, "the rate yields");
}

#[tokio::test]
async fn a_scan_that_is_throttled_is_sent_again() {
    let (client, _) =
        scripted(vec![refusal(400, "ProvisionedThroughputExceededException", "x"), success(&page(&[]))])
            .await;
    let carrier = carrier(client);
    let from = begun(&carrier, Pass::Backfill);
    let end =
        backfill_slice(&carrier, from, &SliceOptions::default(), &mut |_| ControlFlow::Continue(())).await;
    assert!(end.error.is_none() && end.checkpoint.is_done());
    assert_eq!(carrier.spent().throttles, 1);
}

#[tokio::test]
async fn a_page_whose_writes_fail_does_not_move_the_checkpoint() {
    let (client, _) = scripted(vec![
        success(&page(&["a"])),
        success(&json!({ "Responses": {} })),
        refusal(400, "AccessDeniedException", "x"),
    ])
    .await;
    let carrier = carrier(client);
    let from = begun(&carrier, Pass::Backfill);
    let end =
        backfill_slice(&carrier, from.clone(), &SliceOptions::default(), &mut |_| ControlFlow::Continue(()))
            .await;
    assert_eq!(end.error.unwrap().code(), "access-denied");
    assert_eq!(end.checkpoint, from);
}

#[tokio::test]
async fn a_readers_error_fails_the_slice_of_a_verification() {
    let (client, _) =
        scripted(vec![success(&page(&["a", "b"])), refusal(400, "ValidationException", "x")]).await;
    let carrier = carrier(client);
    let from = begun(&carrier, Pass::VerifySource);
    let options = SliceOptions::default();
    let end = verify_slice(&carrier, from.clone(), false, &options, &mut |_| ControlFlow::Continue(())).await;
    assert_eq!(end.error.unwrap().code(), "invalid-request");
    assert_eq!(end.checkpoint, from, "nothing is said of what was not read");
}
