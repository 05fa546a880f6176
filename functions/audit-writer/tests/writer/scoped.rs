//! In a table with a scope, callers write for themselves alone.

use keyfold_core::value::AttributeValue;
use keyfold_local::runtime_api::Outcome;
use serde_json::{Value, json};

use crate::function::{Function, event, parts, request};

const MANIFEST: &str = r#"
[tables.audit]
name = "AuditOfOrganisations"
partition = "id"
scope = { org = "jwt.org" }
[tables.audit.attributes]
id = "string"
org = "string"
action = "string"
accessedBy = "string"
resourceId = "string"
timestamp = "timestamp"
[tables.audit.indexes.byOrg]
partition = "{org}-{action}"
sort = "timestamp"
allow = ["native-would-serve"]
"#;

async fn post(function: &Function, body: &Value, authorizer: &Value) -> (u64, Value) {
    let outcome = function.invoke(request(&body.to_string(), authorizer)).await;
    let Outcome::Response(text) = outcome else { panic!("{outcome:?}") };
    parts(&text)
}

fn member(org: &str) -> Value {
    json!({ "jwt": { "claims": { "sub": "a", "org": org } } })
}

#[tokio::test]
async fn the_callers_claim_is_written_and_nobody_elses_can_be() {
    let function = Function::start(MANIFEST, &[("KEYFOLD_AUTH", "open")]).await;
    assert_eq!(post(&function, &event("1", &json!({})), &member("acme")).await.0, 201);
    let item = function.item("1").await.unwrap();
    assert_eq!(item["org"], AttributeValue::S("acme".to_owned()));
    assert_eq!(item["byOrg_pk"], AttributeValue::S("acme-viewed".to_owned()));
    let forged = event("2", &json!({ "org": "umbrella" }));
    let (status, body) = post(&function, &forged, &member("acme")).await;
    assert_eq!((status, &body["code"]), (403, &json!("out-of-scope")));
    for nobody in [Value::Null, json!({ "jwt": { "claims": { "sub": "a" } } })] {
        let (status, body) = post(&function, &event("3", &json!({})), &nobody).await;
        assert_eq!((status, &body["code"]), (403, &json!("claim-missing")));
    }
    assert_eq!(function.items().await.len(), 1);
}

#[tokio::test]
async fn whoever_may_invoke_the_function_is_trusted_with_the_scope() {
    let function = Function::start(MANIFEST, &[]).await;
    let outcome = function.invoke(event("1", &json!({ "org": "umbrella" })).to_string()).await;
    assert!(matches!(outcome, Outcome::Response(_)), "{outcome:?}");
    assert_eq!(function.item("1").await.unwrap()["org"], AttributeValue::S("umbrella".to_owned()));
}
