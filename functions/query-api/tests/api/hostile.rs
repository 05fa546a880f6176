//! Events that nobody should send. One process answers them all.

use keyfold_harness::{hostile, samples, survives};
use keyfold_local::runtime_api::{InvocationResult, RuntimeApi};
use serde_json::Value;

use crate::TOKEN_KEYS;
use crate::answers::filled;
use crate::events::{Function, manifest_file};

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
        ],
    );
    let samples = samples("query-api", &["query", "question", "function-url-iam", "forged-token"]);
    let events = hostile(samples.iter().map(String::as_str));
    let answered = survives(&events, async |event| {
        let outcome = runtime.invoke(event).await;
        // What is JSON has a response; what is none is the runtime's to refuse.
        assert!(status(&outcome).is_none_or(|status| status < 500), "{outcome:?}");
        outcome
    });
    assert!(answered.await > 500);
    assert_eq!(status(&runtime.invoke(samples[0].as_str()).await), Some(200));
    assert!(function.is_running());
}
