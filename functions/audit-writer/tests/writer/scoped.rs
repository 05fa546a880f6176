//! In a table with a scope, callers write only for themselves; the author of an event comes from the authorizer.

use keyfold_core::value::AttributeValue;
use keyfold_local::runtime_api::InvocationResult;
use serde_json::{Value, json};

use crate::function::{Function, direct, event, parts, request};

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
    let InvocationResult::Response(text) = outcome else { panic!("{outcome:?}") };
    parts(&text)
}

/// An event without an id.
fn unnamed(more: &Value) -> Value {
    let mut event = event("1", more);
    event.as_object_mut().unwrap().remove("id");
    event
}

fn member(org: &str) -> Value {
    json!({ "jwt": { "claims": { "sub": "a", "org": org } } })
}

#[tokio::test]
async fn the_callers_claim_is_written_and_nobody_elses_can_be() {
    let function = Function::start(MANIFEST, &[("KEYFOLD_AUTH", "open")]).await;
    let (status, body) = post(&function, &unnamed(&json!({})), &member("acme")).await;
    assert_eq!(status, 201);
    let item = function.item(body["events"][0]["id"].as_str().unwrap()).await.unwrap();
    assert_eq!(item["org"], AttributeValue::S("acme".to_owned()));
    assert_eq!(item["byOrg_pk"], AttributeValue::S("acme-viewed".to_owned()));
    let forged = unnamed(&json!({ "org": "umbrella" }));
    let (status, body) = post(&function, &forged, &member("acme")).await;
    assert_eq!((status, &body["code"]), (403, &json!("out-of-scope")));
    for nobody in [Value::Null, json!({ "jwt": { "claims": { "sub": "a" } } })] {
        let (status, body) = post(&function, &unnamed(&json!({})), &nobody).await;
        assert_eq!((status, &body["code"]), (403, &json!("claim-missing")));
    }
    assert_eq!(function.items().await.len(), 1);
}

#[tokio::test]
async fn a_direct_caller_is_trusted_with_the_scope() {
    let function = Function::start(MANIFEST, &[]).await;
    let outcome = function.invoke(direct(&[event("1", &json!({ "org": "umbrella" }))])).await;
    assert!(matches!(outcome, InvocationResult::Response(_)), "{outcome:?}");
    assert_eq!(function.item("1").await.unwrap()["org"], AttributeValue::S("umbrella".to_owned()));
}

/// Otherwise an id used by another organisation would cause a conflict, which reveals it and blocks the event.
#[tokio::test]
async fn ids_are_the_writers_where_a_key_lacks_the_scope() {
    let function = Function::start(MANIFEST, &[]).await;
    let (status, body) = post(&function, &event("payroll-2016", &json!({})), &member("acme")).await;
    assert_eq!((status, &body["code"]), (403, &json!("id-not-yours")));
    let mut ids = std::collections::BTreeSet::new();
    for org in ["acme", "umbrella"] {
        let (status, body) = post(&function, &unnamed(&json!({})), &member(org)).await;
        assert_eq!(status, 201, "{body}");
        ids.insert(body["events"][0]["id"].as_str().unwrap().to_owned());
    }
    assert_eq!((ids.len(), function.items().await.len()), (2, 2));
}

/// `Acme` and `acme` are two organisations. Where the key keeps only the lower case, an id of one could be the other's.
#[tokio::test]
async fn ids_are_the_writers_where_the_key_keeps_the_scope_only_in_part() {
    for (key, status) in [("{org|lower}#{id}", 403), ("{org|shard:4}#{id}", 403), ("{org}#{id}", 201)] {
        let partition = format!("partition = \"{key}\"\nallow = [\"lossy-primary-key\"]");
        let function = Function::start(&MANIFEST.replace("partition = \"id\"", &partition), &[]).await;
        let (got, body) = post(&function, &event("payroll-2016", &json!({})), &member("acme")).await;
        assert_eq!(got, status, "{key}: {body}");
        assert_eq!(body["code"] == "id-not-yours", status == 403, "{key}: {body}");
    }
}

