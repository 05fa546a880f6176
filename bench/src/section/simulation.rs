//! How many histories of the retrofit the simulator plays in a second, and what other protocols lose in the same ones.

use std::time::Instant;

use anyhow::ensure;
use keyfold_core::retrofit::Protocol;
use keyfold_testkit::simulate::races::{Conditions, Racer, played};
use keyfold_testkit::simulate::{Campaign, Scenario};

use crate::report::{Bars, Plot, Table};
use crate::{Report, Setting, Spread, figure};

const PROTOCOLS: [(Protocol, &str); 3] = [
    (Protocol::InPlace, "in place"),
    (Protocol::Fenced, "fence and tombstone"),
    (Protocol::Ledger, "ledger"),
];
/// Where the seeds begin. They go on round by round, so that no round plays what another has played.
const SEED: u64 = 1;

/// What is lost is told of so many histories.
const RACES: u64 = 10_000;

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let (rounds, histories) = setting.scale.of((3, 200), (7, 2000));
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let mut rates = PROTOCOLS.map(|_| [Vec::new(), Vec::new()]);
    for round in 0..rounds {
        for (at, (protocol, name)) in PROTOCOLS.iter().enumerate() {
            for (which, threads) in [1, threads].into_iter().enumerate() {
                let seed = SEED + round * histories;
                rates[at][which].push(rate(
                    *protocol,
                    name,
                    Campaign { seed, histories, mutant: None, threads },
                )?);
            }
        }
    }
    let mut report = report(&rates, threads);
    report.tables.push(races(setting.scale.of(500, RACES))?);
    Ok(report)
}

/// The race suite: the same writers, four protocols.
fn races(histories: u64) -> anyhow::Result<Table> {
    let scenario = Scenario::of(Protocol::Fenced);
    let mut columns = vec![String::new()];
    columns.extend(Conditions::ALL.iter().map(|conditions| conditions.name().to_owned()));
    let caption = "Of 10,000 histories, those after which the target is not what writers wrote. Four protocols, the same writers; \
        what goes wrong grows from column to column (`--bin races` says more).";
    let mut table = Table { caption: caption.to_owned(), columns, rows: Vec::new() };
    for racer in Racer::ALL {
        let sums = Conditions::ALL.iter().map(|one| played(&scenario, *racer, *one, 0..histories));
        let sums: Vec<_> = sums.collect();
        let lost = sums.iter().map(|sum| sum.wrong + sum.stuck).sum::<u64>();
        ensure!(*racer != Racer::Fences || lost == 0, "{lost} histories of Keyfold's protocol end wrong");
        let cells = sums.iter().map(|sum| sum.per(sum.wrong, RACES));
        table.row(std::iter::once(racer.name().to_owned()).chain(cells));
    }
    Ok(table)
}

/// Histories per second. All of them must end right.
fn rate(protocol: Protocol, name: &str, campaign: Campaign) -> anyhow::Result<f64> {
    let scenario = Scenario::of(protocol);
    let begun = Instant::now();
    let tally = campaign.play(&scenario);
    let seconds = begun.elapsed().as_secs_f64();
    if let Some((seed, wrong)) = tally.wrong {
        anyhow::bail!("{name}: the history of seed {seed} ends wrong: {wrong}");
    }
    ensure!(tally.histories == campaign.histories, "{name}: {} histories were played", tally.histories);
    Ok(tally.histories as f64 / seconds)
}

fn report(rates: &[[Vec<f64>; 2]; 3], threads: u64) -> Report {
    let mut report = Report::new(
        "8. Simulation",
        "A history is one simulated retrofit from start to end in memory, with writers, faults, repairs and checks. The more histories run per second, the more mistakes they find before a change is merged.",
    );
    let columns = ["", "1 thread", &format!("{threads} threads"), "more by threads"];
    let mut table = Table::new("Histories per second.", columns);
    let mut bars =
        Bars::new("simulation", &format!("Simulated retrofits, {threads} threads"), "histories per second");
    for ((_, name), [one, all]) in PROTOCOLS.iter().zip(rates) {
        table.row([
            (*name).to_owned(),
            figure::spread(Spread::of(one)),
            figure::spread(Spread::of(all)),
            figure::ratio(Spread::of_ratios(all, one)),
        ]);
        bars.ours(*name, Spread::of(all));
    }
    report.tables.push(table);
    report.plots.push(Plot::Bars(bars));
    report
}
