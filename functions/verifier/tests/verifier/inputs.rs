//! Invalid input is reported, and nothing is written.

use keyfold_core::retrofit::MappingHash;
use keyfold_core::retrofit::control::{Phase, RetrofitState};
use serde_json::{Value, json};

use crate::BINARY;
use keyfold_harness::{Function, SAMPLE};

fn slice(repair: bool) -> Value {
    json!({ "retrofit": "auditV2", "segment": 0, "totalSegments": 1, "repair": repair, "lagSeconds": 0 })
}

async fn tables() -> Function {
    let function = Function::start(BINARY, SAMPLE).await;
    function.create(function.table("audit-legacy"), true).await;
    function.load("audit-legacy", ["event-1".to_owned()]).await;
    function.create(function.table("audit"), false).await;
    function
}

async fn is_refused(function: &Function, event: &Value, kind: &str) {
    let before = function.everything().await;
    let (found, said) = function.refused(event).await;
    assert_eq!(found, kind, "{said}");
    assert_eq!(function.everything().await, before);
}

#[tokio::test]
async fn a_retrofit_that_was_not_started_is_refused() {
    is_refused(&tables().await, &slice(false), "Keyfold.RetrofitNotStarted").await;
}

#[tokio::test]
async fn another_mapping_is_refused() {
    let function = tables().await;
    function.begin("auditV2", |head| RetrofitState { mapping: MappingHash::stored("0123"), ..head }).await;
    is_refused(&function, &slice(false), "Keyfold.MappingChanged").await;
}

#[tokio::test]
async fn what_is_closed_can_be_compared_and_not_repaired() {
    let function = tables().await;
    function.begin("auditV2", |head| RetrofitState { phase: Phase::Finalised, ..head }).await;
    is_refused(&function, &slice(true), "Keyfold.RetrofitClosed").await;
    assert_eq!(function.answered(slice(false)).await["counts"]["missing"], 1);
}

#[tokio::test]
async fn another_stream_is_refused() {
    let function = tables().await;
    function.begin("auditV2", |head| RetrofitState { stream: Some("arn:another".to_owned()), ..head }).await;
    is_refused(&function, &slice(false), "Keyfold.OtherStream").await;
}

#[tokio::test]
async fn a_target_that_is_gone_is_no_clean_result() {
    let function = tables().await;
    function.begin("auditV2", |head| head).await;
    let target = function.table("audit").name.clone();
    function.dynamo.client().delete_table().table_name(target).send().await.unwrap();
    is_refused(&function, &slice(false), "Keyfold.TableNotFound").await;
}
