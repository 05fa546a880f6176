//! Items whose time to live is over are no drift, and are left to it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::types::TimeToLiveSpecification;
use keyfold_core::value::AttributeValue;
use keyfold_dynamo::put;
use serde_json::json;

use crate::BINARY;
use keyfold_harness::{Function, event};

const MANIFEST: &str = r#"
[tables.old]
name = "sessions-old"
partition = "id"
ttl = "ends"
[tables.old.attributes]
id = "string"
ends = "number"

[tables.new]
name = "sessions-new"
partition = "id"
[tables.new.attributes]
id = "string"
accessedBy = "string"
resourceId = "string"
[tables.new.indexes.byWho]
partition = "{accessedBy}-{resourceId}"

[retrofits.sessions]
from = "old"
to = "new"
"#;

#[tokio::test]
async fn an_item_whose_time_is_over_is_no_drift_and_is_not_repaired() {
    let function = Function::start(BINARY, MANIFEST).await;
    function.create(function.table("old"), true).await;
    function.create(function.table("new"), false).await;
    function.begin("sessions", |head| head).await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let session = |id: &str, ends: Duration| {
        let mut session = event(id);
        session.insert("ends".to_owned(), AttributeValue::N(ends.as_secs().to_string()));
        session
    };
    let (minute, table) = (Duration::from_secs(60), function.table("old"));
    for item in [session("over", now - minute), session("alive", now + minute * 60), event("for-ever")] {
        put(&function.dynamo.client(), table, item).await.unwrap();
    }
    let slice = |repair| json!({ "retrofit": "sessions", "segment": 0, "totalSegments": 1, "repair": repair, "lagSeconds": 0 });
    let counts = function.answered(slice(false)).await["counts"].clone();
    assert_eq!(counts, json!({ "items": 3, "missing": 3 }), "the table's time to live is not switched on");
    let ttl = TimeToLiveSpecification::builder().enabled(true).attribute_name("ends").build().unwrap();
    let switch = function.dynamo.client().update_time_to_live().table_name("sessions-old");
    switch.time_to_live_specification(ttl).send().await.unwrap();
    let counts = function.answered(slice(false)).await["counts"].clone();
    assert_eq!(counts, json!({ "items": 3, "expired": 1, "missing": 2 }));
    let counts = function.answered(slice(true)).await["counts"].clone();
    assert_eq!(counts, json!({ "items": 3, "expired": 1, "repaired": 2 }));
}
