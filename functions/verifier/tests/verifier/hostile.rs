//! Hostile events. One process answers them all.

use keyfold_harness::{Function, SAMPLE, hostile, samples, survives};
use serde_json::json;

use crate::BINARY;

#[tokio::test]
async fn no_event_ends_the_process() {
    let function = Function::start(BINARY, SAMPLE).await;
    let samples = samples("verifier", &["01-source", "04-resume"]);
    let events = hostile(samples.iter().map(String::as_str));
    assert!(survives(&events, async |event| function.invoke(event).await).await > 300);
    let slice = json!({ "retrofit": "nobodys", "side": "source", "segment": 0, "totalSegments": 1 });
    function.refused(slice).await;
}
