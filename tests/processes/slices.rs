//! A function that takes slices, the backfiller or the verifier: its real binary, invoked again and again with the checkpoint
//! of the answer before, as the state machine does; it can be killed at any time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use keyfold_local::runtime_api::InvocationResult;
use keyfold_local::{FunctionOptions, LocalFunction};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::deployment::Deployment;
use crate::programs::program;

/// Segments, and processes.
const SEGMENTS: usize = 3;
/// Pages of an invocation, so that there are many.
const PAGES_MAX: u32 = 1;
/// Capacity units in a second for each segment, so that a pass lasts while others write.
const RATE: u32 = 1200;
/// Maximum failed invocations: more show a permanent error.
const FAILURES_MAX: usize = 200;
/// The pause after one.
const FAILURE_PAUSE: Duration = Duration::from_millis(10);

/// A function, and the passes that it is made to do.
pub(crate) struct Slices {
    function: Arc<LocalFunction>,
    stop: Arc<AtomicBool>,
    task: JoinHandle<(u64, Vec<Value>)>,
}

impl Slices {
    /// Lets it do passes over all segments, one pass after the other. `side` is the verifier's.
    pub(crate) fn start(
        deployment: &Deployment,
        name: &'static str,
        retrofit: &'static str,
        side: Option<&'static str>,
    ) -> Slices {
        let options = FunctionOptions::of(program(name))
            .env("KEYFOLD_MANIFEST", deployment.manifest().to_str().unwrap())
            .env("KEYFOLD_ENDPOINT", deployment.dynamo.endpoint());
        let log = Some(deployment.folder.path().join(format!("{name}.log")));
        let function =
            Arc::new(LocalFunction::new(FunctionOptions { concurrency: SEGMENTS, log, ..options }));
        let stop = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(passes(Arc::clone(&function), retrofit, side, Arc::clone(&stop)));
        Slices { function, stop, task }
    }

    /// Kills one of its processes, if one is at an invocation; was one?
    pub(crate) fn kill(&self, pick: usize) -> bool {
        self.function.kill(pick) == Some(true)
    }

    /// Ends it after one whole pass more; how many there were, and the last answer of each segment.
    pub(crate) async fn finish(self) -> (u64, Vec<Value>) {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

async fn passes(
    function: Arc<LocalFunction>,
    retrofit: &'static str,
    side: Option<&'static str>,
    stop: Arc<AtomicBool>,
) -> (u64, Vec<Value>) {
    let mut done = 0;
    loop {
        let last = stop.load(Ordering::Relaxed);
        let ends = join_all((0..SEGMENTS).map(|segment| {
            let mut event = json!({
                "retrofit": retrofit, "segment": segment, "totalSegments": SEGMENTS, "pagesMax": PAGES_MAX,
                "worker": format!("worker {segment}"),
            });
            if let Some(side) = side {
                event["side"] = json!(side);
                // Functions are killed more often than a patient comparison takes.
                event["lagSeconds"] = json!(0);
            }
            if !last {
                event["rate"] = json!(RATE);
            }
            to_its_end(&function, event)
        }))
        .await;
        done += 1;
        if last {
            return (done, ends);
        }
    }
}

/// Slice after slice, each failed one again, until the segment is done; the last answer.
async fn to_its_end(function: &LocalFunction, mut event: Value) -> Value {
    let mut failures = 0;
    loop {
        match function.invoke(event.to_string()).await {
            InvocationResult::Response(text) => {
                failures = 0;
                let answer: Value = serde_json::from_str(&text).unwrap();
                if answer["done"] == true {
                    return answer;
                }
                event["checkpoint"] = answer["checkpoint"].clone();
            }
            other => {
                failures += 1;
                assert!(failures < FAILURES_MAX, "{event}: {other:?}");
                tokio::time::sleep(FAILURE_PAUSE).await;
            }
        }
    }
}
