//! Hostile events. One process answers them all.

use keyfold_harness::{hostile, samples, survives};
use serde_json::json;

use crate::function::{Function, SAMPLE, event};

#[tokio::test]
async fn no_event_ends_the_process() {
    let function = Function::start(SAMPLE, &[]).await;
    let names = ["01-http-one", "06-http-base64", "32-sqs-list-and-conflict", "41-direct-batch"];
    let samples = samples("audit-writer", &names);
    let events = hostile(samples.iter().map(String::as_str));
    assert!(survives(&events, async |event| function.invoke(event).await).await > 500);
    let (status, _) = function.post(&event("after-all-of-them", &json!({})).to_string()).await;
    assert_eq!(status, 201);
    assert!(function.item("after-all-of-them").await.is_some());
}
