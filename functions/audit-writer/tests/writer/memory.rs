//! The peak memory of a process, against the memory that the template gives it.

use std::fmt::Write;

use keyfold_harness::endless;
use keyfold_local::runtime_api::InvocationResult;
use serde_json::json;

use crate::function::{Function, SAMPLE, event, parts, request};

/// Half of the memory that the template gives the function: 512 MB.
const PEAK_KB_MAX: u64 = 256 * 1024;

/// A list of events, each with this value as an attribute.
fn events(count: usize, value: &str) -> String {
    let mut text = String::from("[");
    for at in 0..count {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(
            text,
            r#"{comma}{{"id":"{at}-{}","resourceId":"r","action":"viewed","accessedBy":"joe1","timestamp":"2017-03-01T08:00:00Z","value":{value}}}"#,
            value.len()
        );
    }
    text + "]"
}

fn list(value: &str, times: usize) -> String {
    format!("[{}]", vec![value; times].join(","))
}

/// Bodies that take much memory for their size, the bounds on sizes and counts kept or not.
fn bodies() -> Vec<(&'static str, String)> {
    let deep = format!("{}{}", "[".repeat(30), "]".repeat(30));
    let named: Vec<String> = (0..480).map(|at| format!(r#""{at}":{{}}"#)).collect();
    vec![
        ("as many values as fit", events(100, &list("[]", 490))),
        ("as many maps as fit", events(100, &format!("{{{}}}", named.join(",")))),
        ("as deep as fits", events(100, &list(&deep, 15))),
        ("as many numbers as fit", events(100, &list("12345678901234567890123456789012345678", 490))),
        ("more values than fit", events(100, &list("[]", 4900))),
        ("more maps than fit", events(100, &list("{}", 4900))),
        ("more depth than fits", events(100, &list(&deep, 160))),
        ("large texts", events(15, &format!("{:?}", "x".repeat(380_000)))),
        ("large escaped texts", events(15, &format!("\"{}\"", "\\u0001".repeat(60_000)))),
        ("2.8 MB of one event", events(1, &list("[]", 930_000))),
    ]
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "the person who runs the test reads the figures")]
async fn the_process_stays_below_half_of_its_memory() {
    let function = Function::start(SAMPLE, &[]).await;
    for (what, body) in bodies() {
        for _ in 0..2 {
            let http = request(&body, &json!({ "jwt": { "claims": { "sub": "service1" } } }));
            let outcome = function.invoke(http).await;
            let InvocationResult::Response(text) = outcome else { panic!("{what}: {outcome:?}") };
            let fits = what.contains("as fit") || what.starts_with("large");
            assert_eq!(parts(&text).0 < 300, fits, "{what}: {text}");
        }
        // Ten messages of a queue come together.
        let part = &body[..body.len().min(250_000)];
        let part = part.rfind("},{").map_or_else(|| body.clone(), |end| format!("{}}}]", &part[..end]));
        let message = json!({
            "eventSource": "aws:sqs", "messageId": "m", "body": part,
            "attributes": { "SentTimestamp": "1488355200123", "SenderId": "AIDA" },
        });
        let batch = json!({ "Records": vec![message; 10] }).to_string();
        if batch.len() <= 6 << 20 {
            let outcome = function.invoke(batch).await;
            assert!(matches!(outcome, InvocationResult::Response(_)), "{what}: {outcome:?}");
        }
        println!("{:>4} MB  {what}, {} kB", function.peak_kb() / 1024, body.len() / 1000);
        assert!(function.peak_kb() < PEAK_KB_MAX, "{what}: {} kB", function.peak_kb());
    }
    assert_eq!(function.post(&event("last", &json!({})).to_string()).await.0, 201);
}

/// An endpoint other than DynamoDB can send anything.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "the person who runs the test reads the figures")]
async fn an_answer_without_end_does_not_fill_the_memory() {
    let reading = Function::start(SAMPLE, &[]).await;
    for (begin, again) in [
        (r#"{"Responses":["#, r#"{"TableName":"x"},"#),
        (r#"{"Responses":[{"Error":{"Item":{"a":{"L":["#, r#"{"NULL":true},"#),
        (r#"{"x":""#, "xxxxxxxx"),
    ] {
        let endpoint = endless(begin, again).await;
        let function = Function::start_on(reading.dynamo(), &endpoint, SAMPLE, &[]).await;
        let list: Vec<_> = (0..100).map(|at| event(&at.to_string(), &json!({}))).collect();
        let (status, body) = function.post(&json!(list).to_string()).await;
        println!("{:>4} MB  {begin}{again}", function.peak_kb() / 1024);
        assert!(status >= 500, "{body}");
        assert!(function.peak_kb() < 2 * PEAK_KB_MAX, "{begin}: {} kB", function.peak_kb());
    }
}
