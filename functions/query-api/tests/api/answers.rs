//! Answers, from an embedded DynamoDB.

use keyfold_core::value::Item;
use keyfold_dynamo::TableOptions;
use keyfold_local::EmbeddedDynamo;
use keyfold_query_api::{Api, ApiRequest, Caller, Limits, respond};
use serde_json::{Value, json};

use crate::request::{Got, Sent, api_at, member, send};

/// A DynamoDB with the tables of the tests' manifest and some items in them.
pub(crate) async fn filled() -> EmbeddedDynamo {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let api = api_at(dynamo.endpoint(), Limits::default());
    dynamo.create_tables(&api.model().tables, TableOptions::default()).await.unwrap();
    for (table, items) in [("audit", audit_items()), ("orders", order_items())] {
        let table = api.model().table(table).unwrap();
        for item in items {
            let item: Item = serde_json::from_value(item).unwrap();
            keyfold_dynamo::put(&dynamo.client(), table, item).await.unwrap();
        }
    }
    dynamo
}

/// Thirty views of one resource by one user, a day apart; the last one has an attribute of every type.
fn audit_items() -> Vec<Value> {
    let mut items: Vec<Value> = (1..=30)
        .map(|day| {
            json!({
                "id": { "S": format!("event-{day:02}") },
                "resourceId": { "S": "123bbb" },
                "action": { "S": if day % 10 == 0 { "edited" } else { "viewed" } },
                "accessedBy": { "S": "joe1" },
                "timestamp": { "S": format!("2017-03-{day:02}T08:00:00.000Z") },
                "size": { "N": day.to_string() },
            })
        })
        .collect();
    let last = items.last_mut().unwrap();
    last["size"] = json!({ "N": "12345678901234567890.123456789" });
    last["checksum"] = json!({ "B": "AP8=" });
    last["labels"] = json!({ "SS": ["secret-label"] });
    last["note"] = json!({ "M": { "by": { "L": [{ "BOOL": true }, { "NULL": true }] } } });
    items
}

fn order_items() -> Vec<Value> {
    let order = |organisation: &str, order: u32| {
        json!({
            "organisationId": { "S": organisation },
            "orderId": { "S": format!("{organisation}-{order}") },
            "total": { "N": (order * 10).to_string() },
            "page": { "N": (order % 2).to_string() },
        })
    };
    ["acme", "umbrella"].into_iter().flat_map(|name| (1..=4).map(move |number| order(name, number))).collect()
}

pub(crate) fn ids(got: &Got, name: &str) -> Vec<String> {
    let items = got.body["items"].as_array().unwrap_or_else(|| panic!("{}", got.body));
    items.iter().map(|item| item[name].as_str().unwrap().to_owned()).collect()
}

fn api(dynamo: &EmbeddedDynamo) -> Api {
    api_at(dynamo.endpoint(), Limits::default())
}

#[tokio::test]
async fn a_question_and_its_request_have_one_answer() {
    let dynamo = filled().await;
    let api = api(&dynamo);
    let asked = json!({
        "table": "audit",
        "where": { "resourceId": "123bbb", "action": "viewed", "accessedBy": "joe1",
                   "timestamp": { "between": ["2017-03-03T00:00:00Z", "2017-03-05T23:59:59Z"] } },
        "order": "timestamp",
    });
    let by_request = send(&api, &Sent::query(&asked)).await;
    let path = "/tables/audit/questions/whenDidUserActOnResource";
    let common = "resourceId=123bbb&action=viewed&accessedBy=joe1";
    let once = format!("{common}&timestamp.between=2017-03-03T00:00:00Z..2017-03-05T23:59:59Z");
    let twice =
        format!("{common}&timestamp.between=2017-03-03T00%3A00:00Z&timestamp.between=2017-03-05T23:59:59Z");
    assert_eq!(ids(&by_request, "id"), ["event-03", "event-04", "event-05"]);
    for query in [once, twice] {
        let by_question = send(&api, &Sent::get(path, &query)).await;
        assert_eq!(by_question.body["items"], by_request.body["items"], "{query}: {}", by_question.body);
        assert_eq!(by_question.record.question.as_deref(), Some("whenDidUserActOnResource"));
        assert_eq!(by_question.record.sources, ["index byResourceActionUser"]);
    }
}

#[tokio::test]
async fn a_question_fans_out_keeps_its_order_and_its_limit() {
    let dynamo = filled().await;
    let api = api(&dynamo);
    let query =
        "resourceId=123bbb&action.in=viewed,edited&accessedBy=joe1&timestamp.beginsWith=2017-03&limit=3";
    let got = send(&api, &Sent::get("/tables/audit/questions/actionsOfUser", query)).await;
    assert_eq!(ids(&got, "id"), ["event-30", "event-29", "event-28"]);
    assert_eq!(got.record.reads, 2);
    assert!(got.record.consumed_read_units > 0.0 && got.record.items_read >= 3);
    let ascending =
        send(&api, &Sent::get("/tables/audit/questions/actionsOfUser", &format!("{query}&order=timestamp")))
            .await;
    assert_eq!(ids(&ascending, "id"), ["event-01", "event-02", "event-03"]);
}

