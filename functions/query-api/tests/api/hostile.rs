//! Hostile events. One process answers them all.

use keyfold_harness::{endless, hostile, peak_kb, samples, survives};
use keyfold_local::runtime_api::{InvocationResult, RuntimeApi};
use serde_json::Value;

use crate::TOKEN_KEYS;
use crate::answers::filled;
use crate::events::{Function, manifest_file};
use crate::request::Sent;
use serde_json::json;

fn status(outcome: &InvocationResult) -> Option<u64> {
    let InvocationResult::Response(text) = outcome else { return None };
    serde_json::from_str::<Value>(text).unwrap()["statusCode"].as_u64()
}

#[tokio::test]
async fn no_event_ends_the_process() {
    let (dynamo, manifest) = (filled().await, manifest_file());
    let runtime = RuntimeApi::start().await.unwrap();
    let mut function = Function::start(
        &runtime,
        &[
            ("KEYFOLD_MANIFEST", manifest.path().to_str().unwrap()),
            ("KEYFOLD_ENDPOINT", dynamo.endpoint()),
            ("KEYFOLD_TOKEN_KEYS", TOKEN_KEYS),
            ("KEYFOLD_WRITE_SCOPE", "records/write"),
        ],
    );
    let samples = samples("query-api", &["query", "question", "function-url-iam", "forged-token"]);
    let events = hostile(samples.iter().map(String::as_str));
    let answered = survives(&events, async |event| {
        let outcome = runtime.invoke(event).await;
        // JSON gets a response; other text is refused by the runtime.
        assert!(status(&outcome).is_none_or(|status| status < 500), "{outcome:?}");
        outcome
    });
    assert!(answered.await > 500);
    assert_eq!(status(&runtime.invoke(samples[0].as_str()).await), Some(200));
    assert!(function.is_running());
}

/// The memory that the template gives the function.
const MEMORY_KB: u64 = 512 * 1024;

/// An endpoint other than DynamoDB can send anything, to all reads of a fan-out at once.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "the person who runs the test reads the figures")]
async fn an_answer_without_end_does_not_fill_the_memory() {
    let manifest = manifest_file();
    for (begin, again) in [
        (r#"{"Items":["#, r#"{"a":{"L":[]}},"#),
        (r#"{"Items":[{"a":{"L":["#, r#"{"NULL":true},"#),
        (r#"{"Items":[{"a":{"SS":["#, r#""","#),
        (r#"{"x":""#, "xxxxxxxx"),
    ] {
        let (runtime, endpoint) = (RuntimeApi::start().await.unwrap(), endless(begin, again).await);
        let variables = [
            ("KEYFOLD_MANIFEST", manifest.path().to_str().unwrap()),
            ("KEYFOLD_ENDPOINT", endpoint.as_str()),
            ("KEYFOLD_TOKEN_KEYS", TOKEN_KEYS),
            ("KEYFOLD_WRITE_SCOPE", "records/write"),
        ];
        let function = Function::start(&runtime, &variables);
        let actions: Vec<String> = (0..50).map(|at| format!("r{at}")).collect();
        let asked = json!({ "table": "audit", "where": { "resourceId": { "in": actions }, "action": "viewed", "accessedBy": "joe1" } });
        let outcome = runtime.invoke(Sent::query(&asked).event()).await;
        println!("{:>4} MB  {begin}{again}: {outcome:?}", peak_kb(function.id()) / 1024);
        assert!(status(&outcome).is_some_and(|status| status >= 500), "{outcome:?}");
        assert!(peak_kb(function.id()) < MEMORY_KB, "{begin}: {} kB", peak_kb(function.id()));
    }
}
