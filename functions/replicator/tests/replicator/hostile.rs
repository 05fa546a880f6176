//! Hostile events. One process answers them all.

use keyfold_harness::{hostile, samples, survives};

use crate::function::Function;

#[tokio::test]
async fn no_event_ends_the_process() {
    let function = Function::start("moved").await;
    let samples = samples("replicator", &["01-insert-modify-remove", "07-every-type"]);
    let events = hostile(samples.iter().map(String::as_str));
    // A process that dies is a separate outcome, and the next event starts another.
    assert!(survives(&events, async |event| function.invoke(event).await).await > 500);
    let answer = function.answer(&[function.record("after-all-of-them", 900_000_000_001)]).await;
    assert_eq!(answer["batchItemFailures"], serde_json::json!([]));
}
