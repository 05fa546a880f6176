//! Unprocessed parts of a batch are sent again, and only those.

use futures_util::stream;
use keyfold_core::model::{KeyAttribute, KeySource, ScalarType, Table};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{BACKOFF_ATTEMPTS_MAX, BatchGet, batch_get, load};
use serde_json::{Value, json};

use crate::script::{refusal, scripted, success};

fn table() -> Table {
    Table {
        id: "audit".to_owned(),
        name: "audit".to_owned(),
        partition: KeyAttribute { name: "id".to_owned(), scalar: ScalarType::S, source: KeySource::Natural },
        sort: None,
        attributes: Default::default(),
        entity_attribute: None,
        entities: Vec::new(),
        indexes: Vec::new(),
        scope: Default::default(),
        written_by: Default::default(),
        expect: Default::default(),
        ttl: None,
        collection_bytes_warn: 0,
        facts: Default::default(),
    }
}

fn item(id: &str) -> Item {
    Item::from(std::collections::HashMap::from([("id".to_owned(), AttributeValue::S(id.to_owned()))]))
}

fn put(id: &str) -> Value {
    json!({ "PutRequest": { "Item": { "id": { "S": id } } } })
}

#[tokio::test]
async fn unprocessed_items_are_sent_again() {
    let (client, requests) = scripted(vec![
        success(&json!({ "UnprocessedItems": { "audit": [put("b"), put("c")] } })),
        refusal(400, "ThrottlingException", "x"),
        success(&json!({ "UnprocessedItems": { "audit": [put("c")] } })),
        success(&json!({ "UnprocessedItems": {} })),
    ])
    .await;
    let loaded = load(&client, &table(), stream::iter(["a", "b", "c"].map(item))).await.unwrap();
    assert_eq!((loaded.written, loaded.batches, loaded.resent), (3, 1, 5));
    let sent: Vec<_> =
        requests.lock().unwrap().iter().map(|(_, body)| body["RequestItems"]["audit"].clone()).collect();
    let (all, two, one) =
        (json!([put("a"), put("b"), put("c")]), json!([put("b"), put("c")]), json!([put("c")]));
    assert_eq!(sent, [all, two.clone(), two, one]);
}

#[tokio::test]
async fn an_item_waits_until_no_batch_holds_its_key() {
    let left = || success(&json!({ "UnprocessedItems": { "audit": [put("a")] } }));
    let (client, requests) = scripted(vec![left(), left(), left(), success(&json!({}))]).await;
    let others = (1..25).map(|at| item(&at.to_string()));
    let mut second = item("a");
    second.insert("second".to_owned(), AttributeValue::Bool(true));
    let items = [item("a")].into_iter().chain(others).chain([item("z"), second]);
    let loaded = load(&client, &table(), stream::iter(items)).await.unwrap();
    assert_eq!((loaded.written, loaded.batches, loaded.resent), (27, 2, 3));
    let requests = requests.lock().unwrap();
    let sent = |at: usize| requests[at].1["RequestItems"]["audit"].as_array().unwrap().clone();
    let lengths: Vec<_> = (0..requests.len()).map(|at| sent(at).len()).collect();
    assert_eq!(lengths, [25, 1, 1, 1, 2]);
    assert_eq!(sent(4)[1]["PutRequest"]["Item"]["second"], json!({ "BOOL": true }));
}

#[tokio::test]
async fn unprocessed_keys_are_asked_for_again() {
    let (client, requests) = scripted(vec![
        success(&json!({
            "Responses": { "audit": [{ "id": { "S": "a" } }] },
            "UnprocessedKeys": { "audit": { "Keys": [{ "id": { "S": "b" } }] } },
            "ConsumedCapacity": [{ "TableName": "audit", "CapacityUnits": 0.5 }],
        })),
        success(&json!({
            "Responses": { "audit": [{ "id": { "S": "b" } }] },
            "UnprocessedKeys": {},
            "ConsumedCapacity": [{ "TableName": "audit", "CapacityUnits": 1.5 }],
        })),
    ])
    .await;
    let batch =
        BatchGet { table: "audit".to_owned(), keys: vec![item("a"), item("b")], ..BatchGet::default() };
    let got = batch_get(&client, &batch).await.unwrap();
    assert_eq!((got.items, got.consumed.units), (vec![item("a"), item("b")], 2.0));
    let again = requests.lock().unwrap()[1].1["RequestItems"]["audit"]["Keys"].clone();
    assert_eq!(again, json!([{ "id": { "S": "b" } }]));
}

#[tokio::test]
async fn what_is_never_processed_is_reported_after_the_last_attempt() {
    let left = json!({ "UnprocessedKeys": { "audit": { "Keys": [{ "id": { "S": "a" } }] } } });
    let (client, requests) = scripted(vec![success(&left)]).await;
    let batch = BatchGet { table: "audit".to_owned(), keys: vec![item("a")], ..BatchGet::default() };
    let error = batch_get(&client, &batch).await.unwrap_err();
    assert_eq!(error.to_string(), "`BatchGetItem` on table `audit` left 1 undone after 10 attempts");
    assert_eq!(requests.lock().unwrap().len(), BACKOFF_ATTEMPTS_MAX as usize);
}

#[tokio::test]
async fn an_empty_batch_asks_nothing() {
    let (client, requests) = scripted(vec![refusal(400, "ValidationException", "x")]).await;
    assert!(batch_get(&client, &BatchGet::default()).await.unwrap().items.is_empty());
    assert_eq!(load(&client, &table(), stream::iter([])).await.unwrap().batches, 0);
    assert!(requests.lock().unwrap().is_empty());
}
