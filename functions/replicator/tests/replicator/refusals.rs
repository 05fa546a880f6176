//! Failures of a whole batch, or of a part of it, and the writes that still happen.

use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::{MappingHash, Pass, SegmentId, Slice, TableRole};
use keyfold_dynamo::retrofit::RetrofitState;
use keyfold_local::runtime_api::InvocationResult;
use serde_json::{Value, json};

use crate::function::Function;

#[tokio::test]
async fn nothing_is_written_unless_the_control_table_allows_it() {
    let function = Function::unstarted("moved", |options| options).await;
    let records = [function.record("1", 1)];
    assert_eq!(function.refusal(&records).await, "Keyfold.RetrofitNotStarted");
    let started = RetrofitState::started(function.sender.job().mapping(), Some(&function.stream()));
    function.sender.store(&started, None).await.unwrap();
    let mut current = started.clone();
    let heads = [
        (RetrofitState { mapping: MappingHash::stored("0123"), ..started.clone() }, "Keyfold.MappingChanged"),
        (RetrofitState { phase: Phase::Abandoned, ..started.clone() }, "Keyfold.RetrofitClosed"),
        (RetrofitState { phase: Phase::Finalising, ..started.clone() }, "Keyfold.RetrofitClosed"),
        (RetrofitState { stream: Some("arn:another".to_owned()), ..started.clone() }, "Keyfold.OtherStream"),
        (RetrofitState { stream: None, ..started.clone() }, "Keyfold.OtherStream"),
    ];
    for (head, wanted) in heads {
        // The next batch sees it, however often the row was read before.
        let head = RetrofitState { version: current.version + 1, ..head };
        function.sender.store(&head, Some(&current)).await.unwrap();
        current = head;
        assert_eq!(function.refusal(&records).await, wanted);
        assert!(function.targets().await.is_empty(), "{wanted}");
    }
    let open = RetrofitState { phase: Phase::CutOver, version: current.version + 1, ..started };
    function.sender.store(&open, Some(&current)).await.unwrap();
    assert_eq!(function.answer(&records).await, json!({ "batchItemFailures": [] }));
    assert_eq!(function.targets().await.len(), 1);
}

#[tokio::test]
async fn a_retrofit_in_its_second_epoch_writes_the_fences_of_that_one() {
    let function = Function::start("moved").await;
    function.answer(&[function.record("1", 9)]).await;
    let before = function.sender.head().await.unwrap();
    let head = before.restarted(function.sender.job().mapping(), Some("arn:second"), None).unwrap();
    function.sender.store(&head, Some(&before)).await.unwrap();
    let mut record = function.record("1", 1);
    record["eventSourceARN"] = json!("arn:second");
    record["dynamodb"]["NewImage"]["accessedBy"] = json!({ "S": "sam2" });
    function.answer(&[record]).await;
    let item = serde_json::to_value(&function.targets().await[0]).unwrap();
    assert_eq!(item["accessedBy"], json!({ "S": "sam2" }));
    assert!(item["keyfold_fence"]["S"].as_str().unwrap().starts_with("0002."), "{item}");
}

#[tokio::test]
async fn an_unknown_retrofit_has_a_name_of_its_own() {
    let function = Function::unstarted("moved", |options| options.env("KEYFOLD_RETROFIT", "nobody")).await;
    assert_eq!(function.refusal(&[function.record("1", 1)]).await, "Keyfold.UnknownRetrofit");
}

#[tokio::test]
async fn the_first_record_that_failed_is_named_by_its_own_digits() {
    let function = Function::start("moved").await;
    let target = function.sender.table(TableRole::Target).name.clone();
    function.dynamo.client().delete_table().table_name(target).send().await.unwrap();
    let mut first = function.record("1", 1);
    first["dynamodb"]["SequenceNumber"] = json!("0001");
    let answer = function.answer(&[first, function.record("2", 2)]).await;
    assert_eq!(answer, json!({ "batchItemFailures": [{ "itemIdentifier": "0001" }] }));
    let log = function.log();
    let line = log.iter().find(|line| line["message"] == "batch").unwrap();
    assert_eq!(line["failed"], json!(2));
    assert_eq!((&line["code"], &line["level"]), (&json!("table-not-found"), &json!("ERROR")));
}