/// A tenant who guesses the id, or the whole event, of another learns nothing: the answer does not depend on its
/// existence.
#[tokio::test]
async fn what_a_tenant_is_told_does_not_depend_on_anothers_events() {
    for partition in ["id", "{org}#{id}"] {
        let manifest = MANIFEST.replace("partition = \"id\"", &format!("partition = \"{partition}\""));
        let mut told = Vec::new();
        for exists in [false, true] {
            let function = Function::start(&manifest, &[]).await;
            if exists {
                // With the same content and the guessed id, by a trusted caller, who may choose it.
                let theirs = event("payroll-2016", &json!({ "org": "umbrella" }));
                let outcome = function.invoke(direct(&[theirs])).await;
                assert!(matches!(outcome, InvocationResult::Response(_)), "{outcome:?}");
                post(&function, &unnamed(&json!({})), &member("umbrella")).await;
            }
            let guessed = post(&function, &event("payroll-2016", &json!({})), &member("acme")).await;
            let copied = post(&function, &unnamed(&json!({})), &member("acme")).await;
            let again = post(&function, &unnamed(&json!({})), &member("acme")).await;
            let mut answers = [guessed, copied, again].map(|(status, mut body)| {
                body.as_object_mut().unwrap().remove("requestId");
                (status, body.to_string())
            });
            answers.sort();
            told.push(answers);
        }
        assert_eq!(told[0], told[1], "{partition}");
    }
}

#[tokio::test]
async fn events_without_id_and_time_do_not_collapse_into_one() {
    let function = Function::start(MANIFEST, &[]).await;
    let mut bare = unnamed(&json!({}));
    bare.as_object_mut().unwrap().remove("timestamp");
    let both = json!([bare, bare]).to_string();
    // A request that Lambda retries has the same id, and its events are the same ones.
    for (id, outcome) in [("request-1", "written"), ("request-2", "written"), ("request-2", "repeated")] {
        let sent = request(&both, &member("acme")).replace("request-1", id);
        let InvocationResult::Response(text) = function.invoke(sent).await else { panic!("no response") };
        let (_, body) = parts(&text);
        assert_eq!(body[outcome], json!(2), "{id}: {body}");
    }
    assert_eq!(function.items().await.len(), 4);
}

/// The same table for one organisation: the author is the caller, whatever the event contains.
fn signed() -> String {
    MANIFEST.replace(r#"scope = { org = "jwt.org" }"#, r#"written-by = { accessedBy = "jwt.sub" }"#)
}

#[tokio::test]
async fn an_event_says_who_sent_it_and_when_and_nobody_can_say_otherwise() {
    let function = Function::start(&signed(), &[]).await;
    let joe = json!({ "jwt": { "claims": { "sub": "joe1" } } });
    let ceo = json!({ "accessedBy": "ceo", "action": "deleted", "timestamp": "2016-01-01T00:00:00Z" });
    let (status, body) = post(&function, &event("1", &ceo), &joe).await;
    assert_eq!((status, &body["code"]), (403, &json!("not-the-caller")));
    let noted = event("2", &json!({ "received": { "principal": "ceo" } }));
    let (status, body) = post(&function, &noted, &joe).await;
    assert_eq!((status, &body["code"]), (400, &json!("stamped-attribute")));
    assert!(function.items().await.is_empty());

    let mut own = event("3", &json!({ "timestamp": "2016-01-01T00:00:00Z" }));
    own.as_object_mut().unwrap().remove("accessedBy");
    assert_eq!(post(&function, &own, &joe).await.0, 201);
    // The same event again is the same event, though it was received again.
    assert_eq!(post(&function, &own, &joe).await.0, 200);
    let item = function.item("3").await.unwrap();
    assert_eq!(item["accessedBy"], AttributeValue::S("joe1".to_owned()));
    let AttributeValue::M(received) = &item["received"] else { panic!("{item:?}") };
    assert_eq!(received["principal"], AttributeValue::S("joe1".to_owned()));
    assert_eq!(received["source"], AttributeValue::S("http".to_owned()));
    // The event's time is 2016; the writer uses its own.
    assert!(matches!(&received["at"], AttributeValue::S(at) if at.as_str() > "2020" && at.ends_with('Z')));
    assert!(matches!(&received["requestId"], AttributeValue::S(id) if !id.is_empty()));
}

#[tokio::test]
async fn a_token_must_grant_the_scope_that_is_asked_for() {
    let function = Function::start(&signed(), &[("KEYFOLD_WRITE_SCOPE", "audit:write")]).await;
    let mut own = event("1", &json!({}));
    own.as_object_mut().unwrap().remove("accessedBy");
    for (granted, expected) in [("audit:read", 403), ("audit:read audit:write", 201)] {
        let caller = json!({ "jwt": { "claims": { "sub": "joe1", "scope": granted } } });
        let (status, body) = post(&function, &own, &caller).await;
        assert_eq!(status, expected, "{body}");
        assert_eq!(body["code"] == "not-granted", expected == 403);
    }
}
