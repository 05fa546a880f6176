//! A table with a stream, and handlers that record their events.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyfold_core::manifest;
use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{TableOptions, put};
use keyfold_local::runtime_api::InvocationResult;
use keyfold_local::{EmbeddedDynamo, PollerOptions};
use serde_json::Value;

const MANIFEST: &str = "
[tables.events]
name = \"streamed-events\"
partition = \"id\"
[tables.events.attributes]
id = \"string\"
";

pub(crate) const DRAIN_WAIT: Duration = Duration::from_secs(20);

pub(crate) fn table() -> Table {
    manifest::parse("keyfold.toml", MANIFEST).model.unwrap().table("events").unwrap().clone()
}

pub(crate) async fn dynamo(stream: bool) -> EmbeddedDynamo {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    dynamo.create_tables([&table()], TableOptions { stream }).await.unwrap();
    dynamo
}

/// Writes the item with this id, saying which time it is.
pub(crate) async fn write(dynamo: &EmbeddedDynamo, id: &str, number: usize) {
    let attributes = HashMap::from([
        ("id".to_owned(), AttributeValue::S(id.to_owned())),
        ("number".to_owned(), AttributeValue::N(number.to_string())),
    ]);
    put(&dynamo.client(), &table(), Item::from(attributes)).await.unwrap();
}

/// Options without long pauses.
pub(crate) fn quick() -> PollerOptions {
    PollerOptions {
        retry_pause: Duration::from_millis(1),
        poll: Duration::from_millis(5),
        ..PollerOptions::default()
    }
}

/// Ids and numbers of the records of an event.
pub(crate) fn records_of(event: &str) -> Vec<(String, usize)> {
    let event: Value = serde_json::from_str(event).unwrap();
    let record = |record: &Value| {
        let id = record["dynamodb"]["Keys"]["id"]["S"].as_str().unwrap().to_owned();
        let number = record["dynamodb"]["NewImage"]["number"]["N"].as_str().unwrap().parse().unwrap();
        (id, number)
    };
    event["Records"].as_array().unwrap().iter().map(record).collect()
}

/// The answer that names this record of an event as the first that failed.
pub(crate) fn failed_from(event: &str, at: usize) -> InvocationResult {
    let event: Value = serde_json::from_str(event).unwrap();
    let number = &event["Records"][at]["dynamodb"]["SequenceNumber"];
    InvocationResult::Response(format!(r#"{{"batchItemFailures":[{{"itemIdentifier":{number}}}]}}"#))
}

pub(crate) fn success() -> InvocationResult {
    InvocationResult::Response(r#"{"batchItemFailures":[]}"#.to_owned())
}

/// The events of a handler.
pub(crate) type Seen = Arc<Mutex<Vec<Vec<(String, usize)>>>>;

pub(crate) fn all(seen: &Seen) -> Vec<(String, usize)> {
    seen.lock().unwrap().iter().flatten().cloned().collect()
}