#[tokio::test]
async fn an_earlier_record_fails_with_the_one_that_stands_for_it() {
    let function = Function::start("moved").await;
    let target = function.sender.table(TableRole::Target).name.clone();
    function.dynamo.client().delete_table().table_name(target).send().await.unwrap();
    let records = [function.record("1", 1), function.record("1", 2)];
    let answer = function.answer(&records).await;
    assert_eq!(answer, json!({ "batchItemFailures": [{ "itemIdentifier": "1" }] }));
}

#[tokio::test]
async fn without_a_control_table_nothing_is_written() {
    let function = Function::start("moved").await;
    let control = function.sender.table(TableRole::Control).name.clone();
    function.dynamo.client().delete_table().table_name(control).send().await.unwrap();
    assert_eq!(function.refusal(&[function.record("1", 1)]).await, "Keyfold.TableNotFound");
    assert!(function.targets().await.is_empty());
}

#[tokio::test]
async fn an_item_that_grows_too_large_goes_into_quarantine() {
    let function = Function::start("moved").await;
    let mut record = function.record("1", 1);
    record["dynamodb"]["NewImage"]["note"] = json!({ "S": "x".repeat(409_500) });
    function.answer(&[record, function.record("2", 2)]).await;
    assert_eq!(function.targets().await.len(), 1);
    let quarantine = function.sender.quarantine().await.unwrap();
    assert_eq!(quarantine.iter().map(|entry| entry.code.as_str()).collect::<Vec<_>>(), ["item-too-large"]);
    assert_eq!(quarantine[0].fence.to_string().split('.').nth(1).unwrap().trim_start_matches('0'), "1");
}

#[tokio::test]
async fn more_records_than_lambda_hands_over_are_refused() {
    let function = Function::start("moved").await;
    let records: Vec<Value> = (0..10_001).map(|_| json!(null)).collect();
    assert_eq!(function.refusal(&records).await, "Keyfold.MalformedBatch");
}

#[tokio::test]
async fn a_batch_that_lambda_gave_up_enters_the_quarantine_and_voids_the_comparison() {
    let function = Function::start("moved").await;
    for pass in [Pass::VerifySource, Pass::VerifyTarget] {
        let started = function.sender.begin_comparison(pass, SegmentId::WHOLE).await.unwrap();
        let mut slice = Slice::from(started);
        slice.page(0, None);
        function.sender.store_checkpoint(slice.checkpoint()).await.unwrap();
    }
    assert_eq!(function.sender.verdict().await.unwrap().unwrap().differences, 0);
    let created = json!({
        "version": "0", "source": "aws.s3", "detail-type": "Object Created",
        "detail": { "bucket": { "name": "set-aside" }, "object": { "key": "aws/lambda/mapping/shard/one", "size": 7 } },
    });
    for _ in 0..2 {
        let InvocationResult::Response(answer) = function.invoke(created.to_string()).await else {
            panic!("refused")
        };
        assert_eq!(answer, r#"{"batchItemFailures":[]}"#);
        let entries = function.sender.quarantine().await.unwrap();
        let places: Vec<_> = entries.iter().map(|entry| entry.place()).collect();
        assert_eq!(places, [Some("s3://set-aside/aws/lambda/mapping/shard/one")]);
    }
    assert_eq!(function.sender.verdict().await.unwrap(), None);
}

#[tokio::test]
async fn a_record_that_names_no_item_voids_the_comparison() {
    let function = Function::start("moved").await;
    let begin =
        async || function.sender.begin_comparison(Pass::VerifySource, SegmentId::WHOLE).await.unwrap();
    let mark = async || begin().await.mark().unwrap().split('@').next().unwrap().to_owned();
    let before = mark().await;
    function.answer(&[function.record("1", 1)]).await;
    assert_eq!(mark().await, before, "an ordinary record does not");
    let mut record = function.record("2", 2);
    record["dynamodb"]["Keys"] = json!({});
    function.answer(&[record]).await;
    assert_ne!(mark().await, before);
    assert_eq!(function.sender.quarantine().await.unwrap().len(), 1);
}
