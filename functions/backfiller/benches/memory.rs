//! The peak memory of the real binary, as the system counts it, after 100,000 and after 1,000,000 items.
//!
//! Each size has its own table on the embedded DynamoDB and its own process, which is invoked with the checkpoint of
//! the previous answer until the segment is done. It must stay under 64 MB, and must not grow with the table.
//!
//! ```text
//! cargo bench -p keyfold-backfiller --bench memory [-- 100000 1000000]
//! ```
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for the terminal")]

use std::collections::HashMap;
use std::time::Instant;

use keyfold_core::manifest;
use keyfold_core::model::Table;
use keyfold_core::retrofit::control::RetrofitState;
use keyfold_core::retrofit::{Epoch, Job, Mapping, TableRole};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::retrofit::RequestSender;
use keyfold_dynamo::{TableOptions, enable_stream, load};
use keyfold_local::EmbeddedDynamo;
use keyfold_local::runtime_api::{InvocationResult, RuntimeApi};
use serde_json::{Value, json};

/// The maximum memory of the process, in kB.
const PEAK_KB_MAX: u64 = 64 * 1024;
/// Maximum invocations before the benchmark fails.
const INVOCATIONS_MAX: usize = 1000;

fn main() {
    let given: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if given.is_empty() { vec![100_000, 1_000_000] } else { given };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    println!("{:>10} {:>12} {:>12} {:>12}", "items", "invocations", "peak, MB", "items/s");
    for items in sizes {
        let (invocations, peak_kb, rate) = runtime.block_on(measure(items));
        println!("{items:>10} {invocations:>12} {:>12.1} {rate:>12.0}", peak_kb as f64 / 1024.0);
        assert!(peak_kb < PEAK_KB_MAX, "{peak_kb} kB");
    }
}

/// Invocations, peak in kB, items in a second.
async fn measure(items: usize) -> (usize, u64, f64) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../keyfold.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let model = manifest::parse("keyfold.toml", &text).model.unwrap();
    let (old, new) = (model.table("audit-legacy").unwrap(), model.table("audit").unwrap());
    let dynamo = EmbeddedDynamo::memory().unwrap();
    dynamo.create_tables([old, new], TableOptions { stream: false }).await.unwrap();
    let plain = Table { indexes: Vec::new(), ..old.clone() };
    load(&dynamo.client(), &plain, futures_util::stream::iter((0..items).map(item))).await.unwrap();
    // The stream is enabled after the items are written: nothing follows it here.
    enable_stream(&dynamo.client(), old).await.unwrap();
    let job = Job::new(Mapping::of(&model, "auditV2").unwrap(), Epoch::FIRST);
    let sender = RequestSender::new(dynamo.client(), job, "keyfold-control");
    dynamo.create_tables([sender.table(TableRole::Control)], TableOptions::default()).await.unwrap();
    let stream = sender.preflight(true).await.unwrap();
    sender.store(&RetrofitState::started(sender.job().mapping(), stream.as_deref()), None).await.unwrap();

    let runtime = RuntimeApi::start().await.unwrap();
    let mut process = runtime
        .command(env!("CARGO_BIN_EXE_backfiller"))
        .env("KEYFOLD_MANIFEST", path)
        .env("KEYFOLD_ENDPOINT", dynamo.endpoint())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let mut event = json!({ "retrofit": "auditV2", "segment": 0, "totalSegments": 1, "rate": 1_000_000, "worker": "bench" });
    let mut invocation = 0;
    loop {
        invocation += 1;
        assert!(invocation <= INVOCATIONS_MAX, "not done after {INVOCATIONS_MAX} invocations");
        let answer = match runtime.invoke(event.to_string()).await {
            InvocationResult::Response(answer) => answer,
            other => panic!("invocation {invocation}: {other:?}"),
        };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        if answer["done"] == true {
            assert_eq!(answer["counts"]["written"], items);
            break;
        }
        event["checkpoint"] = answer["checkpoint"].clone();
    }
    let (peak, rate) = (peak_kb(process.id()), items as f64 / started.elapsed().as_secs_f64());
    process.kill().unwrap();
    process.wait().unwrap();
    (invocation, peak, rate)
}

/// VmHWM of a process.
fn peak_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

fn item(at: usize) -> Item {
    let attributes = [
        ("id", format!("event-{at:08}")),
        ("resourceId", format!("resource-{}", at % 1000)),
        ("action", "viewed".to_owned()),
        ("accessedBy", format!("user-{}", at % 77)),
        ("timestamp", "2017-03-01T08:00:00.000Z".to_owned()),
    ];
    let attributes = attributes.map(|(name, text)| (name.to_owned(), AttributeValue::S(text)));
    HashMap::from(attributes).into()
}
