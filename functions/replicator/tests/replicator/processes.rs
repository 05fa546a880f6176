//! The real process: when its time is up, and when it is killed.

use std::sync::Arc;
use std::time::Duration;

use keyfold_local::FunctionOptions;
use keyfold_local::runtime_api::InvocationResult;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::function::Function;

/// An address that accepts connections and never answers.
async fn silence() -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((socket, _)) = listener.accept().await {
            held.push(socket);
        }
    });
    (address, task)
}

#[tokio::test]
async fn a_batch_ends_before_lambda_ends_it() {
    let (endpoint, task) = silence().await;
    let function = Function::unstarted("moved", |options| FunctionOptions {
        time_max: Duration::from_millis(1500),
        ..options.env("KEYFOLD_ENDPOINT", endpoint)
    })
    .await;
    assert_eq!(function.refusal(&[function.record("1", 1)]).await, "Keyfold.TimedOut");
    task.abort();
}

/// How much is done in a time depends on the machine: a time in which some of it is done, and not all, is found by trying.
#[tokio::test]
async fn what_was_not_done_in_time_is_named() {
    for milliseconds in [1000, 2000, 4000, 8000] {
        // One item at a time, and far more than can be written before the deadline.
        let function = Function::unstarted("moved", |options| FunctionOptions {
            time_max: Duration::from_millis(milliseconds),
            ..options.env("KEYFOLD_CONCURRENCY", "1")
        })
        .await;
        let head = keyfold_dynamo::retrofit::RetrofitState::started(
            function.sender.job().mapping(),
            Some(&function.stream()),
        );
        function.sender.store(&head, None).await.unwrap();
        let records: Vec<Value> =
            (1..=9000).map(|number| function.record(&number.to_string(), number)).collect();
        let event = json!({ "Records": records }).to_string();
        let InvocationResult::Response(answer) = function.invoke(event).await else { continue };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let first: u64 = answer["batchItemFailures"][0]["itemIdentifier"].as_str().unwrap().parse().unwrap();
        if first == 1 {
            continue;
        }
        let written = function.targets().await.len() as u64;
        // The request in flight at the deadline may have been executed: new items are inserted 25 at a time. The
        // assertion sees only the first thousand.
        let seen = (first - 1..first + 25).contains(&written) || written == 1000;
        assert!(seen, "{written} written, from {first} on");
        return;
    }
    panic!("nothing was done in eight seconds");
}

#[tokio::test]
async fn a_killed_process_fails_its_invocation_and_another_takes_the_next() {
    let (endpoint, task) = silence().await;
    let function = Function::unstarted("moved", |options| options.env("KEYFOLD_ENDPOINT", endpoint)).await;
    let function = Arc::new(function);
    let running = tokio::spawn({
        let function = Arc::clone(&function);
        async move {
            let event = json!({ "Records": [function.record("1", 1)] }).to_string();
            function.invoke(event).await
        }
    });
    while function.process.kill(0) != Some(true) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let outcome = running.await.unwrap();
    assert!(matches!(&outcome, InvocationResult::Ended(how) if how.contains("signal: 9")), "{outcome:?}");
    let started = function.process.started();
    let outcome = function.invoke("{}").await;
    assert!(
        matches!(&outcome, InvocationResult::Error(text) if text.contains("MalformedBatch")),
        "{outcome:?}"
    );
    assert_eq!(function.process.started(), started + 1);
    task.abort();
}

#[tokio::test]
async fn invocations_at_once_have_a_process_each() {
    let function =
        Function::unstarted("moved", |options| FunctionOptions { concurrency: 3, ..options }).await;
    let outcomes = tokio::join!(
        function.invoke("{}"),
        function.invoke("{}"),
        function.invoke("{}"),
        function.invoke("{}")
    );
    for outcome in [outcomes.0, outcomes.1, outcomes.2, outcomes.3] {
        assert!(matches!(outcome, InvocationResult::Error(_)), "{outcome:?}");
    }
    assert_eq!(function.process.started(), 3);
}
