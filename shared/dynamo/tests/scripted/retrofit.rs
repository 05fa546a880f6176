//! A retrofit's slices when DynamoDB throttles, or does not answer as it should.

use std::collections::HashMap;
use std::ops::ControlFlow;

use keyfold_core::manifest;
use keyfold_core::retrofit::{
    ChangeKind, ChangeRecord, Checkpoint, Epoch, Job, Mapping, Pass, Received, SegmentId, SequenceNumber,
};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::Client;
use keyfold_dynamo::retrofit::{
    ReplicateOptions, Replicated, RequestSender, SliceOptions, backfill_slice, replicate, verify_slice,
};
use serde_json::{Value, json};

use crate::script::{Answer, refusal, scripted, success};

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

fn sender(client: Client) -> RequestSender {
    let model = manifest::parse("keyfold.toml", MANIFEST).model.unwrap();
    let job = Job::new(Mapping::of(&model, "moved").unwrap(), Epoch::FIRST);
    RequestSender::new(client, job, "control").paced(Some(100_000.0))
}

fn page(ids: &[&str]) -> Value {
    let items: Vec<_> = ids.iter().map(|id| json!({ "id": { "S": id }, "who": { "S": "joe" } })).collect();
    json!({ "Items": items, "Count": items.len(), "ScannedCount": items.len(), "ConsumedCapacity": { "CapacityUnits": 1.0 } })
}

fn started(sender: &RequestSender, pass: Pass) -> Checkpoint {
    Checkpoint::start(sender.job(), pass, SegmentId::WHOLE)
}

#[tokio::test]
async fn statements_that_are_throttled_are_sent_again_and_the_others_are_not() {
    let (throttled, written) = (statement_error("ThrottlingError"), written());
    let (client, requests) = scripted(vec![
        success(&page(&["a", "b", "c"])),
        success(&json!({ "Responses": {} })),
        refusal(400, "ThrottlingException", "x"),
        success(&json!({ "Responses": [written, throttled, throttled] })),
        success(&json!({ "Responses": [written, written] })),
    ])
    .await;
    let sender = sender(client);
    let before = sender.units_per_second().unwrap();
    let options = SliceOptions { in_flight_max: 1, ..SliceOptions::default() };
    let from = started(&sender, Pass::Backfill);
    let end = backfill_slice(&sender, from, &options, &mut |_| ControlFlow::Continue(())).await;
    assert!(end.error.is_none() && end.checkpoint.is_done());
    assert_eq!(end.checkpoint.count("written"), 3);
    let requests = requests.lock().unwrap();
    let sent: Vec<_> = requests
        .iter()
        .filter(|(operation, _)| operation == "BatchExecuteStatement")
        .map(|(_, body)| body["Statements"].as_array().unwrap().len())
        .collect();
    assert_eq!(sent, [3, 3, 2]);
    assert_eq!((sender.spent().throttles, sender.spent().resent), (3, 3));
    assert!(sender.units_per_second().unwrap() < before, "the rate yields");
}

#[tokio::test]
async fn a_scan_that_is_throttled_is_sent_again() {
    let (client, _) =
        scripted(vec![refusal(400, "ProvisionedThroughputExceededException", "x"), success(&page(&[]))])
            .await;
    let sender = sender(client);
    let from = started(&sender, Pass::Backfill);
    let end =
        backfill_slice(&sender, from, &SliceOptions::default(), &mut |_| ControlFlow::Continue(())).await;
    assert!(end.error.is_none() && end.checkpoint.is_done());
    assert_eq!(sender.spent().throttles, 1);
}

#[tokio::test]
async fn a_page_whose_writes_fail_does_not_move_the_checkpoint() {
    let (client, _) = scripted(vec![
        success(&page(&["a"])),
        success(&json!({ "Responses": {} })),
        refusal(400, "AccessDeniedException", "x"),
    ])
    .await;
    let sender = sender(client);
    let from = started(&sender, Pass::Backfill);
    let end =
        backfill_slice(&sender, from.clone(), &SliceOptions::default(), &mut |_| ControlFlow::Continue(()))
            .await;
    assert_eq!(end.error.unwrap().code(), "access-denied");
    assert_eq!(end.checkpoint, from);
}

#[tokio::test]
async fn a_readers_error_fails_the_slice_of_a_verification() {
    let (client, _) =
        scripted(vec![success(&page(&["a", "b"])), refusal(400, "ValidationException", "x")]).await;
    let sender = sender(client);
    let from = started(&sender, Pass::VerifySource);
    let options = SliceOptions::default();
    let end = verify_slice(&sender, from.clone(), false, &options, &mut |_| ControlFlow::Continue(())).await;
    assert_eq!(end.error.unwrap().code(), "invalid-request");
    assert_eq!(end.checkpoint, from, "the unread rest is unknown");
}

