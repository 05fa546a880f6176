//! What the retrofit's logic costs beside a raw loop that makes the same calls without any: backfill to a new table, in
//! place, and the replication of stream records, on one endpoint, in one run.
//!
//! Rounds of the two are interleaved, so that whatever else the machine does meets both; medians of the rates are compared,
//! and the CPU of the client's thread, which the server's share of the machine does not touch. The raw loop knows before
//! it begins what each item will be: it folds nothing and compares nothing.
//!
//! ```text
//! cargo bench -p keyfold-local --bench retrofit [-- --items 5000 --rounds 9]
//! ```
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for the terminal")]

#[path = "retrofit/raw.rs"]
mod raw;
#[path = "retrofit/sample.rs"]
mod sample;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use keyfold_core::manifest;
use keyfold_core::model::Model;
use keyfold_core::retrofit::{Checkpoint, Epoch, Job, Mapping, Pass, SegmentId};
use keyfold_dynamo::retrofit::{Carrier, IN_FLIGHT_DEFAULT, SliceOptions, backfill_slice, replicate};
use keyfold_local::EmbeddedDynamo;

/// What part of the raw loop's rate the retrofit must reach.
const TARGET: f64 = 0.90;

#[derive(Clone, Copy, PartialEq)]
enum Work {
    NewTable,
    InPlace,
    Replicate,
}

const WORKS: [(Work, &str); 3] = [
    (Work::NewTable, "backfill to a new table"),
    (Work::InPlace, "backfill in place"),
    (Work::Replicate, "replicate"),
];

fn argument(name: &str, default: usize) -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1).map_or(default, |text| text.parse().unwrap())
}

fn main() {
    let (items, rounds) = (argument("--items", 5000), argument("--rounds", 9));
    let text = include_str!("../../../keyfold.toml");
    let model = manifest::parse("keyfold.toml", text).model.unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!("medians of {rounds} rounds of {items} items, {IN_FLIGHT_DEFAULT} requests at a time");
    println!("{:<26} {:>10} {:>10} {:>7} {:>12} {:>12}", "", "raw/s", "ours/s", "", "raw CPU", "our CPU");
    let mut reached = true;
    for (work, name) in WORKS {
        let mut raw = Vec::new();
        let mut ours = Vec::new();
        for round in 0..=rounds {
            // Each goes first as often as the other.
            for turn in 0..2 {
                let is_raw = (turn + round) % 2 == 0;
                let measured = runtime.block_on(run(&model, work, is_raw, items));
                // The first round warms up.
                if round > 0 {
                    if is_raw { &mut raw } else { &mut ours }.push(measured);
                }
            }
        }
        let ((raw, raw_cpu), (ours, our_cpu)) = (medians(raw), medians(ours));
        let share = ours / raw;
        reached &= share >= TARGET;
        println!(
            "{name:<26} {raw:>10.0} {ours:>10.0} {:>5.1} % {raw_cpu:>12.2?} {our_cpu:>12.2?}",
            100.0 * share
        );
    }
    let said = if reached { "reached" } else { "NOT reached" };
    println!("{:.0} % of the raw loop: {said}", 100.0 * TARGET);
}

fn medians(measured: Vec<(f64, Duration)>) -> (f64, Duration) {
    let (mut rates, mut cpus): (Vec<f64>, Vec<Duration>) = measured.into_iter().unzip();
    rates.sort_unstable_by(f64::total_cmp);
    cpus.sort_unstable();
    (rates[rates.len() / 2], cpus[cpus.len() / 2])
}

/// Items in a second, and the CPU of the client's thread for one.
async fn run(model: &Model, work: Work, is_raw: bool, items: usize) -> (f64, Duration) {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    sample::tables(&dynamo, model, work == Work::InPlace, if work == Work::Replicate { 0 } else { items })
        .await;
    let retrofit = if work == Work::InPlace { "auditInPlace" } else { "auditV2" };
    let job = Job::new(Mapping::of(model, retrofit).unwrap(), Epoch::FIRST);
    let records = if work == Work::Replicate { sample::records(items) } else { Vec::new() };
    let prepared =
        if is_raw { raw::prepare(&job, work == Work::InPlace, items) } else { raw::Prepared::default() };
    let carrier = Carrier::new(client.clone(), job, "keyfold-control");
    let (begun, cpu) = (Instant::now(), ThreadTime::now());
    match (work, is_raw) {
        (Work::Replicate, true) => raw::puts(&client, carrier.job(), prepared).await,
        (_, true) => raw::scan_and_write(&client, carrier.job(), work == Work::InPlace, prepared).await,
        (Work::Replicate, false) => {
            let done = replicate(&carrier, records, IN_FLIGHT_DEFAULT).await;
            assert!(done.failures.is_empty() && done.settled.len() == items);
        }
        (_, false) => {
            let from = Checkpoint::start(carrier.job(), Pass::Backfill, SegmentId::WHOLE);
            let options = SliceOptions::default();
            let end = backfill_slice(&carrier, from, &options, &mut |_| ControlFlow::Continue(())).await;
            assert_eq!(end.checkpoint.count("written"), items as u64, "{:?}", end.error);
        }
    }
    let (cpu, seconds) = (cpu.elapsed() / u32::try_from(items).unwrap(), begun.elapsed().as_secs_f64());
    dynamo.shutdown();
    (items as f64 / seconds, cpu)
}
