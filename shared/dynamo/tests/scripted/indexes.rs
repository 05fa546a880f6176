//! The requests that add an index to a live table, and the cases without requests.

use keyfold_core::manifest;
use keyfold_core::model::Model;
use keyfold_dynamo::{AddIndexError, WarmThroughput, add_indexes};
use serde_json::{Value, json};

use crate::script::{refusal, scripted, success};

fn model() -> Model {
    let text = r#"
[tables.events]
name = "events"
partition = "id"
attributes = { id = "string", who = "string", day = "string", place = "string" }
indexes.byWho = { partition = "who", sort = "day" }
indexes.byDay = { partition = "day", projection = ["place"] }
indexes.byPlace = { partition = "place" }
"#;
    manifest::parse("keyfold.toml", text).model.unwrap()
}

fn key(name: &str, role: &str) -> Value {
    json!({ "AttributeName": name, "KeyType": role })
}

fn defined(name: &str) -> Value {
    json!({ "AttributeName": name, "AttributeType": "S" })
}

fn by_who() -> Value {
    json!({ "IndexName": "byWho", "KeySchema": [key("who", "HASH"), key("day", "RANGE")], "Projection": { "ProjectionType": "ALL" },
        "IndexStatus": "ACTIVE" })
}

fn by_day(status: &str) -> Value {
    json!({ "IndexName": "byDay", "KeySchema": [key("day", "HASH")], "IndexStatus": status, "Backfilling": status == "CREATING",
        "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["place"] }, "ItemCount": 7 })
}

/// A table with provisioned capacity.
fn live(status: &str, indexes: &[Value]) -> (u16, String) {
    success(&json!({ "Table": {
        "TableName": "events", "TableStatus": status, "ItemCount": 9, "GlobalSecondaryIndexes": indexes,
        "AttributeDefinitions": [defined("id"), defined("who"), defined("day")],
        "ProvisionedThroughput": { "ReadCapacityUnits": 5, "WriteCapacityUnits": 4 },
        "KeySchema": [key("id", "HASH")] } }))
}

async fn added(
    answers: Vec<(u16, String)>,
    names: &[&str],
) -> (Result<Vec<String>, AddIndexError>, Vec<(String, Value)>) {
    let model = model();
    let table = model.table("events").unwrap();
    let wanted: Vec<_> = names.iter().map(|name| table.index(name).unwrap()).collect();
    let (client, requests) = scripted(answers).await;
    let mut told = Vec::new();
    let warm = Some(WarmThroughput { read: 12_000, write: 4_000 });
    let outcome = add_indexes(&client, table, &wanted, warm, &mut |live| told.push(live.to_string())).await;
    (outcome.map(|_| told), requests.lock().unwrap().clone())
}

#[tokio::test]
async fn an_index_is_asked_for_with_the_definitions_of_all_keys_there_will_be_and_no_others() {
    let done =
        vec![live("ACTIVE", &[by_who()]), success(&json!({})), live("ACTIVE", &[by_who(), by_day("ACTIVE")])];
    let (told, requests) = added(done, &["byDay"]).await;
    assert_eq!(told.unwrap(), ["`byDay` missing", "`byDay` active"]);
    let expected = json!({
        "TableName": "events",
        "AttributeDefinitions": [defined("id"), defined("who"), defined("day")],
        "GlobalSecondaryIndexUpdates": [{ "Create": {
            "IndexName": "byDay", "KeySchema": [key("day", "HASH")],
            "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["place"] },
            "ProvisionedThroughput": { "ReadCapacityUnits": 5, "WriteCapacityUnits": 4 },
            "WarmThroughput": { "ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000 },
        } }],
    });
    assert_eq!(requests[1], ("UpdateTable".to_owned(), expected));
    // With a key attribute that no key had before.
    let (_, requests) = added(
        vec![live("ACTIVE", &[]), success(&json!({})), refusal(400, "ValidationException", "")],
        &["byPlace"],
    )
    .await;
    let definitions = ["id", "who", "day", "place"].map(defined);
    assert_eq!(requests[1].1["AttributeDefinitions"], json!(definitions));
}

#[tokio::test]
async fn nothing_is_sent_while_the_table_or_an_index_is_being_changed() {
    let active = || live("ACTIVE", &[by_who(), by_day("ACTIVE")]);
    let answers = vec![
        live("UPDATING", &[by_who()]),
        // Another program was faster, also with an index that is not requested here.
        live("ACTIVE", &[by_who()]),
        refusal(400, "ResourceInUseException", "busy"),
        live("ACTIVE", &[by_who()]),
        refusal(
            400,
            "LimitExceededException",
            "Only 1 online index can be created or deleted simultaneously per table",
        ),
        live("ACTIVE", &[by_who(), by_day("DELETING")]),
        live("ACTIVE", &[by_who()]),
        success(&json!({})),
        live("ACTIVE", &[by_who(), by_day("CREATING")]),
        active(),
        active(),
    ];
    let (told, requests) = added(answers, &["byDay"]).await;
    assert_eq!(
        told.unwrap(),
        [
            "`byDay` missing, the table is being changed",
            "`byDay` missing",
            "`byDay` missing",
            "`byDay` deleting",
            "`byDay` missing",
            "`byDay` filling (7 of about 9 items)",
            "`byDay` active"
        ]
    );
    assert_eq!(requests.iter().filter(|(operation, _)| operation == "UpdateTable").count(), 3);
    let other = vec![
        live("ACTIVE", &[by_day("CREATING")]),
        live("ACTIVE", &[by_day("ACTIVE")]),
        success(&json!({})),
        live("ACTIVE", &[by_day("ACTIVE"), by_who()]),
    ];
    let (told, requests) = added(other, &["byWho"]).await;
    assert_eq!(told.unwrap(), ["`byWho` missing, waiting for `byDay`", "`byWho` missing", "`byWho` active"]);
    assert_eq!(requests[2].0, "UpdateTable");
}

#[tokio::test]
async fn a_refusal_that_does_not_pass_is_the_answer() {
    let denied = vec![live("ACTIVE", &[]), refusal(400, "AccessDeniedException", ""), live("ACTIVE", &[])];
    let (outcome, _) = added(denied, &["byDay"]).await;
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), "access-denied");
    assert!(error.to_string().contains("`UpdateTable` on table `events`, index `byDay`"), "{error}");
    let mut other = by_day("ACTIVE");
    other["KeySchema"] = json!([key("who", "HASH")]);
    let (outcome, requests) = added(vec![live("ACTIVE", &[other])], &["byWho", "byDay"]).await;
    assert_eq!((outcome.unwrap_err().code(), requests.len()), ("table-differs", 1));
}
