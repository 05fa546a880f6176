//! Invalid input is reported, and nothing is written.

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, StreamSpecification,
    StreamViewType,
};
use keyfold_core::model::Table;
use keyfold_core::retrofit::MappingHash;
use keyfold_core::retrofit::control::{Phase, RetrofitState};
use serde_json::json;

use crate::BINARY;
use keyfold_harness::{Function, SAMPLE};

fn slice() -> serde_json::Value {
    json!({ "retrofit": "auditV2", "segment": 0, "totalSegments": 1 })
}

async fn sources(function: &Function) {
    function.create(function.table("audit-legacy"), true).await;
    function.load("audit-legacy", ["event-1".to_owned()]).await;
}

/// Both tables as they should be; the retrofit with this row.
async fn started(change: impl FnOnce(RetrofitState) -> RetrofitState) -> Function {
    let function = Function::start(BINARY, SAMPLE).await;
    sources(&function).await;
    function.create(function.table("audit"), false).await;
    function.begin("auditV2", change).await;
    function
}

/// The event is refused with this error type and message, and nothing is written.
async fn is_refused(function: &Function, kind: &str, message: &str) {
    let before = function.everything().await;
    let (found, said) = function.refused(slice()).await;
    assert_eq!(found, kind, "{said}");
    assert!(said.contains(message), "{said}");
    assert_eq!(function.everything().await, before);
}

#[tokio::test]
async fn a_retrofit_that_was_not_started_is_refused() {
    let function = Function::start(BINARY, SAMPLE).await;
    sources(&function).await;
    function.create(function.table("audit"), false).await;
    // Neither without a control table nor without its row.
    is_refused(&function, "Keyfold.RetrofitNotStarted", "run `keyfold retrofit run`").await;
    function.begin("auditInPlace", |head| head).await;
    is_refused(&function, "Keyfold.RetrofitNotStarted", "retrofit `auditV2` was not started").await;
}

#[tokio::test]
async fn another_mapping_than_the_one_it_was_started_with_is_refused() {
    let function = started(|head| RetrofitState { mapping: MappingHash::stored("0123"), ..head }).await;
    is_refused(&function, "Keyfold.MappingChanged", "its mapping was `0123` then").await;
}

#[tokio::test]
async fn a_retrofit_that_carries_nothing_over_any_more_is_refused() {
    let function = started(|head| RetrofitState { phase: Phase::Abandoned, ..head }).await;
    is_refused(&function, "Keyfold.RetrofitClosed", "is in phase `abandoned`").await;
}

#[tokio::test]
async fn another_stream_than_the_one_that_is_followed_is_refused() {
    let function = started(|head| RetrofitState { stream: Some("arn:another".to_owned()), ..head }).await;
    is_refused(&function, "Keyfold.OtherStream", "does not follow").await;
}

#[tokio::test]
async fn a_source_without_a_stream_is_refused() {
    let function = Function::start(BINARY, SAMPLE).await;
    function.create(function.table("audit-legacy"), false).await;
    function.create(function.table("audit"), false).await;
    function.begin("auditV2", |head| RetrofitState { stream: Some("arn:x".to_owned()), ..head }).await;
    is_refused(&function, "Keyfold.SourceWithoutStream", "table `audit-legacy` has no stream").await;
}

#[tokio::test]
async fn a_stream_without_both_images_is_refused() {
    let function = Function::start(BINARY, SAMPLE).await;
    let stream =
        StreamSpecification::builder().stream_enabled(true).stream_view_type(StreamViewType::KeysOnly);
    let id = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S);
    let key = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash);
    function
        .dynamo
        .client()
        .create_table()
        .table_name(&function.table("audit-legacy").name)
        .attribute_definitions(id.build().unwrap())
        .key_schema(key.build().unwrap())
        .billing_mode(BillingMode::PayPerRequest)
        .stream_specification(stream.build().unwrap())
        .send()
        .await
        .unwrap();
    function.create(function.table("audit"), false).await;
    function.begin("auditV2", |head| RetrofitState { stream: Some("arn:x".to_owned()), ..head }).await;
    is_refused(&function, "Keyfold.WrongStreamView", "view type `KEYS_ONLY`").await;
}

#[tokio::test]
async fn a_target_that_is_not_there_is_refused() {
    let function = Function::start(BINARY, SAMPLE).await;
    sources(&function).await;
    function.begin("auditV2", |head| RetrofitState { stream: Some("arn:x".to_owned()), ..head }).await;
    is_refused(&function, "Keyfold.TableNotFound", "`ResourceAccessAuditV2`").await;
}

#[tokio::test]
async fn a_target_with_another_key_is_refused() {
    let function = Function::start(BINARY, SAMPLE).await;
    sources(&function).await;
    let wanted = function.table("audit").clone();
    let mut partition = wanted.partition.clone();
    partition.name = "resourceId".to_owned();
    function.create(&Table { partition, ..wanted }, false).await;
    function.begin("auditV2", |head| RetrofitState { stream: Some("arn:x".to_owned()), ..head }).await;
    is_refused(&function, "Keyfold.TableDiffers", "table `audit` differs from the manifest").await;
}
