//! Failures become errors with stable codes, without the contents of items.

use keyfold_dynamo::{DynamoError, PageRequest, QueryPage, query_page};
use serde_json::json;

use crate::script::{Answer, refusal, scripted, success};

async fn failure(answer: Answer) -> DynamoError {
    let (client, _) = scripted(vec![answer]).await;
    let page =
        PageRequest { table: "audit".to_owned(), index: Some("byUser".to_owned()), ..PageRequest::default() };
    query_page(&client, &QueryPage { page, key_condition: "a = :a".to_owned(), forward: true })
        .await
        .unwrap_err()
}

#[tokio::test]
async fn each_failure_has_its_code() {
    for (answer, code, retryable) in [
        (refusal(400, "ValidationException", "x"), "invalid-request", false),
        (refusal(400, "ResourceNotFoundException", "x"), "table-not-found", false),
        (refusal(400, "ThrottlingException", "x"), "throttled", true),
        (refusal(400, "RequestLimitExceeded", "x"), "throttled", true),
        (refusal(400, "ItemCollectionSizeLimitExceededException", "x"), "item-collection-full", false),
        (refusal(400, "TransactionConflictException", "x"), "conflict", true),
        (refusal(400, "AccessDeniedException", "x"), "access-denied", false),
        (refusal(400, "UnrecognizedClientException", "x"), "access-denied", false),
        (refusal(500, "InternalServerError", "x"), "unavailable", true),
        (refusal(503, "SomethingNew", "x"), "unavailable", true),
        (refusal(400, "SomethingNew", "x"), "other", false),
        ((0, String::new()), "timed-out", true),
        ((502, "<html>".to_owned()), "unavailable", true),
        ((200, "{".to_owned()), "unreadable-answer", false),
    ] {
        let text = format!("{answer:?}");
        let error = failure(answer).await;
        assert_eq!((error.code(), error.is_retryable()), (code, retryable), "{text}: {error:?}");
    }
}

#[tokio::test]
async fn throttling_says_what_is_exhausted() {
    let reasons =
        json!([{ "reason": "IndexReadKeyRangeThroughputExceeded", "resource": "arn:x/index/byUser" }]);
    let error = json!({ "__type": "ProvisionedThroughputExceededException", "message": "x", "ThrottlingReasons": reasons });
    let error = failure((400, error.to_string())).await;
    assert_eq!(
        error.to_string(),
        "`Query` on table `audit`, index `byUser` was throttled (`IndexReadKeyRangeThroughputExceeded`)"
    );
    let DynamoError::Throttled { reasons, .. } = error else { panic!("{error:?}") };
    assert_eq!(reasons[0].resource, "arn:x/index/byUser");
}

#[tokio::test]
async fn what_dynamodb_quotes_of_a_request_is_shown_only_to_who_asks() {
    for code in ["ValidationException", "SomethingNew"] {
        let error = failure(refusal(400, code, "cannot be a number: secret")).await;
        assert_eq!(error.detail(), Some("cannot be a number: secret"));
        assert!(!format!("{error} {error:?}").contains("secret"), "{error} {error:?}");
    }
}

#[tokio::test]
async fn a_value_of_an_unknown_type_is_an_error_and_no_panic() {
    let nested = json!({ "Count": 1, "ScannedCount": 1, "Items": [{ "a": { "L": [{ "M": { "b": { "Q": "1" } } }] } }] });
    assert_eq!(failure(success(&nested)).await.code(), "unreadable-answer");
}

#[tokio::test]
async fn an_endpoint_where_nobody_listens_is_not_reached() {
    let settings = keyfold_dynamo::Settings { attempts_max: 1, ..Default::default() };
    let client = keyfold_dynamo::plain_client("http://127.0.0.1:1", &settings);
    let query = QueryPage { page: PageRequest::default(), key_condition: "a = :a".to_owned(), forward: true };
    assert_eq!(query_page(&client, &query).await.unwrap_err().code(), "not-reached");
}
