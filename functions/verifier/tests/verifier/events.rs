//! Every event in `events/verifier`, one after another, with its outcome and the tables afterwards.

use std::collections::BTreeMap;

use keyfold_core::retrofit::Mapping;
use keyfold_core::value::AttributeValue;
use keyfold_dynamo::{Expected, delete, put};
use keyfold_local::runtime_api::InvocationResult;
use serde_json::{Value, json};

use crate::BINARY;
use crate::carried;
use keyfold_harness::{self as harness, Function, SAMPLE};

/// The outcome in a form that is the same every time: how often a checkpoint is stored depends on the clock.
fn shown(outcome: &InvocationResult) -> String {
    match outcome {
        InvocationResult::Response(text) => {
            let mut answer: Value = serde_json::from_str(text).unwrap();
            if answer["units"]["control"].as_f64().is_some_and(|units| units > 0.0) {
                answer["units"]["control"] = json!("some");
            }
            // How much is read is for the tests of the comparison.
            if answer["units"]["read"].as_f64().is_some_and(|units| units > 0.0) {
                answer["units"]["read"] = json!("some");
            }
            // A mark is another each time.
            if answer["checkpoint"]["mark"].is_string() {
                answer["checkpoint"]["mark"] = json!("MARK");
            }
            serde_json::to_string_pretty(&answer).unwrap()
        }
        InvocationResult::Error(text) => {
            let error: Value = serde_json::from_str(text).unwrap();
            let text = |name: &str| error[name].as_str().unwrap().to_owned();
            format!("failed: {}\n{}", text("errorType"), text("errorMessage"))
        }
        other => format!("{other:?}"),
    }
}

/// A table and its copy, with a missing item, a ghost, a changed item and a foreign item.
async fn differing() -> Function {
    let function = Function::start(BINARY, SAMPLE).await;
    function.create(function.table("audit-legacy"), true).await;
    function.create(function.table("audit"), true).await;
    function.load("audit-legacy", (0..24).map(|at| format!("event-{at:02}"))).await;
    for retrofit in ["auditV2", "auditInPlace"] {
        function.begin(retrofit, |head| head).await;
    }
    function.backfill("auditV2").await;
    let (client, old, new) =
        (function.dynamo.client(), function.table("audit-legacy"), function.table("audit"));
    delete(&client, new, &carried::key("event-03"), &Expected::nothing()).await.unwrap();
    delete(&client, old, &carried::key("event-07"), &Expected::nothing()).await.unwrap();
    let mut changed = harness::event("event-11");
    changed.insert("accessedBy".to_owned(), AttributeValue::S("jane2".to_owned()));
    put(&client, old, changed).await.unwrap();
    put(&client, new, harness::event("nobodys")).await.unwrap();
    function
}

/// The event of a comparison without writers, whose differences need no recheck for minutes.
fn hasty(event: &str) -> String {
    match serde_json::from_str(event) {
        Ok(Value::Object(mut members)) => {
            members.insert("lagSeconds".to_owned(), json!(0));
            Value::Object(members).to_string()
        }
        _ => event.to_owned(),
    }
}

#[tokio::test]
async fn every_event_has_its_outcome() {
    let function = differing().await;
    let hash = |retrofit| Mapping::of(&function.model, retrofit).unwrap().hash().to_string();
    let (mapping, in_place) = (hash("auditV2"), hash("auditInPlace"));
    let events = keyfold_harness::events("verifier");
    assert!(events.len() >= 15);
    for (name, event) in &events {
        let before = function.everything().await;
        let outcome = function.invoke(hasty(&event.replace("MAPPING", &mapping))).await;
        insta::assert_snapshot!(
            name.as_str(),
            shown(&outcome).replace(&mapping, "MAPPING").replace(&in_place, "MAPPING-IN-PLACE")
        );
        let after = function.everything().await;
        if matches!(outcome, InvocationResult::Error(_)) {
            assert_eq!(after, before, "{name} has written something");
        }
        let tables = |all: &BTreeMap<String, Vec<String>>| {
            [function.table("audit-legacy"), function.table("audit")].map(|table| all[&table.name].clone())
        };
        assert_eq!(
            tables(&after) != tables(&before),
            name.contains("-repair-"),
            "{name}: only a repair writes"
        );
    }
    tells_names_and_numbers(&events, function);
}

fn tells_names_and_numbers(events: &[(String, String)], function: Function) {
    let lines = function.end();
    let metrics: Vec<_> = lines.iter().filter(|line| line.get("_aws").is_some()).collect();
    let logs: Vec<_> = lines.iter().filter(|line| line["message"] == "slice").collect();
    assert_eq!((metrics.len(), logs.len()), (events.len(), events.len()));
    let at = |name: &str| events.iter().position(|(known, _)| known == name).unwrap();
    assert_eq!(metrics[at("01-source")]["ItemsDiffering"], 2.0);
    assert_eq!(logs[at("02-target")]["pass"], "verify-target");
    let text = lines.iter().map(Value::to_string).collect::<String>();
    for value in ["123bbb", "joe1", "jane2", "event-", "nobodys", "2017-03-01"] {
        assert!(!text.contains(value), "the log shows `{value}`");
    }
}
