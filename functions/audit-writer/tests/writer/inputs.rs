//! Invalid audit events, and that valid ones in the same request are written.

use keyfold_core::value::AttributeValue;
use keyfold_local::runtime_api::InvocationResult;
use serde_json::{Value, json};

use crate::function::{Function, SAMPLE, direct, event};

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

/// The manifest with verbatim keys in place of escaped ones.
fn verbatim() -> String {
    SAMPLE.replace("name = \"ResourceAccessAuditV2\"", "name = \"ResourceAccessAuditV2\"\nverbatim = true")
}

#[tokio::test]
async fn a_bad_event_has_its_code_and_the_others_are_written() {
    let function = Function::start(SAMPLE, &[]).await;
    let many: serde_json::Map<String, Value> = (0..101).map(|at| (format!("a{at}"), json!(at))).collect();
    let long: serde_json::Map<String, Value> =
        (0..30).map(|at| (format!("{at}{}", "x".repeat(200)), json!(at))).collect();
    let cases = [
        (json!({ "action": "touched" }), 400, "item-value-not-listed"),
        (json!({ "action": 7 }), 400, "item-attribute-type"),
        (json!({ "id": 7 }), 400, "item-attribute-type"),
        (json!({ "resourceId": null }), 400, "item-attribute-type"),
        (json!({ "timestamp": "2017-13-01T08:00:00Z" }), 400, "bad-timestamp"),
        (json!({ "accessedBy": "x".repeat(3000) }), 400, "item-key-not-foldable"),
        (json!({ "note": "x".repeat(410_000) }), 413, "item-too-large"),
        (json!({ "note": nested(40) }), 400, "over-limit"),
        (json!({ "note": vec![1; 6000] }), 400, "over-limit"),
        (Value::Object(many), 400, "over-limit"),
        (Value::Object(long), 400, "over-limit"),
        (json!({ "": 1 }), 400, "over-limit"),
        (json!({ "byAction_pk": "x" }), 400, "folded-attribute"),
    ];
    for (number, (more, status, code)) in cases.iter().enumerate() {
        let (good, bad) = (format!("good-{number}"), format!("bad-{number}"));
        let (found, body) = function.post(&event(&bad, more).to_string()).await;
        assert_eq!((found, &body["code"]), (*status, &json!(code)), "{number}: {body}");
        let list = json!([event(&bad, more), event(&good, &json!({}))]).to_string();
        let (found, body) = function.post(&list).await;
        assert_eq!((found, &body["code"], &body["written"]), (*status, &json!("partly-written"), &json!(1)));
        assert_eq!(body["events"][0]["problem"]["code"], json!(code));
        assert!(function.item(&good).await.is_some() && function.item(&bad).await.is_none(), "{number}");
    }
}

#[tokio::test]
async fn a_number_with_too_many_digits_is_refused_and_one_with_38_is_kept() {
    let function = Function::start(SAMPLE, &[]).await;
    let body =
        |digits: &str| event("1", &json!({})).to_string().replacen('{', &format!("{{\"size\":{digits},"), 1);
    assert_eq!(function.post(&body(&"1".repeat(39))).await.1["code"], "item-number");
    let digits = "12345678901234567890123456789012345.678";
    assert_eq!(function.post(&body(digits)).await.0, 201);
    assert_eq!(function.item("1").await.unwrap()["size"], AttributeValue::N(digits.to_owned()));
}

#[tokio::test]
async fn a_hundred_events_are_taken_and_one_more_is_not() {
    let function = Function::start(SAMPLE, &[]).await;
    let events: Vec<Value> = (0..101).map(|at| event(&at.to_string(), &json!({}))).collect();
    let (status, body) = function.post(&json!(events).to_string()).await;
    assert_eq!((status, &body["code"]), (400, &json!("over-limit")));
    assert!(function.items().await.is_empty());
    let (status, body) = function.post(&json!(events[..100]).to_string()).await;
    assert_eq!((status, &body["written"]), (201, &json!(100)));
    assert_eq!(function.items().await.len(), 100);
    // All again: the same events, and no new items.
    let (status, body) = function.post(&json!(events[..100]).to_string()).await;
    assert_eq!((status, &body["repeated"]), (200, &json!(100)));
    let logs = function.end();
    let requests: Vec<_> =
        logs.iter().filter(|line| line["message"] == "invocation").map(|line| &line["requests"]).collect();
    assert_eq!(requests, [&json!(0), &json!(4), &json!(5)]);
}

