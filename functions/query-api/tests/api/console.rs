//! The console's page and what is behind it: only where it is on, only for those who may ask, and never more than it says.

use keyfold_core::value::Item;
use keyfold_dynamo::TableOptions;
use keyfold_local::EmbeddedDynamo;
use keyfold_query_api::{Api, ApiRequest, Auth, Caller, Limits, respond};
use serde_json::{Value, json};

use crate::answers::filled;
use crate::request::{Sent, api_at, api_of, member, send, someone};

const PATHS: [&str; 7] = [
    "/",
    "/console.js",
    "/console.css",
    "/console/model",
    "/console/tables/audit/entries",
    "/console/retrofits/inPlace",
    "/console/tables/audit/item",
];

fn on() -> Limits {
    Limits { console: true, ..Limits::default() }
}

/// What a caller gets over plain HTTP: status, body.
async fn get(api: &Api, path: &str, caller: Caller) -> (u16, Value) {
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let (response, record) = respond(api, &ApiRequest::of_http(request, caller, "request-1")).await;
    assert_eq!(record.status, response.status().as_u16());
    (record.status, serde_json::from_str(response.body()).unwrap())
}

async fn trusted(api: &Api, path: &str) -> Value {
    let (status, body) = get(api, path, Caller::Trusted).await;
    assert_eq!(status, 200, "{path}: {body}");
    body
}

