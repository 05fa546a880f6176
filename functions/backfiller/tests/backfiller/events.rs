//! Every event in `events/backfiller`, one after another, with its outcome and the tables afterwards.

use keyfold_core::retrofit::Mapping;
use keyfold_core::value::AttributeValue;
use keyfold_local::runtime_api::InvocationResult;
use serde_json::{Value, json};

use crate::BINARY;
use keyfold_harness::{Function, SAMPLE};

/// The outcome in a form that is the same every time: how often a checkpoint is stored depends on the clock.
fn shown(outcome: &InvocationResult) -> String {
    match outcome {
        InvocationResult::Response(text) => {
            let mut answer: Value = serde_json::from_str(text).unwrap();
            if answer["units"]["control"].as_f64().is_some_and(|units| units > 0.0) {
                answer["units"]["control"] = json!("some");
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

#[tokio::test]
async fn every_event_has_its_outcome() {
    let function = Function::start(BINARY, SAMPLE).await;
    function.create(function.table("audit-legacy"), true).await;
    function.create(function.table("audit"), true).await;
    function.load("audit-legacy", (0..24).map(|at| format!("event-{at:02}"))).await;
    function.load("audit", (0..12).map(|at| format!("late-{at:02}"))).await;
    for retrofit in ["auditV2", "auditInPlace"] {
        function.begin(retrofit, |head| head).await;
    }
    let hash = |retrofit| Mapping::of(&function.model, retrofit).unwrap().hash().to_string();
    let (mapping, in_place) = (hash("auditV2"), hash("auditInPlace"));
    let events = keyfold_harness::events("backfiller");
    assert!(events.len() >= 15);
    for (name, event) in &events {
        let before = function.everything().await;
        let outcome = function.invoke(event.replace("MAPPING", &mapping)).await;
        insta::assert_snapshot!(
            name.as_str(),
            shown(&outcome).replace(&mapping, "MAPPING").replace(&in_place, "MAPPING-IN-PLACE")
        );
        if matches!(outcome, InvocationResult::Error(_)) || name.contains("dry-run") {
            assert_eq!(function.everything().await, before, "{name} has written something");
        }
    }
    let items = function.items("audit").await;
    assert_eq!(items.len(), 24 + 12);
    for item in &items {
        for (name, wanted) in function.table("audit").folded(item).unwrap() {
            assert_eq!(item.get(name), wanted.map(AttributeValue::S).as_ref(), "{name}");
        }
    }
    tells_names_and_numbers(&events, function);
}

fn tells_names_and_numbers(events: &[(String, String)], function: Function) {
    let lines = function.end();
    let metrics: Vec<_> = lines.iter().filter(|line| line.get("_aws").is_some()).collect();
    let logs: Vec<_> = lines.iter().filter(|line| line["message"] == "slice").collect();
    assert_eq!((metrics.len(), logs.len()), (events.len(), events.len()));
    let at = |name: &str| events.iter().position(|(known, _)| known == name).unwrap();
    let (slice, resumed) = (at("04-slice"), at("05-resume"));
    let items = |at: usize| (metrics[at]["Items"].as_f64(), metrics[at]["ItemsWritten"].as_f64());
    assert_eq!((items(slice), items(resumed)), ((Some(10.0), Some(10.0)), (Some(14.0), Some(14.0))));
    assert_eq!((&logs[slice]["segment"], &logs[slice]["done"]), (&"0/1".into(), &false.into()));
    let unknown = at("10-unknown-retrofit");
    assert_eq!(
        (&metrics[unknown]["Retrofit"], &metrics[unknown]["Outcome"]),
        (&"unknown".into(), &"failed".into())
    );
    assert_eq!(logs[unknown]["code"], "unknown-retrofit");
    let text = lines.iter().map(Value::to_string).collect::<String>();
    for value in ["123bbb", "joe1", "event-0", "late-0", "2017-03-01"] {
        assert!(!text.contains(value), "the log shows `{value}`");
    }
}
