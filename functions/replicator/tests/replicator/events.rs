//! Every event in `events/replicator`, one after another, with its answer; then the state of the tables.
//!
//! An event with `ledger` or `in-place` in its name goes to the retrofit of that kind.

use keyfold_core::retrofit::TableRole;
use keyfold_core::value::Item;
use keyfold_dynamo::{Expected, delete, put};
use keyfold_local::runtime_api::InvocationResult;
use serde_json::Value;

use crate::function::{Function, shown};

fn shown_result(outcome: &InvocationResult) -> String {
    let (how, text) = match outcome {
        InvocationResult::Response(text) => ("", text),
        InvocationResult::Error(text) => ("failed: ", text),
        other => panic!("{other:?}"),
    };
    let value: Value = serde_json::from_str(text).unwrap();
    format!("{how}{}", serde_json::to_string_pretty(&value).unwrap())
}

/// In place the records describe the table itself, so it is changed in the same way, as by a program without folded
/// keys.
async fn write_source(function: &Function, event: &str) {
    let table = function.sender.table(TableRole::Source);
    let unaware = keyfold_core::model::Table { indexes: Vec::new(), ..table.clone() };
    let event: Value = serde_json::from_str(event).unwrap();
    for record in event["Records"].as_array().unwrap() {
        let item = |value: &Value| serde_json::from_value::<Item>(value.clone()).unwrap();
        match record["dynamodb"].get("NewImage") {
            Some(image) => drop(put(&function.dynamo.client(), &unaware, item(image)).await.unwrap()),
            None => {
                let key = item(&record["dynamodb"]["Keys"]);
                delete(&function.dynamo.client(), table, &key, &Expected::default()).await.unwrap();
            }
        }
    }
}

async fn play(retrofit: &str, mine: impl Fn(&str) -> bool) -> Function {
    let function = Function::start(retrofit).await;
    let events: Vec<_> =
        keyfold_harness::events("replicator").into_iter().filter(|(name, _)| mine(name)).collect();
    assert!(events.len() >= 4);
    for (name, event) in &events {
        if retrofit == "inPlace" && !name.contains("duplicate") {
            write_source(&function, event).await;
        }
        let outcome = function.invoke(event.as_str()).await;
        insta::assert_snapshot!(name.as_str(), shown_result(&outcome));
    }
    let items: Vec<String> = function.targets().await.iter().map(shown).collect();
    insta::assert_snapshot!(format!("{retrofit}-target"), items.join("\n"));
    // Quarantine and ledger; the retrofit's own row has a digest of the whole mapping, and the lag is another each time.
    let rows = function.items(function.sender.table(TableRole::Control)).await;
    let rows = rows.iter().map(shown).filter(|row| !row.contains("\"head\"") && !row.contains("\"lag\""));
    // A mark is another each time.
    let is_mark = |row: &String| row.contains(r#""sk":{"S":"mark"}"#);
    let mark = r#"{"mark":{"S":"MARK"},"pk":{"S":"retrofit#moved"},"sk":{"S":"mark"}}"#;
    let rows: Vec<String> = rows.map(|row| if is_mark(&row) { mark.to_owned() } else { row }).collect();
    insta::assert_snapshot!(format!("{retrofit}-control"), rows.join("\n"));
    function
}

#[tokio::test]
async fn every_event_has_its_answer_in_a_new_table() {
    let function = play("moved", |name| !name.contains("ledger") && !name.contains("in-place")).await;
    let log = function.log();
    let batches: Vec<&Value> = log.iter().filter(|line| line["message"] == "batch").collect();
    let metrics: Vec<&Value> = log.iter().filter(|line| line.get("_aws").is_some()).collect();
    assert_eq!(batches.len(), metrics.len());
    let sum = |name: &str| batches.iter().map(|line| line[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("expired"), sum("quarantined"), sum("covered")), (1, 9, 7));
    assert_eq!(metrics[0]["Records"], 4.0);
    assert!(metrics[0]["IteratorAge"].as_f64().unwrap() > 1e11, "the events are of 2017");
    let text = log.iter().map(Value::to_string).collect::<String>();
    for value in ["123bbb", "joe1", "sam2", "event-", "9-9", "2017-03-01T08"] {
        assert!(!text.contains(value), "the log shows `{value}`");
    }
}

#[tokio::test]
async fn every_event_has_its_answer_where_keys_move() {
    play("ledger", |name| name.contains("ledger")).await;
}

#[tokio::test]
async fn every_event_has_its_answer_in_place() {
    play("inPlace", |name| name.contains("in-place")).await;
}