fn code(body: &Value) -> &str {
    body["code"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn without_its_setting_nothing_of_the_console_is_there() {
    let api = api_at("http://127.0.0.1:9", Limits::default());
    for path in PATHS {
        let got = send(&api, &Sent::get(path, "")).await;
        assert_eq!((got.status, code(&got.body)), (404, "unknown-route"), "{path}");
        let (status, body) = get(&api, path, Caller::Trusted).await;
        assert_eq!((status, code(&body)), (404, "unknown-route"), "{path}");
    }
}

#[tokio::test]
async fn the_page_asks_for_nobody_and_lets_nothing_else_in() {
    let api = api_at("http://127.0.0.1:9", on());
    for (path, kind) in [("/", "text/html"), ("/console.js", "text/javascript"), ("/console.css", "text/css")]
    {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let nobody = Caller::Claims(Default::default());
        let (response, record) = respond(&api, &ApiRequest::of_http(request, nobody, "request-1")).await;
        assert_eq!((record.status, record.route), (200, "console"), "{path}");
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert!(header("content-type").starts_with(kind), "{path}");
        let policy = header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(response.body().len() > 500, "{path}");
    }
}

#[tokio::test]
async fn what_is_behind_the_page_asks_for_a_caller_as_a_query_does() {
    let dynamo = filled().await;
    let api = api_at(dynamo.endpoint(), on());
    for path in &PATHS[3..5] {
        let got = send(&api, &Sent::get(path, "").by(Value::Null)).await;
        assert_eq!((got.status, code(&got.body)), (401, "not-authenticated"), "{path}");
        assert_eq!(send(&api, &Sent::get(path, "")).await.status, 200, "{path}");
    }
    let open = api_at(dynamo.endpoint(), Limits { auth: Auth::Open, ..on() });
    for path in &PATHS[3..5] {
        assert_eq!(send(&open, &Sent::get(path, "").by(Value::Null)).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn what_a_table_with_a_scope_holds_is_shown_to_a_trusted_caller_only() {
    let dynamo = filled().await;
    let api = api_at(dynamo.endpoint(), Limits { auth: Auth::Open, ..on() });
    let path = "/console/tables/orders/entries";
    for caller in [Value::Null, someone(), member("joe1", "acme")] {
        let got = send(&api, &Sent::get(path, "").by(caller.clone())).await;
        assert_eq!((got.status, code(&got.body)), (403, "trusted-only"), "{caller}");
        assert_eq!((got.record.items_read, got.record.requests), (0, 0));
        assert!(!got.body.to_string().contains("acme"), "{}", got.body);
        let model = send(&api, &Sent::get("/console/model", "").by(caller)).await.body;
        assert_eq!(model["tables"][1]["shown"], false);
        assert_eq!(model["trusted"], false);
    }
    let shown = trusted(&api, path).await;
    assert_eq!(shown["entries"], 8);
    assert_eq!(shown["collections"][1]["key"], json!([{ "S": "umbrella" }]));
    assert_eq!(trusted(&api, "/console/model").await["tables"][1]["shown"], true);
}

#[tokio::test]
async fn names_that_the_manifest_does_not_have_are_problems() {
    let api = api_at("http://127.0.0.1:9", on());
    for (path, status, wanted) in [
        ("/console/tables/audits/entries", 404, "unknown-table"),
        ("/console/tables/audit/entries?index=byNobody", 404, "index-not-declared"),
        ("/console/tables/audit/entries?limit=1", 400, "unknown-parameter"),
        ("/console/model?x=1", 400, "unknown-parameter"),
        ("/console/retrofits/nothing", 404, "unknown-retrofit"),
        ("/console/tables/audit/entries", 502, "not-reached"),
        ("/console/nothing", 404, "unknown-route"),
    ] {
        let (got, body) = get(&api, path, Caller::Trusted).await;
        assert_eq!((got, code(&body)), (status, wanted), "{path}: {body}");
        assert!(include_str!("../../../../docs/errors.md").contains(&format!("`{wanted}`")), "{wanted}");
    }
    let got = send(&api, &Sent::post("/console/model", "{}")).await;
    assert_eq!((got.status, code(&got.body)), (405, "method-not-allowed"));
}

#[tokio::test]
async fn an_index_is_shown_as_it_is_stored_and_says_who_is_absent() {
    let dynamo = filled().await;
    let api = api_at(dynamo.endpoint(), on());
    // An item that was written without its folded key.
    let old = json!({ "id": { "S": "old" }, "action": { "S": "viewed" }, "<b>&": { "S": "<script>alert(1)</script>" } });
    let old: Item = serde_json::from_value(old).unwrap();
    let table = api.model().table("audit").unwrap();
    let bare =
        keyfold_core::model::Table { indexes: Vec::new(), attributes: Default::default(), ..table.clone() };
    keyfold_dynamo::put(&dynamo.client(), &bare, old).await.unwrap();
    let shown = trusted(&api, "/console/tables/audit/entries?index=byResourceActionUser").await;
    assert_eq!(shown["entries"], 30, "{shown}");
    let keys: Vec<&str> = shown["collections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["key"][0]["S"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["123bbb-edited-joe1", "123bbb-viewed-joe1"]);
    let entries = shown["collections"][1]["entries"].as_array().unwrap();
    let times: Vec<&str> = entries.iter().map(|one| one["timestamp"]["S"].as_str().unwrap()).collect();
    assert!(times.is_sorted() && times.len() == 27, "{times:?}");
    assert_eq!(shown["absent"]["absent"], 1);
    assert_eq!(shown["absent"]["items"], 31);
    assert!(shown["absent"]["reasons"][0]["reason"].as_str().unwrap().contains("is missing"));
    let whole = trusted(&api, "/console/tables/audit/entries").await;
    assert_eq!((&whole["entries"], &whole["absent"]), (&json!(31), &Value::Null));
    // Markup stays what it is: JSON carries it, and the page writes it as text.
    assert!(whole.to_string().contains("<script>alert(1)</script>"));
}

/// A key as the page gives it.
fn at(table: &str, key: &Value) -> String {
    format!("/console/tables/{table}/item?key={}", escaped(key))
}

fn escaped(value: &Value) -> String {
    value.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn an_item_is_found_by_its_key_and_tells_what_each_of_its_keys_should_be() {
    let dynamo = filled().await;
    let api = api_at(dynamo.endpoint(), on());
    let found = trusted(&api, &at("audit", &json!({ "id": { "S": "event-01" } }))).await;
    assert_eq!(found["item"]["accessedBy"], json!({ "S": "joe1" }), "{found}");
    assert_eq!((&found["places"][0]["name"], &found["misfit"]), (&json!("table"), &Value::Null));
    let folded = &found["places"][1]["keys"][0];
    assert_eq!(
        (&folded["wanted"], &folded["right"]),
        (&json!("123bbb-viewed-joe1"), &json!(true)),
        "{found}"
    );
    assert!(found["consumedReadUnits"].as_f64().unwrap() > 0.0 && found["bytes"].as_u64().unwrap() > 50);
    // One that a program wrote which does not fold, and one that does not fit.
    let table = api.model().table("audit").unwrap();
    let bare =
        keyfold_core::model::Table { indexes: Vec::new(), attributes: Default::default(), ..table.clone() };
    let stale = json!({
        "id": { "S": "stale" }, "resourceId": { "S": "123bbb" }, "action": { "S": "edited" }, "accessedBy": { "S": "joe1" },
        "timestamp": { "S": "2017-03-01T08:00:00.000Z" }, "byResourceActionUser_pk": { "S": "123bbb-viewed-joe1" },
    });
    let misfit = json!({ "id": { "S": "misfit" }, "resourceId": { "N": "1" }, "action": { "S": "viewed" }, "accessedBy": { "S": "joe1" } });
    for item in [stale, misfit] {
        keyfold_dynamo::put(&dynamo.client(), &bare, serde_json::from_value(item).unwrap()).await.unwrap();
    }
    let stale = trusted(&api, &at("audit", &json!({ "id": { "S": "stale" } }))).await;
    let folded = &stale["places"][1]["keys"][0];
    assert_eq!(
        (&folded["wanted"], &folded["right"]),
        (&json!("123bbb-edited-joe1"), &json!(false)),
        "{stale}"
    );
    let misfit = trusted(&api, &at("audit", &json!({ "id": { "S": "misfit" } }))).await;
    assert!(misfit["misfit"].as_str().unwrap().contains("resourceId"), "{misfit}");
    assert!(misfit["places"][1]["absent"].as_str().unwrap().contains("is missing"), "{misfit}");
    let nobody = trusted(&api, &at("audit", &json!({ "id": { "S": "nobody" } }))).await;
    assert_eq!((&nobody["item"], &nobody["places"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn a_folded_primary_key_is_found_by_what_it_is_folded_from() {
    const MANIFEST: &str = r#"
        [tables.keyed]
        partition = "u:{user}-{id}"
        attributes = { id = "string", user = "string" }
    "#;
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let api = api_of(MANIFEST, dynamo.endpoint(), on());
    dynamo.create_tables(&api.model().tables, TableOptions::default()).await.unwrap();
    let item = json!({ "id": { "S": "1" }, "user": { "S": "ann" } });
    let table = &api.model().tables[0];
    keyfold_dynamo::put(&dynamo.client(), table, serde_json::from_value(item.clone()).unwrap())
        .await
        .unwrap();
    let found = trusted(&api, &at("keyed", &item)).await;
    let name = &table.partition.name;
    assert_eq!(found["key"], json!({ name: { "S": "u:ann-1" } }), "{found}");
    assert_eq!(found["item"]["user"], json!({ "S": "ann" }));
    assert_eq!(trusted(&api, &at("keyed", &found["key"])).await["item"], found["item"]);
    for key in [json!({ "user": { "S": "ann" } }), json!({ "id": { "N": "1" } }), json!(3)] {
        let (status, body) = get(&api, &at("keyed", &key), Caller::Trusted).await;
        assert_eq!((status, code(&body)), (400, "malformed-request"), "{body}");
    }
    assert_eq!(
        trusted(&api, "/console/model").await["tables"][0]["partition"][0]["from"],
        json!(["id", "user"])
    );
}

#[tokio::test]
async fn an_item_of_a_table_with_a_scope_is_shown_to_a_trusted_caller_only() {
    let dynamo = filled().await;
    let api = api_at(dynamo.endpoint(), Limits { auth: Auth::Open, ..on() });
    let first = trusted(&api, "/console/tables/orders/entries").await["collections"][0]["entries"][0].clone();
    let path = at("orders", &first);
    assert_eq!(trusted(&api, &path).await["item"], first);
    let (bare, query) = path.split_once('?').unwrap();
    for caller in [Value::Null, someone(), member("joe1", "acme")] {
        let got = send(&api, &Sent::get(bare, query).by(caller.clone())).await;
        assert_eq!((got.status, code(&got.body)), (403, "trusted-only"), "{caller}");
        assert_eq!((got.record.items_read, got.record.requests), (0, 0));
        assert!(!got.body.to_string().contains("acme"), "{}", got.body);
    }
    let posted = send(&api, &Sent::post(bare, "{}")).await;
    assert_eq!((posted.status, code(&posted.body)), (405, "method-not-allowed"));
}

#[tokio::test]
async fn what_a_view_leaves_out_is_on_the_next_ones_and_nothing_is_shown_twice() {
    let dynamo = filled().await;
    let api = api_at(dynamo.endpoint(), on());
    let table = api.model().table("audit").unwrap();
    for number in 0..420 {
        let item = json!({
            "id": { "S": format!("more-{number:03}") }, "resourceId": { "S": format!("x{}", number % 5) }, "action": { "S": "viewed" },
            "accessedBy": { "S": "jane" }, "timestamp": { "S": "2018-01-01T00:00:00.000Z" },
        });
        keyfold_dynamo::put(&dynamo.client(), table, serde_json::from_value(item).unwrap()).await.unwrap();
    }
    for path in
        ["/console/tables/audit/entries?", "/console/tables/audit/entries?index=byResourceActionUser&"]
    {
        let (mut seen, mut from, mut views) = (Vec::new(), String::new(), 0);
        loop {
            let view = trusted(&api, &format!("{path}{from}")).await;
            let entries = view["collections"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|one| one["entries"].as_array().unwrap().clone());
            seen.extend(entries.map(|entry| entry["id"]["S"].as_str().unwrap().to_owned()));
            views += 1;
            assert_eq!(view["more"] == true, !view["next"].is_null(), "{views}");
            if view["next"].is_null() {
                break;
            }
            from = format!("from={}", escaped(&view["next"]));
        }
        let shown = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!((shown, seen.len(), views), (450, 450, 3), "{path}");
    }
    let wrong = "/console/tables/audit/entries?from=%7B%22resourceId%22%3A%7B%22S%22%3A%22x%22%7D%7D";
    let (status, body) = get(&api, wrong, Caller::Trusted).await;
    assert_eq!((status, code(&body)), (400, "malformed-request"), "{body}");
}

#[tokio::test]
async fn a_view_is_bounded_and_says_that_there_is_more() {
    let dynamo = filled().await;
    let api = api_at(dynamo.endpoint(), on());
    let table = api.model().table("audit").unwrap();
    for number in 0..170 {
        let item = json!({
            "id": { "S": format!("more-{number:03}") }, "resourceId": { "S": "x" }, "action": { "S": "viewed" },
            "accessedBy": { "S": "jane" }, "timestamp": { "S": "2018-01-01T00:00:00.000Z" },
        });
        let item: Item = serde_json::from_value(item).unwrap();
        keyfold_dynamo::put(&dynamo.client(), table, item).await.unwrap();
    }
    let full = trusted(&api, "/console/tables/audit/entries").await;
    assert_eq!((&full["entries"], &full["more"]), (&json!(200), &json!(false)));
    let one_more = json!({
        "id": { "S": "last" }, "resourceId": { "S": "x" }, "action": { "S": "viewed" },
        "accessedBy": { "S": "jane" }, "timestamp": { "S": "2018-01-01T00:00:00.000Z" },
    });
    keyfold_dynamo::put(&dynamo.client(), table, serde_json::from_value(one_more).unwrap()).await.unwrap();
    let cut = trusted(&api, "/console/tables/audit/entries?index=byResourceActionUser").await;
    assert_eq!((&cut["entries"], &cut["more"]), (&json!(200), &json!(true)));
    assert_eq!(cut["absent"]["more"], true);
}

#[tokio::test]
async fn the_model_tells_keys_as_templates_and_parameters_with_their_types() {
    let api = api_at("http://127.0.0.1:9", on());
    let model = trusted(&api, "/console/model").await;
    let audit = &model["tables"][0];
    assert_eq!(audit["partition"][0], json!({ "attribute": "id", "type": "S", "templates": [], "from": [] }));
    let index = &audit["indexes"][0];
    assert_eq!((&index["kind"], &index["projection"]), (&json!("global"), &json!("all")));
    assert_eq!(index["partition"][0]["templates"][0]["template"], "{resourceId}-{action}-{accessedBy}");
    let question = &audit["questions"][0];
    assert_eq!(question["parameters"][1]["values"], json!(["viewed", "edited", "deleted"]));
    assert_eq!(question["parameters"][3]["name"], "timestamp.between");
    assert_eq!(question["parameters"][3]["required"], false);
    assert_eq!(question["parameters"][3]["type"], "timestamp");
    let document = send(&api, &Sent::get("/openapi.json", "")).await.body;
    assert!(!document.to_string().contains("/console"), "the page's own paths are no interface");
}

#[tokio::test]
async fn an_explained_answer_says_how_many_items_were_read() {
    let dynamo = filled().await;
    let api = api_at(dynamo.endpoint(), on());
    let asked = json!({
        "table": "audit", "explain": true,
        "where": { "resourceId": "123bbb", "action": "viewed", "accessedBy": "joe1", "size": { "<": 4 } },
    });
    let got = send(&api, &Sent::query(&asked)).await;
    assert_eq!((&got.body["itemsRead"], &got.body["count"]), (&json!(27), &json!(3)), "{}", got.body);
    let silent = json!({ "table": "audit", "where": { "id": "event-01" } });
    assert!(send(&api, &Sent::query(&silent)).await.body.get("itemsRead").is_none());
}

#[tokio::test]
async fn a_trusted_caller_sees_every_item_of_a_table_with_a_scope() {
    let dynamo = filled().await;
    let api = api_at(dynamo.endpoint(), Limits::default());
    let body = json!({ "table": "orders", "where": { "organisationId": "umbrella" } }).to_string();
    let request = http::Request::post("/query").body(body.into_bytes()).unwrap();
    let (response, _) = respond(&api, &ApiRequest::of_http(request, Caller::Trusted, "request-1")).await;
    let answer: Value = serde_json::from_str(response.body()).unwrap();
    assert_eq!(answer["count"], 4, "{answer}");
}

mod retrofits {
    use std::ops::ControlFlow;

    use keyfold_core::retrofit::{Checkpoint, Epoch, Job, Mapping, Pass, SegmentId, TableRole};
    use keyfold_dynamo::ensure_table;
    use keyfold_dynamo::retrofit::{Head, RequestSender, SliceOptions, backfill_slice};

    use super::*;

    const MANIFEST: &str = r#"
        [tables.old]
        partition = "id"
        attributes = { id = "string", kind = "string" }

        [tables.new]
        partition = "id"
        attributes = { id = "string", kind = { type = "string", required = true } }

        [tables.ours]
        partition = "id"
        scope = { kind = "jwt.org" }
        attributes = { id = "string", kind = { type = "string", required = true } }

        [retrofits.moved]
        from = "old"
        to = "new"

        [retrofits.scoped]
        from = "old"
        to = "ours"
    "#;

    async fn begun(api: &Api, dynamo: &EmbeddedDynamo, name: &str) {
        let mapping = Mapping::of(api.model(), name).unwrap();
        let sender = RequestSender::new(dynamo.client(), Job::new(mapping, Epoch::FIRST), "keyfold-control");
        ensure_table(&dynamo.client(), sender.table(TableRole::Control), TableOptions::default())
            .await
            .unwrap();
        sender.store(&Head::begun(sender.job().mapping(), None), None).await.unwrap();
        let table = sender.table(TableRole::Source);
        for item in [json!({ "id": { "S": "a" }, "kind": { "S": "x" } }), json!({ "id": { "S": "b<i>" } })] {
            let item: Item = serde_json::from_value(item).unwrap();
            keyfold_dynamo::put(&dynamo.client(), table, item).await.unwrap();
        }
        let options = SliceOptions { store: true, ..SliceOptions::default() };
        let start = Checkpoint::start(sender.job(), Pass::Backfill, SegmentId::WHOLE);
        let end = backfill_slice(&sender, start, &options, &mut |_| ControlFlow::Continue(())).await;
        assert!(end.error.is_none(), "{:?}", end.error);
    }

    #[tokio::test]
    async fn a_retrofit_tells_its_phase_its_gates_and_its_quarantine() {
        let dynamo = EmbeddedDynamo::memory().unwrap();
        let api = api_of(MANIFEST, dynamo.endpoint(), on());
        dynamo.create_tables(&api.model().tables, TableOptions::default()).await.unwrap();
        let path = "/console/retrofits/moved";
        assert_eq!(trusted(&api, path).await["started"], false);
        begun(&api, &dynamo, "moved").await;
        let shown = trusted(&api, path).await;
        assert_eq!(
            (&shown["phase"], &shown["protocol"]),
            (&json!("running"), &json!("fence and tombstone")),
            "{shown}"
        );
        assert_eq!((&shown["segmentsDone"], &shown["segments"]), (&json!(1), &json!(1)));
        assert_eq!(shown["passes"][0]["counts"]["items"], 2);
        assert_eq!(shown["quarantine"]["entries"][0]["key"], json!({ "id": { "S": "b<i>" } }));
        let codes: Vec<&str> =
            shown["gates"].as_array().unwrap().iter().map(|gate| gate["code"].as_str().unwrap()).collect();
        assert_eq!(codes, ["not-verified", "quarantine-not-empty", "tombstones"]);
        let elsewhere = api.with_control_table("another");
        assert_eq!(trusted(&elsewhere, path).await["started"], false);
    }

    #[tokio::test]
    async fn keys_in_quarantine_are_kept_from_those_who_may_not_see_the_table() {
        let dynamo = EmbeddedDynamo::memory().unwrap();
        let api = api_of(MANIFEST, dynamo.endpoint(), on());
        dynamo.create_tables(&api.model().tables, TableOptions::default()).await.unwrap();
        begun(&api, &dynamo, "scoped").await;
        let path = "/console/retrofits/scoped";
        let got = send(&api, &Sent::get(path, "").by(member("joe1", "x"))).await;
        assert_eq!(got.body["quarantined"], 1, "{}", got.body);
        assert_eq!(got.body["quarantine"]["keysShown"], false);
        assert!(!got.body.to_string().contains("b<i>"), "{}", got.body);
        assert_eq!(got.record.table.as_deref(), Some("old"));
        assert!(trusted(&api, path).await.to_string().contains("b<i>"));
    }
}
