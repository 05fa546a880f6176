//! Every event in `events/audit-writer`, one after another, with its outcome and the table afterwards.

use keyfold_core::value::AttributeValue;
use keyfold_local::runtime_api::InvocationResult;
use serde_json::Value;

use crate::function::{Function, SAMPLE};

fn pretty(text: &str) -> String {
    serde_json::to_string_pretty(&serde_json::from_str::<Value>(text).unwrap()).unwrap()
}

/// The outcome in a form that is the same every time.
fn shown(outcome: &InvocationResult) -> String {
    match outcome {
        InvocationResult::Response(text) => {
            let response: Value = serde_json::from_str(text).unwrap();
            let Some(body) = response["body"].as_str() else { return pretty(text) };
            let headers = serde_json::to_string_pretty(&response["headers"]).unwrap();
            format!("{}\n{headers}\n{}", response["statusCode"], pretty(body))
        }
        InvocationResult::Error(text) => {
            let mut error: Value = serde_json::from_str(text).unwrap();
            let message = error["errorMessage"].take();
            format!("failed: {}\n{}", error["errorType"], pretty(message.as_str().unwrap()))
        }
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn every_event_has_its_outcome() {
    let function = Function::start(SAMPLE, &[]).await;
    let events = keyfold_harness::events("audit-writer");
    assert!(events.len() >= 30);
    for (name, event) in &events {
        let outcome = function.invoke(event.as_str()).await;
        insta::assert_snapshot!(name.as_str(), shown(&outcome));
    }
    let items = function.items().await;
    let mut ids: Vec<String> = Vec::new();
    for item in &items {
        // In all indexes at once: every folded key is present and correct.
        for (name, wanted) in function.table.folded(item).unwrap() {
            assert!(wanted.is_some(), "{name}");
            assert_eq!(item.get(name), wanted.map(AttributeValue::S).as_ref(), "{name}");
        }
        let AttributeValue::S(id) = &item["id"] else { panic!() };
        ids.push(id.clone());
    }
    ids.sort();
    insta::assert_snapshot!("ids-in-the-table", ids.join("\n"));
    tells_names_and_numbers(&events, function);
}

fn tells_names_and_numbers(events: &[(String, String)], function: Function) {
    let lines = function.end();
    let metrics: Vec<_> = lines.iter().filter(|line| line.get("_aws").is_some()).collect();
    let logs: Vec<_> = lines.iter().filter(|line| line["message"] == "invocation").collect();
    assert_eq!((metrics.len(), logs.len()), (events.len(), events.len()));
    let at = |name: &str| events.iter().position(|(known, _)| known == name).unwrap();
    let partly = logs[at("05-http-batch-partly")];
    assert_eq!(
        (&partly["written"], &partly["repeated"], &partly["failed"]),
        (&2.into(), &1.into(), &2.into())
    );
    assert_eq!(
        (&partly["code"], &partly["request_id"]),
        (&"partly-written".into(), &"JKJaXmPLvHcESHA=".into())
    );
    assert_eq!(metrics[at("30-sqs-poison")]["EventsFailed"], 1.0);
    let text = lines.iter().map(Value::to_string).collect::<String>();
    for value in ["123bbb", "joe1", "event-0", "event-3", "derived", "2017-03-01"] {
        assert!(!text.contains(value), "the log shows `{value}`");
    }
}
