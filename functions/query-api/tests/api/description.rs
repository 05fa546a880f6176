//! `GET /openapi.json` and `GET /health`.

use keyfold_query_api::Limits;
use serde_json::Value;

use crate::request::{Sent, api_at, send};

async fn document() -> Value {
    let api = api_at("http://127.0.0.1:9", Limits::default());
    let got = send(&api, &Sent::get("/openapi.json", "").by(Value::Null)).await;
    assert_eq!(got.status, 200, "{}", got.body);
    got.body
}

#[tokio::test]
async fn every_question_is_an_operation() {
    let document = document().await;
    assert_eq!(document["openapi"], "3.1.0");
    for (table, question) in
        [("audit", "whenDidUserActOnResource"), ("audit", "actionsOfUser"), ("orders", "ofPage")]
    {
        let operation = &document["paths"][format!("/tables/{table}/questions/{question}")]["get"];
        assert_eq!(operation["operationId"], format!("{table}.{question}"));
    }
    assert_eq!(document["paths"].as_object().unwrap().len(), 3 + 4 + 3);
}

#[tokio::test]
async fn parameters_have_the_types_of_the_manifest() {
    let document = document().await;
    let parameters = |path: &str| -> Vec<(String, bool, Value)> {
        let all = document["paths"][path]["get"]["parameters"].as_array().unwrap().iter();
        all.map(|one| {
            let name = one["name"].as_str().unwrap().to_owned();
            (name, one["required"].as_bool().unwrap(), one["schema"].clone())
        })
        .collect()
    };
    let audit = parameters("/tables/audit/questions/whenDidUserActOnResource");
    let timestamp = audit.iter().find(|(name, ..)| name == "timestamp.between").unwrap();
    assert!(!timestamp.1);
    assert_eq!(timestamp.2["items"]["format"], "date-time");
    let action = audit.iter().find(|(name, ..)| name == "action").unwrap();
    assert!(action.1);
    assert_eq!(action.2["enum"], serde_json::json!(["viewed", "edited", "deleted"]));
    let orders = parameters("/tables/orders/questions/ofPage");
    let names: Vec<&str> = orders.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["page.eq", "total.gte", "limit", "page", "order", "count", "explain", "format"]);
}

#[tokio::test]
async fn every_reference_leads_somewhere() {
    let document = document().await;
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 10);
    for reference in references {
        assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| collect(member, references));
        }
        Value::Array(members) => members.iter().for_each(|member| collect(member, references)),
        _ => {}
    }
}

#[tokio::test]
async fn health_says_which_manifest_is_deployed() {
    let api = api_at("http://127.0.0.1:9", Limits::default());
    let got = send(&api, &Sent::get("/health", "").by(Value::Null)).await;
    assert_eq!(got.body["status"], "ok");
    assert_eq!(got.body["manifest"].as_str().unwrap().len(), 12);
}
