//! One caller's requests in a minute and consumption in a day, counted by the real binary in a separate table.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use keyfold_core::manifest;
use keyfold_dynamo::{
    BUDGET_KEY, BudgetError, CallerBudget, Endpoint, TableOptions, TokenKeys, plain_client, put,
};
use keyfold_harness::{Between, Proxy, Request};
use keyfold_local::EmbeddedDynamo;
use keyfold_local::runtime_api::RuntimeApi;
use keyfold_query_api::{Api, Budget, Grants, Limits, Settings};
use serde_json::{Value, json};

use crate::TOKEN_KEYS;
use crate::answers::filled;
use crate::events::{Function, Response, manifest_file};
use crate::request::{Sent, member, send};

const CALLERS: &str = "callers";

/// The tests' tables, and the one where callers are counted.
async fn with_callers() -> EmbeddedDynamo {
    let dynamo = filled().await;
    let text = format!(
        "[tables.{CALLERS}]\npartition = \"{BUDGET_KEY}\"\nattributes = {{ {BUDGET_KEY} = \"string\" }}\n"
    );
    let model = manifest::parse("keyfold.toml", &text).model.unwrap();
    dynamo.create_tables(&model.tables, TableOptions::default()).await.unwrap();
    dynamo
}

/// The function with a budget, and the manifest that it reads.
fn start(
    runtime: &RuntimeApi,
    dynamo: &EmbeddedDynamo,
    budget: &[(&str, &str)],
) -> (Function, tempfile::NamedTempFile) {
    let manifest = manifest_file();
    let variables = [
        ("KEYFOLD_MANIFEST", manifest.path().to_str().unwrap()),
        ("KEYFOLD_ENDPOINT", dynamo.endpoint()),
        ("KEYFOLD_TOKEN_KEYS", TOKEN_KEYS),
        ("KEYFOLD_CALLER_TABLE", CALLERS),
    ];
    (Function::start(runtime, &[&variables, budget].concat()), manifest)
}

/// The response to one question of a caller: status, body, `Retry-After`.
async fn ask(runtime: &RuntimeApi, subject: &str, more: &Value) -> (u64, Value, Option<u64>) {
    let mut asked = json!({ "table": "orders" });
    asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let sent = Sent::query(&asked).by(member(subject, "acme"));
    let response = Response::of(&runtime.invoke(sent.event()).await);
    let wait = response.header("retry-after").and_then(|seconds| seconds.parse().ok());
    (response.status, response.body, wait)
}

#[tokio::test]
async fn a_caller_has_so_many_requests_in_a_minute_and_others_have_theirs() {
    let (dynamo, runtime) = (with_callers().await, RuntimeApi::start().await.unwrap());
    let _function = start(&runtime, &dynamo, &[("KEYFOLD_CALLER_REQUESTS_PER_MINUTE", "3")]);
    let mut answered = 0;
    let (body, wait) = loop {
        let (status, body, wait) = ask(&runtime, "joe1", &json!({})).await;
        match status {
            200 => answered += 1,
            _ => break (body, wait),
        }
        // A minute may end while the test runs.
        assert!(answered <= 6, "nothing is refused");
    };
    assert_eq!((&body["code"], &body["status"]), (&json!("caller-requests-exceeded"), &json!(429)));
    assert!(answered >= 3 && wait.is_some_and(|seconds| (1..=60).contains(&seconds)), "{answered} {wait:?}");
    assert_eq!(ask(&runtime, "jane", &json!({})).await.0, 200);
}

#[tokio::test]
async fn an_organisation_has_so_many_units_in_a_day() {
    let (dynamo, runtime) = (with_callers().await, RuntimeApi::start().await.unwrap());
    let budget = [("KEYFOLD_CALLER_CLAIM", "jwt.org"), ("KEYFOLD_CALLER_UNITS_PER_DAY", "4")];
    let _function = start(&runtime, &dynamo, &budget);
    let mut consumed = 0.0;
    let (body, wait) = loop {
        // Two users of one organisation share one budget.
        let subject = if consumed < 2.0 { "joe1" } else { "jane" };
        let (status, body, wait) = ask(&runtime, subject, &json!({})).await;
        match status {
            200 => consumed += body["consumedReadUnits"].as_f64().unwrap(),
            _ => break (body, wait),
        }
        assert!(consumed <= 8.0, "nothing is refused");
    };
    assert_eq!((&body["code"], &body["status"]), (&json!("caller-units-exceeded"), &json!(429)));
    // The unused part of a reservation is released. The day may end while the test runs.
    assert!(consumed >= 4.0, "{consumed}");
    assert!(wait.is_some_and(|seconds| (1..=86_400).contains(&seconds)), "{wait:?}");
}