#[tokio::test]
async fn an_item_keeps_every_digit_and_every_type() {
    let dynamo = filled().await;
    let api = api(&dynamo);
    let sent = Sent::query(&json!({ "table": "audit", "where": { "id": "event-30" } }));
    let text = send(&api, &sent).await.text;
    for part in [
        r#""size":12345678901234567890.123456789"#,
        r#""checksum":"AP8=""#,
        r#""labels":["secret-label"]"#,
        r#""note":{"by":[true,null]}"#,
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let typed = send(&api, &Sent { query: "format=dynamodb".to_owned(), ..sent }).await;
    assert_eq!(typed.body["items"][0]["size"], json!({ "N": "12345678901234567890.123456789" }));
    assert_eq!(typed.body["items"][0]["labels"], json!({ "SS": ["secret-label"] }));
}

#[tokio::test]
async fn a_number_of_many_digits_is_asked_for_exactly() {
    let dynamo = filled().await;
    let api = api(&dynamo);
    let ask = |digits: &str| {
        let text = format!(r#"{{"table":"audit","where":{{"id":"event-30","size":{digits}}}}}"#);
        Sent::post("/query", text)
    };
    assert_eq!(send(&api, &ask("12345678901234567890.123456789")).await.body["count"], 1);
    assert_eq!(send(&api, &ask("12345678901234567890.123456788")).await.body["count"], 0);
}

#[tokio::test]
async fn a_caller_sees_the_items_of_the_scope_and_no_others() {
    let dynamo = filled().await;
    let api = api(&dynamo);
    let all = Sent::query(&json!({ "table": "orders" }));
    let acme = send(&api, &all.clone().by(member("joe1", "acme"))).await;
    assert_eq!(ids(&acme, "orderId"), ["acme-1", "acme-2", "acme-3", "acme-4"]);
    let nobodys = send(&api, &all.by(member("joe1", "nobody"))).await;
    assert_eq!(nobodys.body["count"], 0);
    let either = json!({ "or": [{ "organisationId": "umbrella" }, { "total": { ">=": 30 } }] });
    let either = Sent::query(&json!({ "table": "orders", "where": either })).by(member("joe1", "acme"));
    assert_eq!(ids(&send(&api, &either).await, "orderId"), ["acme-3", "acme-4"]);
    let question =
        Sent::get("/tables/orders/questions/ofPage", "page.eq=1&total.gte=20").by(member("joe1", "acme"));
    assert_eq!(ids(&send(&api, &question).await, "orderId"), ["acme-3"]);
}

#[tokio::test]
async fn only_the_number_and_the_plan_are_given_where_they_are_asked_for() {
    let dynamo = filled().await;
    let api = api(&dynamo);
    let sent =
        Sent::query(&json!({ "table": "orders", "count": true, "explain": true })).by(member("joe1", "acme"));
    let got = send(&api, &sent).await;
    assert_eq!(got.body["count"], 4, "{}", got.body);
    assert!(got.body.get("items").is_none());
    assert_eq!(got.body["plan"]["reads"][0]["source"], "table");
    assert!(got.body["consumedReadUnits"].as_f64().unwrap() > 0.0);
}

#[tokio::test]
async fn an_explained_answer_says_how_many_items_were_read() {
    let dynamo = filled().await;
    let api = api(&dynamo);
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
    let body = json!({ "table": "orders", "where": { "organisationId": "umbrella" } }).to_string();
    let request = http::Request::post("/query").body(body.into_bytes()).unwrap();
    let request = ApiRequest::of_http(request, Caller::Trusted, "request-1");
    let (response, _) = respond(&api(&dynamo), &request).await;
    let answer: Value = serde_json::from_str(response.body()).unwrap();
    assert_eq!(answer["count"], 4, "{answer}");
}

#[tokio::test]
async fn a_scan_is_made_where_api_and_request_allow_it() {
    let dynamo = filled().await;
    let api = api_at(dynamo.endpoint(), Limits { allow_scan: true, ..Limits::default() });
    let asked = json!({ "table": "audit", "where": { "size": { "<": 3 } } });
    assert_eq!(send(&api, &Sent::query(&asked)).await.body["code"], "needs-scan");
    let mut allowed = asked;
    allowed["scan"] = json!(true);
    assert_eq!(send(&api, &Sent::query(&allowed)).await.body["count"], 2);
}

#[tokio::test]
async fn a_database_that_is_not_there_is_not_the_callers_fault() {
    let api = api_at("http://127.0.0.1:9", Limits::default());
    let got = send(&api, &Sent::query(&json!({ "table": "audit", "where": { "id": "1" } }))).await;
    assert_eq!((got.status, got.body["code"].as_str().unwrap()), (502, "not-reached"));
    let empty = EmbeddedDynamo::memory().unwrap();
    let api = api_at(empty.endpoint(), Limits::default());
    let got = send(&api, &Sent::query(&json!({ "table": "audit", "where": { "id": "1" } }))).await;
    assert_eq!((got.status, got.body["code"].as_str().unwrap()), (502, "table-not-found"));
    assert_eq!(got.record.outcome(), "server-error");
}

/// A fan-out of a hundred reads repeats its filter a hundred times. A small request gets no large explanation.
#[tokio::test]
async fn an_explanation_spells_out_some_reads_and_counts_the_others() {
    let api = api_at("http://127.0.0.1:9", Limits::default()).with_complete_indexes();
    let resources: Vec<String> = (0..100).map(|at| format!("r{at}")).collect();
    let sizes: Vec<u32> = (0..90).collect();
    let asked = json!({ "table": "audit", "where": {
        "resourceId": { "in": resources }, "action": "viewed", "accessedBy": "joe1", "size": { "in": sizes },
    } });
    let got = send(&api, &Sent::post("/explain", asked.to_string())).await;
    let reads = got.body["reads"].as_array().unwrap_or_else(|| panic!("{}", got.body));
    assert_eq!((reads.len(), &got.body["furtherReads"]), (10, &json!(90)));
    assert!(got.text.len() < 16_000, "{} bytes", got.text.len());
}
