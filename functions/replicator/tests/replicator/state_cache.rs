//! A cached state row, and what it allows after the row has changed.

use std::time::Duration;

use keyfold_core::retrofit::Mapping;
use keyfold_core::retrofit::control::Phase;
use keyfold_dynamo::retrofit::RetrofitState;
use keyfold_edge::Invocation;
use keyfold_replicator::{Replicator, Settings, handle};
use serde_json::{Value, json};

use crate::function::{CONTROL, Function};

/// A replicator in this process, in addition to the binary's, with a cache of an hour: no test waits for a second to
/// pass.
fn remembering(function: &Function) -> Replicator {
    let settings = Settings {
        manifest: function.path("keyfold.toml"),
        dynamo: keyfold_dynamo::Settings::default(),
        retrofit: "moved".to_owned(),
        control_table: CONTROL.to_owned(),
        concurrency: 4,
        state_cache: Duration::from_hours(1),
    };
    let mapping: Mapping = function.sender.job().mapping().clone();
    Replicator::new(Ok(mapping), function.dynamo.client(), settings)
}

/// The answer, or the error's type.
async fn answer(replicator: &Replicator, records: &[Value]) -> Value {
    let event = json!({ "Records": records }).to_string();
    let invocation = Invocation { request_id: "r", event: &event, deadline: None };
    match handle(replicator, invocation).await.answer {
        Ok(answer) => answer,
        Err(error) => json!(error.error_type),
    }
}

fn all_is_done() -> Value {
    json!({ "batchItemFailures": [] })
}

fn comes_again(from: &str) -> Value {
    json!({ "batchItemFailures": [{ "itemIdentifier": from }] })
}

async fn change(function: &Function, phase: Phase) {
    let before = function.sender.head().await.unwrap();
    let after = RetrofitState { phase, version: before.version + 1, ..before.clone() };
    function.sender.store(&after, Some(&before)).await.unwrap();
}

#[tokio::test]
async fn a_write_may_use_the_cached_row_and_a_drop_reads_it_again() {
    let function = Function::start("moved").await;
    let replicator = remembering(&function);
    let (first, second) = (function.record("1", 1), function.record("2", 2));
    assert_eq!(answer(&replicator, std::slice::from_ref(&first)).await, all_is_done());
    change(&function, Phase::Abandoned).await;
    assert_eq!(answer(&replicator, &[second]).await, all_is_done());
    assert_eq!(function.targets().await.len(), 2, "the row was not read again");
    // The first record changes nothing anymore, so only the row decides whether it may be dropped.
    let closed = json!("Keyfold.RetrofitClosed");
    assert_eq!(answer(&replicator, &[function.record("3", 3), first]).await, closed);
    assert_eq!(answer(&replicator, &[function.record("4", 4)]).await, closed, "the cached row is dropped");
}

#[tokio::test]
async fn a_batch_comes_again_if_something_of_it_would_be_dropped_by_a_former_row() {
    let function = Function::start("moved").await;
    let replicator = remembering(&function);
    let first = function.record("1", 1);
    assert_eq!(answer(&replicator, std::slice::from_ref(&first)).await, all_is_done());
    // As long as the row is the same, it may.
    assert_eq!(answer(&replicator, std::slice::from_ref(&first)).await, all_is_done());
    change(&function, Phase::CutOver).await;
    let batch = [function.record("2", 2), first];
    assert_eq!(answer(&replicator, &batch).await, comes_again("2"));
    assert_eq!(answer(&replicator, &batch).await, all_is_done());
}

#[tokio::test]
async fn a_cached_row_serves_one_stream_until_something_fails() {
    let function = Function::start("moved").await;
    let replicator = remembering(&function);
    assert_eq!(answer(&replicator, &[function.record("1", 1)]).await, all_is_done());
    let mut other = function.record("2", 2);
    other["eventSourceARN"] = json!("arn:aws:dynamodb:us-east-1:123456789012:table/another/stream/2026");
    assert_eq!(answer(&replicator, &[other]).await, json!("Keyfold.OtherStream"));
    change(&function, Phase::Finalising).await;
    let target = function.sender.table(keyfold_core::retrofit::TableRole::Target).name.clone();
    function.dynamo.client().delete_table().table_name(target).send().await.unwrap();
    let closed = json!("Keyfold.RetrofitClosed");
    assert_eq!(answer(&replicator, &[function.record("3", 3)]).await, closed, "a failure is a doubt");
}
