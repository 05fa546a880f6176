//! Every error of a request has its own code, and nothing is read for it.

use std::net::TcpListener;
use std::time::Duration;

use keyfold_query_api::{Auth, Limits};
use serde_json::{Value, json};

use crate::request::{Got, Sent, api_at, api_of, member, send, send_event, someone};

/// The longest wait for a read.
const ASKED_MAX: Duration = Duration::from_secs(20);

/// A server that detects any request.
struct Watched(TcpListener);

impl Watched {
    fn new() -> Watched {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Watched(listener)
    }

    fn endpoint(&self) -> String {
        format!("http://{}", self.0.local_addr().unwrap())
    }

    fn was_asked(&self) -> bool {
        self.0.accept().is_ok()
    }
}

fn audit(conditions: &Value) -> Sent {
    Sent::query(&json!({ "table": "audit", "where": conditions }))
}

fn with(conditions: &Value, more: &Value) -> Sent {
    let mut request = json!({ "table": "audit", "where": conditions });
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Sent::query(&request)
}

fn question(query: &str) -> Sent {
    Sent::get("/tables/audit/questions/actionsOfUser", query)
}

/// Requests, with the expected status and code.
fn cases() -> Vec<(&'static str, Sent, u16, &'static str)> {
    let id = json!({ "id": "1" });
    let many: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    let deep = (0..20).fold(json!({ "id": "1" }), |inner, _| json!({ "not": inner }));
    let wide = json!({ "and": vec![json!({ "id": "1" }); 101] });
    let big = format!(r#"{{"table":"audit","where":{{"id":"{}"}}}}"#, "x".repeat(1024 * 1024));
    let found = "resourceId=1&action.in=viewed&accessedBy=joe1";
    vec![
        // Routes.
        ("no such path", Sent::get("/tables", ""), 404, "unknown-route"),
        ("a path with strange letters", Sent::get("/tables/a b/\u{1F99C}/<x>", ""), 404, "unknown-route"),
        ("the wrong method", Sent::get("/query", ""), 405, "method-not-allowed"),
        (
            "the wrong method for a question",
            Sent { method: "POST", ..question(found) },
            405,
            "method-not-allowed",
        ),
        ("a question of no table", Sent::get("/tables/nothing/questions/x", ""), 404, "unknown-table"),
        ("no such question", Sent::get("/tables/audit/questions/who", ""), 404, "unknown-question"),
        // Bodies.
        ("a body of 1 MB", Sent::post("/query", big.clone()), 413, "body-too-large"),
        ("a body of 1 MB to explain", Sent::post("/explain", big), 413, "body-too-large"),
        ("no body", Sent::post("/query", ""), 400, "malformed-request"),
        ("no JSON", Sent::post("/query", "{\"table\":"), 400, "malformed-request"),
        ("a list", Sent::post("/query", "[]"), 400, "malformed-request"),
        ("an unknown member", with(&id, &json!({ "limits": 1 })), 400, "malformed-request"),
        ("JSON nested 1000 times", Sent::post("/query", "[".repeat(1000)), 400, "malformed-request"),
        (
            "a member twice, deep in the conditions",
            Sent::post("/query", r#"{"table":"audit","where":{"or":[{"id":"1","id":"2"}]}}"#),
            400,
            "malformed-request",
        ),
        // Names.
        ("an unknown table", Sent::query(&json!({ "table": "audits" })), 404, "unknown-table"),
        ("an unknown attribute", audit(&json!({ "resourceID": "1" })), 400, "unknown-attribute"),
        (
            "an unknown attribute to order by",
            with(&id, &json!({ "order": "when" })),
            400,
            "unknown-attribute",
        ),
        ("an unknown operator", audit(&json!({ "id": { "like": "1" } })), 400, "unknown-operator"),
        ("an unknown entity", with(&id, &json!({ "entity": "parrot" })), 400, "unknown-entity"),
        // Values.
        ("a number for a text", audit(&json!({ "id": 1 })), 400, "type-mismatch"),
        ("a text for a number", audit(&json!({ "id": "1", "size": "2" })), 400, "type-mismatch"),
        (
            "more digits than DynamoDB has",
            Sent::post(
                "/query",
                format!(r#"{{"table":"audit","where":{{"id":"1","size":{}}}}}"#, "1".repeat(39)),
            ),
            400,
            "invalid-value",
        ),
        ("no such value", audit(&json!({ "id": "1", "action": "seen" })), 400, "unlisted-value"),
        (
            "one invalid value of several",
            audit(&json!({ "action": { "in": ["viewed", "x"] } })),
            400,
            "unlisted-value",
        ),
        (
            "not of an invalid value",
            audit(&json!({ "id": "1", "action": { "<>": "seen" } })),
            400,
            "unlisted-value",
        ),
        (
            "no time",
            audit(&json!({ "id": "1", "timestamp": { "beginsWith": "March" } })),
            400,
            "invalid-value",
        ),
        (
            "a day that never was",
            audit(&json!({ "id": "1", "timestamp": { "S": "2015-02-31" } })),
            400,
            "invalid-value",
        ),
        ("a part of a time", audit(&json!({ "id": "1", "timestamp": "2017-03" })), 400, "invalid-value"),
        (
            "bounds the wrong way round",
            audit(&json!({ "id": "1", "size": { "between": [2, 1] } })),
            400,
            "inverted-between",
        ),
        ("one bound", audit(&json!({ "id": "1", "size": { "between": [2] } })), 400, "malformed-request"),
        ("an empty list", audit(&json!({ "id": { "in": [] } })), 400, "empty-in"),
        ("101 values", audit(&json!({ "id": { "in": many } })), 400, "over-limit"),
        ("an empty or", audit(&json!({ "or": [] })), 400, "malformed-request"),
        ("conditions nested 20 times", audit(&deep), 400, "over-limit"),
        ("101 comparisons", audit(&wide), 400, "over-limit"),
        ("a limit of none", with(&id, &json!({ "limit": 0 })), 400, "over-limit"),
        ("a limit of very many", with(&id, &json!({ "limit": 100_000 })), 400, "over-limit"),
        ("no read units", with(&id, &json!({ "readUnitsMax": 0 })), 400, "malformed-request"),
        ("nothing selected", with(&id, &json!({ "select": [] })), 400, "malformed-request"),
        (
            "an unknown format",
            Sent { query: "format=xml".to_owned(), ..audit(&id) },
            400,
            "invalid-parameter",
        ),
        // Questions.
        ("a parameter is missing", question("resourceId=1&action.in=viewed"), 400, "missing-parameter"),
        ("a parameter too many", question(&format!("{found}&colour=red")), 400, "unknown-parameter"),
        (
            "a parameter without its operator",
            question(&format!("{found}&timestamp=2017")),
            400,
            "unknown-parameter",
        ),
        ("a parameter twice", question(&format!("{found}&accessedBy=joe2")), 400, "invalid-parameter"),
        ("no values between commas", question("resourceId=1&action.in=&accessedBy=joe1"), 400, "empty-in"),
        ("more than the question's limit", question(&format!("{found}&limit=51")), 400, "invalid-parameter"),
        ("201 parameters", question(&"a=1&".repeat(201)), 400, "malformed-request"),
        (
            "a query string of 20 kB",
            question(&format!("resourceId={}", "x".repeat(20_000))),
            413,
            "body-too-large",
        ),
        (
            "a range that ends before it begins",
            Sent::get(
                "/tables/audit/questions/whenDidUserActOnResource",
                "resourceId=1&action=viewed&accessedBy=joe1&timestamp.between=2018..2017",
            ),
            400,
            "inverted-between",
        ),
        (
            "an invalid date",
            Sent::get(
                "/tables/audit/questions/whenDidUserActOnResource",
                "resourceId=1&action=viewed&accessedBy=joe1&timestamp.between=2015-02-31..2016-01-01",
            ),
            400,
            "invalid-value",
        ),
        (
            "a question by what Keyfold keeps",
            question(&format!("{found}&keyfold_fence=1")),
            400,
            "unknown-parameter",
        ),
        (
            "a question in the order of what Keyfold keeps",
            question(&format!("{found}&order=keyfold_fence")),
            400,
            "reserved-name",
        ),
        (
            "a condition on what Keyfold keeps",
            audit(&json!({ "id": "1", "keyfold_tombstone": true })),
            400,
            "reserved-name",
        ),
        (
            "what Keyfold keeps, selected",
            with(&id, &json!({ "select": ["keyfold_fence"] })),
            400,
            "reserved-name",
        ),
        (
            "a range without an end",
            Sent::get(
                "/tables/audit/questions/whenDidUserActOnResource",
                "resourceId=1&action=viewed&accessedBy=joe1&timestamp.between=2018",
            ),
            400,
            "invalid-parameter",
        ),
        (
            "an invalid number",
            Sent::get("/tables/orders/questions/ofPage", "page.eq=one").by(member("joe1", "acme")),
            400,
            "invalid-value",
        ),
        // Plans.
        ("only a scan answers", audit(&json!({ "size": 1 })), 422, "needs-scan"),
        (
            "a scan, where the API allows none",
            with(&json!({ "size": 1 }), &json!({ "scan": true })),
            422,
            "needs-scan",
        ),
        (
            "no index gives the order",
            with(
                &json!({ "resourceId": "1", "action": "viewed", "accessedBy": "joe1" }),
                &json!({ "order": "size" }),
            ),
            422,
            "needs-sort",
        ),
        (
            "an explanation of what cannot be",
            Sent::post("/explain", json!({ "table": "audit", "where": { "size": 1 } }).to_string()),
            422,
            "needs-scan",
        ),
        // Callers.
        ("nobody", audit(&id).by(Value::Null), 401, "not-authenticated"),
        (
            "no caller, and an explanation",
            Sent::post("/explain", json!({ "table": "audit", "where": id }).to_string()).by(Value::Null),
            401,
            "not-authenticated",
        ),
        (
            "no caller, of a table with a scope",
            Sent::query(&json!({ "table": "orders", "where": { "organisationId": "acme" } })).by(Value::Null),
            403,
            "claim-missing",
        ),
        (
            "a caller without the scope's claim",
            Sent::query(&json!({ "table": "orders", "where": { "organisationId": "acme" } })).by(someone()),
            403,
            "claim-missing",
        ),
        (
            "a claim that is empty",
            Sent::query(&json!({ "table": "orders" })).by(member("joe1", "")),
            403,
            "claim-missing",
        ),
        (
            "another's organisation",
            Sent::query(&json!({ "table": "orders", "where": { "organisationId": "acme" } }))
                .by(member("joe1", "umbrella")),
            403,
            "out-of-scope",
        ),
        (
            "another's organisation among one's own",
            Sent::query(&json!({ "table": "orders", "where": { "organisationId": { "beginsWith": "a" } } }))
                .by(member("joe1", "umbrella")),
            403,
            "out-of-scope",
        ),
        (
            "the scope of a question",
            Sent::get("/tables/orders/questions/ofPage", "page.eq=1").by(someone()),
            403,
            "claim-missing",
        ),
        // Tokens.
        ("a token of nonsense", with(&id, &json!({ "page": "nonsense" })), 400, "bad-page-token"),
        ("an empty token", with(&id, &json!({ "page": "" })), 400, "bad-page-token"),
        (
            "a token with strange letters",
            with(&id, &json!({ "page": "\u{0}=\u{1F99C}" })),
            400,
            "bad-page-token",
        ),
        ("a token of a question", question(&format!("{found}&page=AAAA")), 400, "bad-page-token"),
    ]
}

fn is_problem(name: &str, got: &Got, status: u16, code: &str) {
    let Got { body, headers, .. } = got;
    assert_eq!((got.status, body["code"].as_str().unwrap_or_default()), (status, code), "{name}: {body}");
    assert_eq!(headers["content-type"], "application/problem+json", "{name}");
    assert_eq!(body["status"], status, "{name}");
    assert_eq!(body["type"], format!("urn:keyfold:problem:{code}"), "{name}");
    assert_eq!(body["instance"], "request-1", "{name}");
    for member in ["title", "detail"] {
        assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{name}: {member}");
    }
    assert_eq!(got.record.code, code, "{name}");
}

#[tokio::test]
async fn every_refusal_has_its_code_and_reads_nothing() {
    let watched = Watched::new();
    let api = api_at(&watched.endpoint(), Limits::default());
    for (name, sent, status, code) in cases() {
        let got = send(&api, &sent).await;
        is_problem(name, &got, status, code);
        assert!(!watched.was_asked(), "{name}: something was read");
    }
}

#[tokio::test]
async fn what_is_not_refused_is_read() {
    let watched = Watched::new();
    let api = api_at(&watched.endpoint(), Limits::default());
    let sent = audit(&json!({ "id": "1" }));
    let asked = async {
        while !watched.was_asked() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = send(&api, &sent) => panic!("nothing answers there"),
        asked = tokio::time::timeout(ASKED_MAX, asked) => assert!(asked.is_ok(), "nothing was read"),
    }
}

#[tokio::test]
async fn every_code_is_explained_in_the_docs() {
    let docs = include_str!("../../../../docs/errors.md");
    for (_, _, _, code) in cases() {
        assert!(docs.contains(&format!("`{code}`")), "{code}");
    }
}

#[tokio::test]
async fn everybody_may_ask_an_open_api_but_for_tables_with_a_scope() {
    let watched = Watched::new();
    let api = api_at(&watched.endpoint(), Limits { auth: Auth::Open, ..Limits::default() });
    let explain = |table: &str, conditions: Value| {
        Sent::post("/explain", json!({ "table": table, "where": conditions }).to_string()).by(Value::Null)
    };
    assert_eq!(send(&api, &explain("audit", json!({ "id": "1" }))).await.status, 200);
    let got = send(&api, &explain("orders", json!({ "organisationId": "acme" }))).await;
    is_problem("scope", &got, 403, "claim-missing");
}

#[tokio::test]
async fn a_claim_that_is_no_value_of_its_attribute_is_a_right_to_nothing() {
    let manifest = r#"
        [tables.invoices]
        name = "Invoices"
        partition = "tenant"
        sort = "id"
        scope = { tenant = "jwt.org" }
        attributes = { tenant = "number", id = "string" }
        [questions.invoices.ofTenant]
        where = ["id beginsWith?"]
    "#;
    let watched = Watched::new();
    let api = api_of(manifest, &watched.endpoint(), Limits::default());
    let explain = || Sent::post("/explain", r#"{"table":"invoices"}"#);
    assert_eq!(send(&api, &explain().by(member("joe1", "17"))).await.status, 200);
    let asked = [
        Sent::query(&json!({ "table": "invoices" })),
        Sent::query(&json!({ "table": "invoices", "where": { "tenant": 17 } })),
        Sent::get("/tables/invoices/questions/ofTenant", ""),
        explain(),
    ];
    for sent in asked {
        let got = send(&api, &sent.by(member("joe1", "acme"))).await;
        is_problem("claim", &got, 403, "claim-mismatch");
        assert!(!got.body.to_string().contains("acme"), "the claim is shown: {}", got.body);
    }
    assert!(!watched.was_asked(), "something was read");
    assert!(include_str!("../../../../docs/errors.md").contains("`claim-mismatch`"));
}

#[tokio::test]
async fn an_explanation_reads_nothing_and_shows_the_scope() {
    let watched = Watched::new();
    let api = api_at(&watched.endpoint(), Limits::default());
    let sent = Sent::post("/explain", r#"{"table":"orders"}"#).by(member("joe1", "acme"));
    let got = send(&api, &sent).await;
    assert_eq!(got.status, 200, "{}", got.body);
    assert_eq!(got.body["reads"][0]["keyCondition"], r#"organisationId = "acme""#);
    assert!(!watched.was_asked());
}

#[tokio::test]
async fn a_refused_plan_says_which_index_would_answer() {
    let api = api_at("http://127.0.0.1:9", Limits::default());
    let got = send(&api, &with(&json!({ "accessedBy": "joe1" }), &json!({ "order": "-timestamp" }))).await;
    is_problem("needs-scan", &got, 422, "needs-scan");
    let suggestion = got.body["suggestion"].as_str().unwrap();
    assert!(suggestion.contains("[tables.audit.indexes."), "{suggestion}");
    let sources: Vec<&Value> =
        got.body["rejected"].as_array().unwrap().iter().map(|turned| &turned["source"]).collect();
    assert_eq!(sources, ["table", "index byResourceActionUser"]);
    let hint = got.body["hint"].as_str().unwrap();
    assert!(hint.starts_with("this API does not scan: add an index that answers it"), "{hint}");
    assert!(hint.contains(suggestion) && !hint.contains("allow a scan"), "{hint}");
}

#[tokio::test]
async fn headers_that_a_status_asks_for_are_there() {
    let api = api_at("http://127.0.0.1:9", Limits::default());
    assert_eq!(send(&api, &Sent::get("/query", "")).await.headers["allow"], "POST");
    assert_eq!(
        send(&api, &audit(&json!({ "id": "1" })).by(Value::Null)).await.headers["www-authenticate"],
        "Bearer"
    );
    assert_eq!(send(&api, &Sent::get("/health", "")).await.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn the_stage_of_an_api_is_no_part_of_the_path() {
    let api = api_at("http://127.0.0.1:9", Limits::default());
    let event = Sent::get("/prod/health", "").event().replace(r#""stage":"$default""#, r#""stage":"prod""#);
    assert_eq!(send_event(&api, &event).await.status, 200);
}

#[tokio::test]
async fn an_event_that_is_no_request_has_an_answer_too() {
    let api = api_at("http://127.0.0.1:9", Limits::default());
    let not_base64 =
        Sent::post("/query", "?").event().replace(r#""isBase64Encoded":false"#, r#""isBase64Encoded":true"#);
    for event in ["{}", r#"{"httpMethod":"GET","path":"/health"}"#, not_base64.as_str()] {
        let got = send_event(&api, event).await;
        assert_eq!((got.status, &got.body["code"]), (400, &json!("malformed-request")), "{event}");
        assert_eq!((got.record.status, got.record.code), (400, "malformed-request"));
    }
}
