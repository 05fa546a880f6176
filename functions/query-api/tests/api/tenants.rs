//! An attacker's script: a caller of one organisation tries to learn another one's data.
//!
//! The script sends only allowed questions, and compares everything in the answers: read units, entries read, pages,
//! errors. It first runs where the scope is only a filter, as in earlier versions: there it finds the value.

use keyfold_core::value::Item;
use keyfold_dynamo::TableOptions;
use keyfold_local::EmbeddedDynamo;
use keyfold_query_api::{Api, ApiRequest, Caller, Limits, respond};
use serde_json::{Value, json};

use crate::request::{Sent, api_of, member, send};

const MANIFEST: &str = r#"
[tables.projects]
partition = "organisationId"
sort = "projectId"
scope = { organisationId = "jwt.org" }
attributes = { organisationId = "string", projectId = "string", owner = "string", lastUpdated = { type = "number", required = true } }
indexes.byOwner = { partition = "owner", sort = "lastUpdated" }

[tables.documents]
partition = "id"
scope = { organisationId = "jwt.org" }
attributes = { id = "string", organisationId = "string" }
"#;

/// When the other organisation's project was last changed: the secret.
const SECRET: u64 = 1_533_226_817;

/// Projects and documents of `acme`, and one document of the attacker's own.
async fn world() -> (EmbeddedDynamo, Api) {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let api = api_of(MANIFEST, dynamo.endpoint(), Limits::default()).with_complete_indexes();
    dynamo.create_tables(&api.model().tables, TableOptions::default()).await.unwrap();
    let large = "x".repeat(9000);
    let project = json!({
        "organisationId": { "S": "acme" }, "projectId": { "S": "p-1" }, "owner": { "S": "jane" },
        "lastUpdated": { "N": SECRET.to_string() }, "note": { "S": large },
    });
    let document = |id: &str, of: &str| json!({ "id": { "S": id }, "organisationId": { "S": of }, "text": { "S": large } });
    let items = [
        ("projects", project),
        ("documents", document("theirs", "acme")),
        ("documents", document("mine", "evil")),
    ];
    for (table, item) in items {
        let item: Item = serde_json::from_value(item).unwrap();
        keyfold_dynamo::put(&dynamo.client(), api.model().table(table).unwrap(), item).await.unwrap();
    }
    (dynamo, api)
}

/// The status and every byte of the body.
type ToldText = String;

/// Binary search for the smallest number at which the answers change. `None`: all answers are the same.
async fn recover(api: &Api, ask: impl AsyncFn(&Api, u64) -> ToldText) -> (Option<u64>, u32) {
    let (mut low, mut high) = (1_500_000_000, 1_600_000_000);
    let nothing = ask(api, low).await;
    let mut requests = 2;
    if ask(api, high).await == nothing {
        return (None, requests);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        requests += 1;
        if ask(api, middle).await == nothing { low = middle } else { high = middle }
    }
    (Some(low), requests)
}

fn before(number: u64) -> Value {
    json!({ "owner": "jane", "lastUpdated": { "<": number } })
}

/// The same request, with the scope only as a filter.
async fn with_a_filter(api: &Api, number: u64) -> ToldText {
    let mut conditions = before(number);
    conditions["organisationId"] = json!({ "beginsWith": "evil" });
    let body = json!({ "table": "projects", "where": conditions, "explain": true }).to_string();
    let request = http::Request::post("/query").body(body.into_bytes()).unwrap();
    respond(api, &ApiRequest::of_http(request, Caller::Trusted, "request-1")).await.0.into_body()
}

async fn within_the_scope(api: &Api, number: u64) -> ToldText {
    let asked = json!({ "table": "projects", "where": before(number), "explain": true });
    let got = send(api, &Sent::query(&asked).by(member("eve", "evil"))).await;
    // The plan shows the attacker's own request again.
    let mut body = got.body;
    if let Some(plan) = body.get_mut("plan") {
        plan.take();
    }
    format!("{} {body}", got.status)
}

/// Without the plan, which shows the request's own number again.
async fn without_plan(api: &Api, number: u64) -> ToldText {
    let mut body: Value = serde_json::from_str(&with_a_filter(api, number).await).unwrap();
    body["plan"].take();
    body.to_string()
}

#[tokio::test]
async fn an_attacker_who_bisects_by_costs_finds_nothing() {
    let (_dynamo, api) = world().await;
    let (found, requests) = recover(&api, without_plan).await;
    assert_eq!(
        (found, requests),
        (Some(SECRET), 28),
        "the script must find the value where a filter is all there is"
    );
    assert_eq!(recover(&api, within_the_scope).await, (None, 2));
}

#[tokio::test]
async fn what_the_scope_cannot_serve_is_refused_with_an_index_that_would() {
    let (_dynamo, api) = world().await;
    let several = json!({ "table": "documents", "where": { "id": { "in": ["theirs", "mine"] } } });
    let got = send(&api, &Sent::query(&several).by(member("eve", "evil"))).await;
    assert_eq!((got.status, got.body["code"].as_str().unwrap()), (422, "needs-scoped-index"), "{}", got.body);
    let scanned = json!({ "table": "documents", "where": { "text": "x" }, "scan": true });
    let api = api_of(MANIFEST, "http://127.0.0.1:9", Limits { allow_scan: true, ..Limits::default() })
        .with_complete_indexes();
    let got = send(&api, &Sent::query(&scanned).by(member("eve", "evil"))).await;
    assert_eq!(got.body["code"], "unknown-attribute", "{}", got.body);
    let scanned = json!({ "table": "documents", "where": { "id": { ">": "a" } }, "scan": true });
    let got = send(&api, &Sent::query(&scanned).by(member("eve", "evil"))).await;
    assert_eq!(got.body["code"], "needs-scoped-index", "{}", got.body);
    let hint = got.body["hint"].as_str().unwrap();
    assert!(hint.contains("\"organisationId\"") && !hint.contains("allow a scan"), "{hint}");
}

#[tokio::test]
async fn anothers_document_looks_like_one_that_is_not_there() {
    let (_dynamo, api) = world().await;
    for more in [
        json!({}),
        json!({ "explain": true }),
        json!({ "count": true }),
        json!({ "consistent": true }),
        json!({ "limit": 1 }),
    ] {
        let mut told = Vec::new();
        for id in ["theirs", "nobodys"] {
            let mut asked = json!({ "table": "documents", "where": { "id": id } });
            asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let got = send(&api, &Sent::query(&asked).by(member("eve", "evil"))).await;
            assert_eq!((got.status, &got.body["count"]), (200, &json!(0)));
            told.push(got.text.replace(id, "ID"));
        }
        assert_eq!(told[0], told[1]);
    }
    let mine = json!({ "table": "documents", "where": { "id": "mine" } });
    let got = send(&api, &Sent::query(&mine).by(member("eve", "evil"))).await;
    assert_eq!((&got.body["count"], &got.body["consumedReadUnits"]), (&json!(1), &json!(1.5)));
}
