//! What one caller may ask in a minute and consume in a day, counted by the real binary in a table of its own.

use keyfold_core::manifest;
use keyfold_dynamo::{BUDGET_KEY, BudgetError, CallerBudget, TableOptions};
use keyfold_local::EmbeddedDynamo;
use keyfold_local::runtime_api::{InvocationResult, RuntimeApi};
use serde_json::{Value, json};

use crate::TOKEN_KEYS;
use crate::answers::filled;
use crate::events::{Function, manifest_file};
use crate::request::{Sent, member};

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

/// The response to one question of a caller: status, body, `Retry-After`.
async fn ask(runtime: &RuntimeApi, subject: &str, more: &Value) -> (u64, Value, Option<u64>) {
    let mut asked = json!({ "table": "orders" });
    asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let outcome = runtime.invoke(Sent::query(&asked).by(member(subject, "acme")).event()).await;
    let InvocationResult::Response(text) = outcome else { panic!("{outcome:?}") };
    let response: Value = serde_json::from_str(&text).unwrap();
    let header = |name: &str| {
        let value = [&response["headers"], &response["multiValueHeaders"]]
            .into_iter()
            .find_map(|all| all.get(name))?;
        value.as_str().or_else(|| value[0].as_str())?.parse().ok()
    };
    let body = serde_json::from_str(response["body"].as_str().unwrap()).unwrap();
    (response["statusCode"].as_u64().unwrap(), body, header("retry-after"))
}

#[tokio::test]
async fn a_caller_has_so_many_requests_in_a_minute_and_others_have_theirs() {
    let (dynamo, runtime, manifest) =
        (with_callers().await, RuntimeApi::start().await.unwrap(), manifest_file());
    let variables = [
        ("KEYFOLD_MANIFEST", manifest.path().to_str().unwrap()),
        ("KEYFOLD_ENDPOINT", dynamo.endpoint()),
        ("KEYFOLD_TOKEN_KEYS", TOKEN_KEYS),
        ("KEYFOLD_CALLER_TABLE", CALLERS),
        ("KEYFOLD_CALLER_REQUESTS_PER_MINUTE", "3"),
    ];
    let _function = Function::start(&runtime, &variables);
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
    let (dynamo, runtime, manifest) =
        (with_callers().await, RuntimeApi::start().await.unwrap(), manifest_file());
    let variables = [
        ("KEYFOLD_MANIFEST", manifest.path().to_str().unwrap()),
        ("KEYFOLD_ENDPOINT", dynamo.endpoint()),
        ("KEYFOLD_TOKEN_KEYS", TOKEN_KEYS),
        ("KEYFOLD_CALLER_TABLE", CALLERS),
        ("KEYFOLD_CALLER_CLAIM", "jwt.org"),
        ("KEYFOLD_CALLER_UNITS_PER_DAY", "4"),
    ];
    let _function = Function::start(&runtime, &variables);
    let mut consumed = 0.0;
    let (body, wait) = loop {
        // Two people of one organisation consume one budget.
        let subject = if consumed < 2.0 { "joe1" } else { "jane" };
        let (status, body, wait) = ask(&runtime, subject, &json!({})).await;
        match status {
            200 => consumed += body["consumedReadUnits"].as_f64().unwrap(),
            _ => break (body, wait),
        }
        assert!(consumed <= 8.0, "nothing is refused");
    };
    assert_eq!((&body["code"], &body["status"]), (&json!("caller-units-exceeded"), &json!(429)));
    // What was reserved and not consumed is given back. The day may end while the test runs.
    assert!(consumed >= 4.0, "{consumed}");
    assert!(wait.is_some_and(|seconds| (1..=86_400).contains(&seconds)), "{wait:?}");
}

#[tokio::test]
async fn callers_who_ask_at_once_do_not_exceed_the_budget_together() {
    let dynamo = with_callers().await;
    let budget =
        CallerBudget { table: CALLERS.to_owned(), requests_per_minute: Some(7), units_per_day: Some(5.0) };
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let (budget, client) = (budget.clone(), dynamo.client());
        all.spawn(async move {
            let is_counted = budget.count(&client, "joe1", 1_000_000).await.is_ok();
            let units = match budget.reserve(&client, "joe1", 1.0, 1_000_000).await {
                Ok(reserved) => reserved.unwrap().units,
                Err(BudgetError::Units { retry_after_seconds, .. }) => {
                    assert_eq!(retry_after_seconds, 86_400 - 1_000_000 % 86_400);
                    0.0
                }
                Err(error) => panic!("{error}"),
            };
            (is_counted, units)
        });
    }
    let done = all.join_all().await;
    assert_eq!(done.iter().filter(|(is_counted, _)| *is_counted).count(), 7);
    let reserved: f64 = done.iter().map(|(_, units)| units).sum();
    assert!(reserved <= 5.0 && reserved > 4.0, "{reserved}");
}

#[tokio::test]
async fn a_row_of_another_version_is_refused_and_stays() {
    let dynamo = with_callers().await;
    let budget =
        CallerBudget { table: CALLERS.to_owned(), requests_per_minute: Some(7), units_per_day: Some(5.0) };
    let client = dynamo.client();
    budget.count(&client, "joe1", 1_000_000).await.unwrap();
    let reserved = budget.reserve(&client, "joe1", 1.0, 1_000_000).await.unwrap().unwrap();
    let rows = || async { client.scan().table_name(CALLERS).send().await.unwrap().items.unwrap_or_default() };
    for mut row in rows().await {
        let other = row["expires"].clone();
        row.insert("v".to_owned(), other);
        client.put_item().table_name(CALLERS).set_item(Some(row)).send().await.unwrap();
    }
    let before = rows().await;
    let refusals = [
        budget.count(&client, "joe1", 1_000_000).await.unwrap_err(),
        budget.reserve(&client, "joe1", 1.0, 1_000_000).await.unwrap_err(),
        budget.settle(&client, reserved, 0.5).await.unwrap_err(),
    ];
    for error in refusals {
        assert_eq!(error.code(), "unknown-format", "{error}");
    }
    assert_eq!((before.len(), rows().await), (2, before));
}

#[tokio::test]
async fn without_the_table_nobody_is_answered() {
    let (dynamo, runtime, manifest) = (filled().await, RuntimeApi::start().await.unwrap(), manifest_file());
    let variables = [
        ("KEYFOLD_MANIFEST", manifest.path().to_str().unwrap()),
        ("KEYFOLD_ENDPOINT", dynamo.endpoint()),
        ("KEYFOLD_TOKEN_KEYS", TOKEN_KEYS),
        ("KEYFOLD_CALLER_TABLE", CALLERS),
        ("KEYFOLD_CALLER_REQUESTS_PER_MINUTE", "3"),
    ];
    let _function = Function::start(&runtime, &variables);
    let (status, body, _) = ask(&runtime, "joe1", &json!({})).await;
    assert_eq!((status, &body["code"]), (502, &json!("table-not-found")));
}