#[tokio::test]
async fn a_separator_in_a_verbatim_key_fails_that_event_alone() {
    let function = Function::start(&verbatim(), &[]).await;
    let list = json!([event("1", &json!({ "resourceId": "123-bbb" })), event("2", &json!({}))]);
    let (status, body) = function.post(&list.to_string()).await;
    assert_eq!((status, &body["events"][0]["problem"]["code"]), (400, &json!("item-key-not-foldable")));
    assert!(function.item("1").await.is_none() && function.item("2").await.is_some());
}

#[tokio::test]
async fn the_servers_time_is_used_where_none_is_given_and_is_no_difference() {
    let function = Function::start(SAMPLE, &[]).await;
    let mut untimed = event("1", &json!({}));
    untimed.as_object_mut().unwrap().remove("timestamp");
    assert_eq!(function.post(&untimed.to_string()).await.0, 201);
    let stored = function.item("1").await.unwrap();
    let AttributeValue::S(time) = &stored["timestamp"] else { panic!() };
    assert!(time.len() == "2017-03-01T08:00:00.000Z".len() && time.starts_with("20"), "{time}");
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let (status, body) = function.post(&untimed.to_string()).await;
    assert_eq!((status, &body["repeated"]), (200, &json!(1)));
    assert_eq!(function.item("1").await.unwrap(), stored, "what is written never changes");
    // Another time makes it another event.
    assert_eq!(function.post(&event("1", &json!({})).to_string()).await.0, 409);
}

#[tokio::test]
async fn without_a_table_nothing_is_called_written() {
    let other = SAMPLE.replace("name = \"ResourceAccessAuditV2\"", "name = \"Elsewhere\"");
    let function = Function::start(&other, &[]).await;
    let client = keyfold_dynamo::plain_client(function.endpoint(), &keyfold_dynamo::Settings::default());
    client.delete_table().table_name("Elsewhere").send().await.unwrap();
    let (status, body) = function.post(&event("1", &json!({})).to_string()).await;
    assert_eq!((status, &body["code"]), (502, &json!("table-not-found")));
    let outcome = function.invoke(direct(&[event("1", &json!({}))])).await;
    assert!(
        matches!(&outcome, InvocationResult::Error(text) if text.contains("table-not-found")),
        "{outcome:?}"
    );
}

/// Events of one resource are in one item collection, which is counted.
const COLLECTIONS: &str = r#"
[tables.audit]
name = "AuditByResource"
partition = "resourceId"
sort = "{timestamp}.{id}"
collection-warning-gb = 0.5
allow = ["collection-may-pass-10gb"]
[tables.audit.attributes]
id = "string"
resourceId = "string"
action = "string"
accessedBy = "string"
timestamp = "timestamp"
[tables.audit.indexes.byUser]
type = "local"
sort = "accessedBy"
"#;

#[tokio::test]
async fn an_item_collection_that_grows_large_is_warned_of() {
    let function = Function::start(COLLECTIONS, &[]).await;
    let list =
        json!([event("1", &json!({})), event("2", &json!({})), event("3", &json!({ "resourceId": "9" }))]);
    assert_eq!(function.post(&list.to_string()).await.0, 201);
    let untimed = json!({ "id": "4", "resourceId": "9", "action": "viewed" }).to_string();
    let (status, body) = function.post(&untimed).await;
    assert_eq!(
        (status, &body["code"]),
        (400, &json!("item-attribute-required")),
        "a repeat would get another key"
    );
    let lines = function.end();
    // DynamoDB rounds up: the smallest collection is "0 to 1 GB", above the manifest's limit of half a GB.
    let warning = lines.iter().find(|line| line["level"] == "WARN").unwrap();
    assert_eq!((&warning["collections"], &warning["gb_max"]), (&json!(2), &json!(1.0)));
    let metric = lines.iter().find(|line| line.get("_aws").is_some()).unwrap();
    assert_eq!(
        (&metric["LargeItemCollections"], &metric["LargestItemCollection"]),
        (&json!(2.0), &json!(1.0))
    );
}