async fn new_items(count: usize, answers: Vec<Answer>) -> (Replicated, Vec<(String, usize)>) {
    batch(ChangeKind::Insert, count, answers).await
}

/// The result of a batch of `count` records of this kind, one request at a time; and each request, with its number of
/// statements.
async fn batch(kind: ChangeKind, count: usize, answers: Vec<Answer>) -> (Replicated, Vec<(String, usize)>) {
    let (client, requests) = scripted(answers).await;
    let text = |name: &str, text: String| (name.to_owned(), AttributeValue::S(text));
    let record = |at: usize| {
        let key = Item::from(HashMap::from([text("id", format!("new-{at}"))]));
        let mut item = key.clone();
        item.extend([text("who", "joe".to_owned())]);
        let sequence = SequenceNumber::parse(&at.to_string()).unwrap();
        Received::Change(ChangeRecord { sequence, key, kind, old: None, new: Some(item) })
    };
    let records: Vec<Received> = (0..count).map(record).collect();
    let options = ReplicateOptions { in_flight_max: 1, ..ReplicateOptions::default() };
    let done = replicate(&sender(client), records, &options).await;
    let requests = requests.lock().unwrap();
    let sent = requests.iter().map(|(operation, body)| {
        if operation == "PutItem" {
            assert_eq!(body["ConditionExpression"], "attribute_not_exists(#n0) OR #n1 < :v0");
        }
        (operation.clone(), body["Statements"].as_array().map_or(0, Vec::len))
    });
    (done, sent.collect())
}

fn statements(count: usize) -> (String, usize) {
    ("BatchExecuteStatement".to_owned(), count)
}

fn put() -> (String, usize) {
    ("PutItem".to_owned(), 0)
}

fn written() -> Value {
    json!({ "TableName": "new-events" })
}

fn statement_error(code: &str) -> Value {
    json!({ "Error": { "Code": code, "Message": "x" } })
}

#[tokio::test]
async fn new_items_go_together_and_one_that_is_there_is_left_to_its_put() {
    let (there, written) = (statement_error("DuplicateItem"), written());
    let answers = vec![
        success(&json!({ "Responses": [written, there, written] })),
        success(&json!({})),
        refusal(500, "x", "x"),
    ];
    let (done, sent) = new_items(3, answers).await;
    assert_eq!(sent, [statements(3), put()]);
    assert_eq!((done.failed, done.settled.len()), (vec![], 3));
}

#[tokio::test]
async fn an_insert_that_is_throttled_is_sent_again() {
    let (throttled, written) = (statement_error("ThrottlingError"), written());
    let answers = vec![
        success(&json!({ "Responses": [throttled, written, throttled] })),
        success(&json!({ "Responses": [written, written] })),
        refusal(500, "x", "x"),
    ];
    let (done, sent) = new_items(3, answers).await;
    assert_eq!(sent, [statements(3), statements(2)]);
    assert_eq!((done.failed, done.settled.len()), (vec![], 3));
}

#[tokio::test]
async fn without_the_right_to_insert_new_items_are_put() {
    let answers = vec![refusal(400, "AccessDeniedException", "x"), success(&json!({}))];
    let (done, sent) = new_items(2, answers).await;
    assert_eq!(sent, [statements(2), put(), put()]);
    assert_eq!((done.failed, done.settled.len()), (vec![], 2));
}

#[tokio::test]
async fn inserts_are_given_up_where_most_items_are_there() {
    let there = statement_error("DuplicateItem");
    let answers = vec![success(&json!({ "Responses": vec![there; 25] })), success(&json!({}))];
    let (done, sent) = new_items(50, answers).await;
    assert_eq!(sent, [vec![statements(25)], vec![put(); 50]].concat());
    assert_eq!((done.failed, done.settled.len()), (vec![], 50));
}

#[tokio::test]
async fn one_new_item_is_put_at_once() {
    let (done, sent) = new_items(1, vec![success(&json!({}))]).await;
    assert_eq!((sent, done.settled.len()), (vec![put()], 1));
}

#[tokio::test]
async fn changes_are_put_each_by_itself() {
    let (done, sent) = batch(ChangeKind::Modify, 3, vec![success(&json!({}))]).await;
    assert_eq!((sent, done.settled.len()), (vec![put(); 3], 3));
}