/// The read units of one page of 1 MB. Each request below reads one, whatever its cap.
const PAGE: f64 = 128.0;
const DAY_UNITS: f64 = 200.0;

/// An API whose callers have a budget of read units, and a partition with more than a page of items.
async fn with_large_items() -> (EmbeddedDynamo, Api) {
    let (dynamo, manifest) = (with_callers().await, manifest_file());
    let endpoint = Endpoint::parse(dynamo.endpoint()).unwrap();
    let of_caller =
        CallerBudget { table: CALLERS.to_owned(), requests_per_minute: None, units_per_day: Some(DAY_UNITS) };
    let settings = Settings {
        manifest: manifest.path().to_owned(),
        dynamo: keyfold_dynamo::Settings::at(endpoint),
        token_keys: TokenKeys::random().unwrap().into(),
        limits: Limits::default(),
        control_table: "keyfold-control".to_owned(),
        grants: Grants::default(),
        budget: Some(Budget { of_caller, claim: None }),
    };
    let api = Api::start(settings).await.unwrap();
    let orders = api.model().table("orders").unwrap();
    for number in 0..40 {
        let item = json!({
            "organisationId": { "S": "acme" }, "orderId": { "S": format!("large-{number:02}") }, "note": { "S": "x".repeat(30_000) },
        });
        put(&dynamo.client(), orders, serde_json::from_value(item).unwrap()).await.unwrap();
    }
    (dynamo, api)
}

/// A request that cannot be sorted within its cap: it fails after it has read a page.
async fn fail(api: &Api) -> (u16, String) {
    let asked = json!({ "table": "orders", "order": "total", "sortInMemory": 1000, "readUnitsMax": 8 });
    let got = send(api, &Sent::query(&asked).by(member("joe1", "acme"))).await;
    (got.status, got.body["code"].as_str().unwrap_or_default().to_owned())
}

/// The units in the caller's row of the day, when no request is in flight.
async fn counted(dynamo: &EmbeddedDynamo) -> f64 {
    let rows = dynamo.client().scan().table_name(CALLERS).send().await.unwrap();
    let [row] = rows.items() else { panic!("{:?}", rows.items()) };
    assert!(!row.contains_key("reservations"), "{row:?}");
    row["units"].as_n().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_request_that_fails_counts_with_what_it_read() {
    let (dynamo, api) = with_large_items().await;
    let mut failed = 0;
    let code = loop {
        match fail(&api).await {
            (422, _) => failed += 1,
            (_, code) => break code,
        }
        assert!(failed < 10, "nothing is refused");
    };
    assert_eq!((failed, code.as_str()), (2, "caller-units-exceeded"));
    let units = counted(&dynamo).await;
    assert!(units > DAY_UNITS && units <= DAY_UNITS + PAGE, "{units}");
}

#[tokio::test]
async fn callers_who_ask_at_once_exceed_the_budget_by_one_page_at_the_most() {
    let (dynamo, api) = with_large_items().await;
    let api = Arc::new(api);
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let api = Arc::clone(&api);
        all.spawn(async move { fail(&api).await });
    }
    let done = all.join_all().await;
    let refused = done.iter().filter(|(status, _)| *status == 429).count();
    let units = counted(&dynamo).await;
    assert!(units <= DAY_UNITS + PAGE && refused >= 4, "{units}: {done:?}");
    assert!(done.iter().any(|(_, code)| code.starts_with("caller-units-")), "{done:?}");
}

#[tokio::test]
async fn reservations_never_exceed_the_budget() {
    let dynamo = with_callers().await;
    let budget =
        CallerBudget { table: CALLERS.to_owned(), requests_per_minute: Some(7), units_per_day: Some(50.0) };
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let (budget, client) = (budget.clone(), dynamo.client());
        all.spawn(async move {
            let is_counted = budget.count(&client, "joe1", 1_000_000).await.is_ok();
            (is_counted, budget.reserve(&client, "joe1", 1.0, 10.0, 1_000_000).await)
        });
    }
    let done = all.join_all().await;
    assert_eq!(done.iter().filter(|(is_counted, _)| *is_counted).count(), 7);
    let reserved: Vec<_> = done.iter().filter_map(|(_, reserved)| reserved.as_ref().ok()?.as_ref()).collect();
    assert_eq!(reserved.len(), 4, "4 times 1 + 10 units");
    let client = dynamo.client();
    let reserve = async || budget.reserve(&client, "joe1", 9.0, 10.0, 1_000_000).await;
    assert!(matches!(reserve().await, Err(BudgetError::Reserved { .. })));
    for one in reserved {
        budget.correct(&client, one, 11.5).await.unwrap();
    }
    // 46 units are consumed: a request alone gets the rest as its cap.
    let alone = reserve().await.unwrap().unwrap();
    assert_eq!(alone.cap, 4.0);
    assert!(matches!(reserve().await, Err(BudgetError::Reserved { .. })));
    budget.correct(&client, &alone, 14.0).await.unwrap();
    let Err(BudgetError::Units { retry_after_seconds, .. }) = reserve().await else { panic!("60 of 50") };
    assert_eq!(retry_after_seconds, 86_400 - 1_000_000 % 86_400);
}

