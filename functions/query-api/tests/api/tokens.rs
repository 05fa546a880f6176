//! Page tokens: the pages make up the answer, and a token is valid only for its own caller and request.

use std::time::{SystemTime, UNIX_EPOCH};

use keyfold_dynamo::{Binding, Position, TokenKeys, model_version};
use keyfold_query_api::{Api, Limits};
use serde_json::{Value, json};

use crate::answers::{filled, ids};
use crate::request::{Sent, api_at, member, send};
use crate::{MANIFEST, TOKEN_KEYS};

fn asked() -> Value {
    json!({ "table": "orders", "limit": 2 })
}

fn at(page: &Value) -> Sent {
    let mut asked = asked();
    asked["page"] = page.clone();
    Sent::query(&asked)
}

async fn first_token(api: &Api) -> Value {
    let got = send(api, &Sent::query(&asked()).by(member("joe1", "acme"))).await;
    assert_eq!(ids(&got, "orderId"), ["acme-1", "acme-2"]);
    let token = got.body["page"].clone();
    assert!(token.is_string(), "{}", got.body);
    token
}

#[tokio::test]
async fn pages_one_after_the_other_are_the_whole_answer() {
    let dynamo = filled().await;
    let api = api_at(dynamo.endpoint(), Limits::default());
    let token = first_token(&api).await;
    let second = send(&api, &at(&token).by(member("joe1", "acme"))).await;
    assert_eq!(ids(&second, "orderId"), ["acme-3", "acme-4"]);
    let mut fresh = member("joe1", "acme");
    fresh["iat"] = json!("1488999999");
    let after_signing_in_again = send(&api, &at(&token).by(fresh)).await;
    assert_eq!(after_signing_in_again.body["items"], second.body["items"]);
    let mut last = second;
    while let Some(token) = last.body.get("page").cloned() {
        last = send(&api, &at(&token).by(member("joe1", "acme"))).await;
        assert_eq!(last.body["count"], 0);
    }
}

#[tokio::test]
async fn every_kind_of_bad_token_is_refused_alike_and_nothing_is_read() {
    let dynamo = filled().await;
    let api = api_at(dynamo.endpoint(), Limits::default());
    let token = first_token(&api).await;
    let text = token.as_str().unwrap();
    let mut flipped = text.to_owned().into_bytes();
    let middle = flipped.len() / 2;
    flipped[middle] = if flipped[middle] == b'A' { b'B' } else { b'A' };
    let forged = TokenKeys::random().unwrap();
    let joe = || member("joe1", "acme");
    let other_limit = json!({ "table": "orders", "limit": 3, "page": text });
    let other_question = json!({ "table": "orders", "limit": 2, "where": { "total": 10 }, "page": text });
    let cases = [
        ("truncated", at(&json!(text[..text.len() - 1])).by(joe())),
        ("one letter changed", at(&json!(String::from_utf8(flipped).unwrap())).by(joe())),
        ("of another's keys", at(&json!(sealed_again(text, &forged, MANIFEST, 0))).by(joe())),
        ("expired", at(&json!(sealed_again(text, &ring(), MANIFEST, 3600))).by(joe())),
        ("of another manifest", at(&json!(sealed_again(text, &ring(), "", 0))).by(joe())),
        ("of another plan", at(&json!(of_another_plan())).by(joe())),
        ("of another caller", at(&token).by(member("eve", "acme"))),
        ("of another organisation", at(&token).by(member("joe1", "umbrella"))),
        ("of a request with another limit", Sent::query(&other_limit).by(joe())),
        ("of another request", Sent::query(&other_question).by(joe())),
    ];
    let still_good = at(&json!(sealed_again(text, &ring(), MANIFEST, 3500))).by(joe());
    assert_eq!(send(&api, &still_good).await.status, 200);
    let mut documents = Vec::new();
    for (name, sent) in cases {
        let got = send(&api, &sent).await;
        assert_eq!(
            (got.status, got.body["code"].as_str().unwrap_or("ok")),
            (400, "bad-page-token"),
            "{name}: {}",
            got.body
        );
        assert_eq!((got.record.items_read, got.record.requests), (0, 0), "{name}");
        documents.push(got.body);
    }
    documents.dedup();
    assert_eq!(documents.len(), 1, "a caller could tell them apart");
}

/// The same position, sealed `seconds_ago` with these keys for this request and caller, and for this manifest.
fn sealed_again(token: &str, keys: &TokenKeys, manifest: &str, seconds_ago: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let position = ring().open(token, &binding(MANIFEST), now).unwrap();
    keys.seal(&position, &binding(manifest), now - seconds_ago, 3600).unwrap()
}

/// A token for a place in another plan.
fn of_another_plan() -> String {
    let position: Position =
        serde_json::from_value(json!({ "plan": 0, "place": { "Accesses": [] } })).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    ring().seal(&position, &binding(MANIFEST), now, 3600).unwrap()
}

fn binding(manifest: &str) -> Binding {
    let caller = r#"{"jwt.iss":"https://issuer.example.com","jwt.org":"acme","jwt.scope":"records/write","jwt.sub":"joe1"}"#;
    Binding::new(&serde_json::from_value(asked()).unwrap(), caller, &model_version(manifest))
}

fn ring() -> TokenKeys {
    TokenKeys::parse(TOKEN_KEYS).unwrap()
}
