//! Batches of new items when DynamoDB does not process them at once.

use keyfold_core::manifest;
use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{BACKOFF_ATTEMPTS_MAX, Inserted, PutNew, PutNewOptions, put_new_all};
use serde_json::{Value, json};

use crate::script::{refusal, scripted, success};

fn table() -> Table {
    let text = "[tables.audit]\npartition = \"id\"\n[tables.audit.attributes]\nid = \"string\"\n";
    manifest::parse("keyfold.toml", text).model.unwrap().tables.remove(0)
}

fn item(id: &str) -> Item {
    Item::from(std::collections::HashMap::from([("id".to_owned(), AttributeValue::S(id.to_owned()))]))
}

fn failed(code: &str) -> Value {
    json!({ "Error": { "Code": code, "Message": "x" } })
}

fn codes(inserted: &Inserted) -> Vec<&'static str> {
    let code = |outcome: &Result<PutNew, keyfold_dynamo::WriteError>| match outcome {
        Ok(PutNew::Written) => "written",
        Ok(PutNew::Exists(_)) => "exists",
        Err(error) => error.code(),
    };
    inserted.outcomes.iter().map(code).collect()
}

async fn put(answers: Vec<crate::script::Answer>, ids: &[&str]) -> (Inserted, Vec<(String, Value)>) {
    let (client, requests) = scripted(answers).await;
    let items = ids.iter().map(|id| item(id)).collect();
    let inserted = put_new_all(&client, &table(), items, &PutNewOptions::default()).await;
    let requests = requests.lock().unwrap().clone();
    (inserted, requests)
}

/// The ids in a request. A single item is sent by PutItem.
fn ids((operation, body): &(String, Value)) -> Vec<String> {
    if operation == "PutItem" {
        return vec![body["Item"]["id"]["S"].as_str().unwrap().to_owned()];
    }
    assert_eq!(operation, "BatchExecuteStatement");
    let statements = body["Statements"].as_array().unwrap();
    statements.iter().map(|one| one["Parameters"][0]["S"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn only_what_failed_in_a_way_that_may_pass_is_sent_again() {
    let first = json!({ "Responses": [
        {}, failed("ThrottlingError"), failed("ValidationError"), failed("TransactionConflict"),
        failed("InternalServerError"), failed("AccessDenied"), failed("ItemCollectionSizeLimitExceeded"),
    ] });
    let second = json!({ "Responses": [{}, failed("ProvisionedThroughputExceeded"), {}] });
    let answers = vec![
        success(&first),
        success(&second),
        refusal(400, "ThrottlingException", "x"),
        success(&json!({})),
    ];
    let (inserted, requests) = put(answers, &["a", "b", "c", "d", "e", "f", "g"]).await;
    let wanted = [
        "written",
        "written",
        "invalid-request",
        "written",
        "written",
        "access-denied",
        "item-collection-full",
    ];
    assert_eq!(codes(&inserted), wanted);
    let sent: Vec<_> = requests.iter().map(ids).collect();
    assert_eq!(sent[1..], [vec!["b", "d", "e"], vec!["d"], vec!["d"]]);
    assert_eq!((inserted.requests, inserted.resent), (4, 5));
}

#[tokio::test]
async fn after_a_lost_answer_the_item_that_is_there_is_read() {
    let there = json!({ "Responses": { "audit": [{ "id": { "S": "a" }, "note": { "S": "x" } }] } });
    let answers = vec![
        refusal(500, "InternalServerError", "x"),
        refusal(400, "ConditionalCheckFailedException", "x"),
        success(&there),
    ];
    let (inserted, requests) = put(answers, &["a"]).await;
    let Ok(PutNew::Exists(found)) = &inserted.outcomes[0] else { panic!("{inserted:?}") };
    assert_eq!(found.reveal()["note"], AttributeValue::S("x".to_owned()));
    assert_eq!(requests[2].1["RequestItems"]["audit"]["ConsistentRead"], true);
}

#[tokio::test]
async fn a_key_that_is_free_again_is_written_after_all() {
    let answers = vec![
        refusal(400, "ConditionalCheckFailedException", "x"),
        success(&json!({ "Responses": { "audit": [] } })),
        success(&json!({})),
    ];
    let (inserted, requests) = put(answers, &["a"]).await;
    assert_eq!((codes(&inserted), requests.len()), (vec!["written"], 3));
}

#[tokio::test]
async fn a_taken_key_whose_item_cannot_be_read_is_an_error() {
    let answers = vec![
        success(&json!({ "Responses": [failed("DuplicateItem"), {}] })),
        refusal(400, "AccessDeniedException", "x"),
    ];
    let (inserted, _) = put(answers, &["a", "b"]).await;
    assert_eq!(codes(&inserted), ["access-denied", "written"]);
}

#[tokio::test]
async fn what_is_refused_as_a_whole_is_sent_one_by_one() {
    let answers = vec![
        refusal(400, "ValidationException", "x"),
        success(&json!({ "Responses": [{}] })),
        refusal(400, "ValidationException", "x"),
        success(&json!({ "Responses": [{}] })),
    ];
    let (inserted, requests) = put(answers, &["a", "b", "c"]).await;
    assert_eq!(codes(&inserted), ["written", "invalid-request", "written"]);
    assert_eq!((requests.len(), inserted.requests), (4, 4));
}

#[tokio::test]
async fn an_answer_for_fewer_items_than_were_sent_is_no_success() {
    let answers = vec![success(&json!({ "Responses": [{}] }))];
    let (inserted, _) = put(answers, &["a", "b"]).await;
    assert_eq!(codes(&inserted), ["written", "unreadable-answer"]);
}

#[tokio::test]
async fn what_is_throttled_every_time_is_reported_after_the_last_attempt() {
    let (inserted, requests) = put(vec![refusal(400, "ThrottlingException", "x")], &["a", "b"]).await;
    assert_eq!(codes(&inserted), ["throttled", "throttled"]);
    assert_eq!(requests.len(), BACKOFF_ATTEMPTS_MAX as usize);
}