/// Loses the answer to each first of two updates.
#[derive(Default)]
struct EverySecondAnswer(AtomicUsize);

impl Between for EverySecondAnswer {
    fn loses(&self, request: &Request) -> bool {
        request.operation == "UpdateItem" && self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(2)
    }
}

/// The SDK repeats an executed call whose response was lost.
#[tokio::test]
async fn a_call_that_is_repeated_is_counted_once() {
    let dynamo = with_callers().await;
    let budget =
        CallerBudget { table: CALLERS.to_owned(), requests_per_minute: None, units_per_day: Some(50.0) };
    let lossy = Arc::new(EverySecondAnswer::default());
    let proxy = Proxy::start(dynamo.endpoint(), Arc::clone(&lossy) as Arc<dyn Between>);
    let client = plain_client(proxy.endpoint(), &keyfold_dynamo::Settings::default());
    let reserved = budget.reserve(&client, "joe1", 5.0, 5.0, 1_000_000).await.unwrap().unwrap();
    assert_eq!((reserved.cap, lossy.0.load(Ordering::Relaxed)), (5.0, 2), "one answer was lost");
    let rows = dynamo.client().scan().table_name(CALLERS).send().await.unwrap();
    assert_eq!(rows.items()[0]["units"].as_n().unwrap(), "10");
    budget.correct(&client, &reserved, 7.0).await.unwrap();
    assert_eq!(lossy.0.load(Ordering::Relaxed), 4);
    assert_eq!(counted(&dynamo).await, 7.0);
    // Where a reservation must be the only one in its row, its own repeat is accepted.
    let alone = budget.reserve(&client, "joe1", 60.0, 10.0, 1_000_000).await.unwrap().unwrap();
    assert_eq!(alone.cap, 43.0);
    budget.correct(&client, &alone, 1.0).await.unwrap();
    assert_eq!(counted(&dynamo).await, 8.0);
}

#[tokio::test]
async fn a_killed_request_keeps_its_units_and_stands_in_the_way_for_a_while_only() {
    let dynamo = with_callers().await;
    let budget =
        CallerBudget { table: CALLERS.to_owned(), requests_per_minute: None, units_per_day: Some(50.0) };
    let client = dynamo.client();
    let reserve = async |now| budget.reserve(&client, "joe1", 20.0, 10.0, now).await;
    drop(reserve(1_000_000).await.unwrap().unwrap());
    assert!(matches!(reserve(1_000_600).await, Err(BudgetError::Reserved { .. })));
    let alone = reserve(1_000_901).await.unwrap().unwrap();
    assert_eq!(alone.cap, 20.0, "30 of 50 units stay counted");
}

#[tokio::test]
async fn a_row_of_another_version_is_refused_and_stays() {
    let dynamo = with_callers().await;
    let budget =
        CallerBudget { table: CALLERS.to_owned(), requests_per_minute: Some(7), units_per_day: Some(5.0) };
    let client = dynamo.client();
    budget.count(&client, "joe1", 1_000_000).await.unwrap();
    let reserved = budget.reserve(&client, "joe1", 1.0, 1.0, 1_000_000).await.unwrap().unwrap();
    let rows = || async { client.scan().table_name(CALLERS).send().await.unwrap().items.unwrap_or_default() };
    for mut row in rows().await {
        let other = row["expires"].clone();
        row.insert("v".to_owned(), other);
        client.put_item().table_name(CALLERS).set_item(Some(row)).send().await.unwrap();
    }
    let before = rows().await;
    let refusals = [
        budget.count(&client, "joe1", 1_000_000).await.unwrap_err(),
        budget.reserve(&client, "joe1", 1.0, 1.0, 1_000_000).await.unwrap_err(),
        budget.correct(&client, &reserved, 0.5).await.unwrap_err(),
    ];
    for error in refusals {
        assert_eq!(error.code(), "unknown-format", "{error}");
    }
    assert_eq!((before.len(), rows().await), (2, before));
}

#[tokio::test]
async fn without_the_table_nobody_is_answered() {
    let (dynamo, runtime) = (filled().await, RuntimeApi::start().await.unwrap());
    let _function = start(&runtime, &dynamo, &[("KEYFOLD_CALLER_REQUESTS_PER_MINUTE", "3")]);
    let (status, body, _) = ask(&runtime, "joe1", &json!({})).await;
    assert_eq!((status, &body["code"]), (502, &json!("table-not-found")));
}
