//! The requests: always with a limit and `ReturnConsumedCapacity`, never with an empty map.

use keyfold_core::value::AttributeValue;
use keyfold_dynamo::{Fetch, PageRequest, QueryPage, ScanPage, Segment, query_page, scan_page};
use serde_json::json;

use crate::script::{scripted, success};

#[tokio::test]
async fn a_query_says_everything_that_dynamodb_must_know() {
    let (client, requests) = scripted(vec![success(&json!({ "Count": 0, "ScannedCount": 7 }))]).await;
    let page = PageRequest {
        table: "audit".to_owned(),
        index: Some("byUser".to_owned()),
        filter: Some("#b = :b".to_owned()),
        names: [("#b".to_owned(), "action".to_owned())].into(),
        values: [(":b".to_owned(), AttributeValue::S("viewed".to_owned()))].into(),
        fetch: Fetch::All,
        limit: Some(20),
        ..PageRequest::default()
    };
    let query = QueryPage { page, key_condition: "a = :b".to_owned(), forward: false };
    assert_eq!(query_page(&client, &query).await.unwrap().scanned, 7);
    let expected = json!({
        "TableName": "audit",
        "IndexName": "byUser",
        "KeyConditionExpression": "a = :b",
        "FilterExpression": "#b = :b",
        "ExpressionAttributeNames": { "#b": "action" },
        "ExpressionAttributeValues": { ":b": { "S": "viewed" } },
        "Select": "ALL_ATTRIBUTES",
        "Limit": 20,
        "ScanIndexForward": false,
        "ConsistentRead": false,
        "ReturnConsumedCapacity": "INDEXES",
    });
    assert_eq!(requests.lock().unwrap()[0], ("Query".to_owned(), expected));
}

#[tokio::test]
async fn a_scan_of_a_segment_has_a_limit_by_itself() {
    let (client, requests) = scripted(vec![success(&json!({ "Count": 0, "ScannedCount": 0 }))]).await;
    let page = PageRequest { table: "audit".to_owned(), fetch: Fetch::Count, ..PageRequest::default() };
    scan_page(&client, &ScanPage { page, segment: Some(Segment { number: 2, total: 5 }) }).await.unwrap();
    let expected = json!({
        "TableName": "audit",
        "Select": "COUNT",
        "Segment": 2,
        "TotalSegments": 5,
        "Limit": 1000,
        "ConsistentRead": false,
        "ReturnConsumedCapacity": "INDEXES",
    });
    assert_eq!(requests.lock().unwrap()[0], ("Scan".to_owned(), expected));
}

#[tokio::test]
async fn the_one_segment_of_one_is_a_plain_scan() {
    let (client, requests) = scripted(vec![success(&json!({ "Count": 0, "ScannedCount": 0 }))]).await;
    let page = PageRequest { table: "audit".to_owned(), ..PageRequest::default() };
    scan_page(&client, &ScanPage { page, segment: Some(Segment { number: 0, total: 1 }) }).await.unwrap();
    let requests = requests.lock().unwrap();
    let (operation, request) = &requests[0];
    assert_eq!(operation, "Scan");
    assert!(request.get("Segment").is_none() && request.get("TotalSegments").is_none(), "{request}");
}
