//! The audit writer and the query API with their rights: every sample event, and questions that need each index.

use keyfold_core::manifest;
use keyfold_dynamo::{BUDGET_KEY, TableOptions, put};
use serde_json::{Value, json};

use crate::role::{CALLERS, Role};
use crate::stage::{Guarded, Stage, item};

const SAMPLE: &str = include_str!("../../../keyfold.toml");
/// The manifest that the query API's sample events are of.
const ASKED: &str = include_str!("../../../functions/query-api/tests/api/keyfold.toml");
/// A key ring for tests only.
const TOKEN_KEYS: (&str, &str) = ("KEYFOLD_TOKEN_KEYS", "test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=");

/// Sends every event of this function, whatever its answer.
async fn every_event(of: &str, function: &Guarded) {
    let events = keyfold_harness::events(of);
    assert!(events.len() >= 15);
    for (_, event) in events {
        function.function.invoke(event).await;
    }
}

/// Plays the audit writer with the rights that the change leaves.
pub(crate) async fn audit_writer(change: impl FnOnce(Role) -> Role) -> Guarded {
    let stage = Stage::of(SAMPLE).await;
    let function = stage.function_with("AuditWriterFunction", &[], change);
    every_event("audit-writer", &function).await;
    function
}

/// The query API, with requests that use all its permissions.
pub(crate) async fn query_api() -> Guarded {
    let stage = Stage::of(SAMPLE).await;
    let callers = format!(
        "[tables.{CALLERS}]\npartition = \"{BUDGET_KEY}\"\nattributes = {{ {BUDGET_KEY} = \"string\" }}\n"
    );
    let callers = manifest::parse("keyfold.toml", &callers).model.unwrap();
    stage.dynamo.create_tables(&callers.tables, TableOptions::default()).await.unwrap();
    for table in ["audit", "audit-legacy"] {
        for number in 0..3 {
            let id = format!("e{number}");
            let event = [
                ("id", &*id),
                ("resourceId", "r"),
                ("resourceName", "name"),
                ("action", "viewed"),
                ("accessedBy", "joe1"),
                ("timestamp", "2017-03-01T08:00:00.000Z"),
            ];
            put(&stage.dynamo.client(), stage.model.table(table).unwrap(), item(&event)).await.unwrap();
        }
    }
    let limits = [
        TOKEN_KEYS,
        ("KEYFOLD_CALLER_TABLE", CALLERS),
        ("KEYFOLD_CALLER_REQUESTS_PER_MINUTE", "1000"),
        // Less than the cap of a request, so that the rest of the day's budget is read.
        ("KEYFOLD_CALLER_UNITS_PER_DAY", "100"),
    ];
    let function = stage.function("QueryApiFunction", &limits);
    let of_user = json!({ "table": "audit", "where": { "accessedBy": "joe1" } });
    let name = "auditInPlace";
    for words in [&["run", name, "--until", "start", "--no-stream"][..], &["run", name], &["switch", name]] {
        stage.keyfold(&[&["retrofit"], words].concat()).await;
        if words.len() == 5 {
            // An index that is being filled is not used. The next process sees that it is complete.
            asked(&function, &of_user).await;
            function.function.kill(0);
        }
    }
    for (request, count) in [
        (json!({ "table": "audit", "where": { "id": "e1" } }), 1),
        (json!({ "table": "audit-legacy", "where": { "id": "e1" } }), 1),
        (json!({ "table": "audit", "where": { "id": { "in": ["e1", "e2"] } } }), 2),
        (
            json!({ "table": "audit", "where": { "resourceId": "r", "action": "viewed", "accessedBy": "joe1" } }),
            3,
        ),
        (of_user, 3),
        // An index that lacks attributes: the rest is fetched from the table.
        (json!({ "table": "audit", "where": { "action": "viewed" } }), 3),
    ] {
        assert_eq!(
            asked(&function, &request).await["items"].as_array().map(Vec::len),
            Some(count),
            "{request}"
        );
    }
    function
}

/// The query API, given its sample events.
pub(crate) async fn query_api_events() -> Guarded {
    let stage = Stage::of(ASKED).await;
    let function = stage.function("QueryApiFunction", &[TOKEN_KEYS]);
    every_event("query-api", &function).await;
    function
}

/// The query API with writes, with requests that use all of them.
pub(crate) async fn query_api_writes(change: impl FnOnce(Role) -> Role) -> Guarded {
    let manifest = "[deploy]\nquery-api = true\nquery-api-writes = [\"notes\"]\n\
        [tables.notes]\npartition = \"id\"\nattributes = { id = \"string\", owner = \"string\", state = \"string\" }\n\
        indexes.byOwnerState.partition = \"{owner}#{state}\"\n[tables.fixed]\npartition = \"id\"\nattributes = { id = \"string\" }\n";
    let stage = Stage::of(manifest).await;
    let settings = [TOKEN_KEYS, ("KEYFOLD_WRITE_SCOPE", "notes/write")];
    let function = stage.function_with("QueryApiFunction", &settings, change);
    let key = json!({ "id": "1" });
    for (path, body) in [
        ("/put", json!({ "table": "notes", "item": { "id": "1", "owner": "joe1", "state": "open" } })),
        // The key contains the owner too, so the item is read.
        ("/update", json!({ "table": "notes", "key": key, "set": { "state": "done" } })),
        ("/delete", json!({ "table": "notes", "key": key, "if": { "state": "done" } })),
    ] {
        let mut event = posted(path, &body);
        event["requestContext"]["authorizer"]["jwt"]["claims"]["scope"] = json!("notes/write");
        function.answer(&event).await;
    }
    function
}

/// An event of the samples' kind.
fn posted(path: &str, body: &Value) -> Value {
    let (_, event) =
        keyfold_harness::events("query-api").into_iter().find(|(name, _)| name == "query").unwrap();
    let mut event: Value = serde_json::from_str(&event).unwrap();
    (event["body"], event["isBase64Encoded"]) = (Value::from(body.to_string()), json!(false));
    (event["rawPath"], event["requestContext"]["http"]["path"]) = (json!(path), json!(path));
    event
}

async fn asked(function: &Guarded, request: &Value) -> Value {
    let answer = function.answer(&posted("/query", request)).await;
    assert_eq!(answer["statusCode"], 200, "{request}: {answer}; denied: {:?}", function.role.denied());
    serde_json::from_str(answer["body"].as_str().unwrap()).unwrap()
}
