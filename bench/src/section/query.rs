//! What the executor adds to the SDK, and what a plan saves against a filter and a scan.

mod raw;
mod requests;
mod stage;
mod units;

use std::time::Instant;

use anyhow::ensure;
use cpu_time::ThreadTime;

use crate::report::{Bars, Plot, Table};
use crate::{Goal, Report, Setting, Spread, figure};
use requests::{Question, REQUESTS};
use stage::QueryStage;

/// Calls before the first one that counts.
const WARM_UP_CALLS: usize = 20;

/// Times of a call, in microseconds, one for each round.
#[derive(Debug, Default)]
struct Times {
    cpu: Vec<f64>,
    wall: Vec<f64>,
}

/// A question asked in both ways.
struct ComparedQuestion {
    name: &'static str,
    kind: Question,
    raw: Times,
    ours: Times,
    /// Requests and read units, raw and ours.
    spent: [stage::Spent; 2],
}

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let (events, calls) = setting.scale.of((2000, 50), (20_000, 1000));
    let runtime = super::one_thread()?;
    runtime.block_on(async {
        let stage = QueryStage::new(events).await?;
        let mut asked = Vec::new();
        for (name, kind) in REQUESTS {
            asked.push(ask(&stage, name, kind, calls).await?);
        }
        let mut report = report(&asked, events);
        units::add(&stage, setting.scale, &mut report).await?;
        Ok(report)
    })
}

async fn ask(
    stage: &QueryStage,
    name: &'static str,
    kind: Question,
    calls: usize,
) -> anyhow::Result<ComparedQuestion> {
    let (raw, ours) = (stage.raw(kind).await?, stage.ours(kind).await?);
    ensure!(raw.ids == ours.ids && !ours.ids.is_empty(), "{name}: the two answers differ");
    let mut asked = ComparedQuestion {
        name,
        kind,
        raw: Times::default(),
        ours: Times::default(),
        spent: [raw.spent, ours.spent],
    };
    for call in 0..WARM_UP_CALLS + calls {
        for turn in 0..2 {
            // Each goes first as often as the other.
            let is_raw = (turn + call) % 2 == 0;
            let (cpu, wall) = (ThreadTime::now(), Instant::now());
            if is_raw {
                stage.raw(kind).await?
            } else {
                stage.ours(kind).await?
            };
            let (cpu, wall) = (cpu.elapsed(), wall.elapsed());
            if call >= WARM_UP_CALLS {
                let times = if is_raw { &mut asked.raw } else { &mut asked.ours };
                times.cpu.push(cpu.as_secs_f64() * 1e6);
                times.wall.push(wall.as_secs_f64() * 1e6);
            }
        }
    }
    Ok(asked)
}

fn report(asked: &[ComparedQuestion], events: usize) -> Report {
    let about = format!(
        "One question about {} events on the embedded DynamoDB: by the SDK alone, with code written by hand for the right index, and by Keyfold from a request, which it checks, plans, runs, merges and completes. The CPU is that of the client's thread; the server has its own.",
        figure::count(events as u64)
    );
    let mut report = Report::new("3. Queries", &about);
    let columns = [
        "",
        "SDK, CPU µs",
        "ours, CPU µs",
        "CPU",
        "goal",
        "SDK, wall µs",
        "ours, wall µs",
        "wall",
        "requests",
        "read units",
    ];
    let mut table = Table::new("One answer. Requests and read units: SDK / ours.", columns);
    let mut bars = Bars::new("query", "CPU of the client for one answer", "microseconds");
    for asked in asked {
        let cpu = Spread::of_ratios(&asked.ours.cpu, &asked.raw.cpu);
        let ComparedQuestion { name, raw, ours, spent: [by_sdk, by_us], .. } = asked;
        table.row([
            (*name).to_owned(),
            figure::spread(Spread::of(&raw.cpu)),
            figure::spread(Spread::of(&ours.cpu)),
            figure::ratio(cpu),
            Goal::cell(asked.kind.goal(), cpu),
            figure::spread(Spread::of(&raw.wall)),
            figure::spread(Spread::of(&ours.wall)),
            figure::ratio(Spread::of_ratios(&ours.wall, &raw.wall)),
            format!("{} / {}", by_sdk.requests, by_us.requests),
            format!("{} / {}", by_sdk.units, by_us.units),
        ]);
        bars.peer(format!("{name}: SDK"), Spread::of(&raw.cpu));
        bars.ours(format!("{name}: ours"), Spread::of(&ours.cpu));
        report.notes.push(figure::verdict(
            &format!("{name}, wall"),
            "the SDK alone",
            Spread::of_ratios(&ours.wall, &raw.wall),
            asked.kind.why(),
        ));
    }
    report.tables.push(table);
    report.plots.push(Plot::Bars(bars));
    report
}
