//! Retrofits of whole tables by several programs, each in its own process, on one embedded DynamoDB.

mod raw;
mod stage;
mod worker;

use std::process::Command;

use anyhow::{Context, ensure};

use crate::goal::{BACKFILL, MEMORY};
use crate::report::{Report, Table};
use crate::setting::{Scale, Setting};
use crate::spread::{Spread, count};
use crate::{machine, peers};
use stage::{SOURCE, Stage, TARGET};
use worker::Done;
pub(crate) use worker::Work;

const ABOUT: &str = "A table of events gets its folded key, in a new table and in place, while there are no other writers. The raw loop \
makes the same calls as Keyfold by the SDK, with the same bytes, but decides nothing; times and CPU are relative to it. The boto3 script \
is what you write in an afternoon: its puts have no condition, so they overwrite what others write meanwhile. Each program runs in its own \
process, so CPU and memory are its own. If others write at the same time, only Keyfold and the raw loop give a right result, and only \
Keyfold can continue where it stopped.";
const LIMITS: &str = "In place the largest table is smaller, because each program needs a freshly loaded table. There is no stream in \
either case, because the embedded DynamoDB slows down with every change that a stream keeps; `keyfold demo` has writers and a stream. The \
scans have no segments: the embedded DynamoDB reads the whole table for each page of a segment, which DynamoDB does not.";

/// The programs. The others are compared with the first.
const PROGRAMS: [Program; 3] = [Program::Raw, Program::Keyfold, Program::Boto3];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    Raw,
    Keyfold,
    Boto3,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Program::Raw => "raw loop, same calls",
            Program::Keyfold => "Keyfold",
            Program::Boto3 => "boto3 script",
        }
    }

    /// The largest table that it gets: it would take longer than all the others together.
    fn items_max(self, in_place: bool) -> u64 {
        match self {
            Program::Boto3 => {
                if in_place {
                    10_000
                } else {
                    100_000
                }
            }
            Program::Raw | Program::Keyfold => u64::MAX,
        }
    }

    /// Its command; `python` runs the script.
    fn command(self, setting: &Setting, python: &str, endpoint: &str, in_place: bool) -> Command {
        let mut command = Command::new(&setting.program);
        match self {
            Program::Raw => command.args(["worker", "raw", endpoint]).args(in_place.then_some("--in-place")),
            Program::Keyfold => {
                command.args(["worker", "keyfold", endpoint]).args(in_place.then_some("--in-place"))
            }
            Program::Boto3 => {
                command = Command::new(python);
                let keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(|name| (name, "local"));
                command.envs(keys).env("AWS_DEFAULT_REGION", "us-east-1");
                command.arg(peers::file("boto3_retrofit.py")).args([
                    endpoint,
                    if in_place { TARGET } else { SOURCE },
                    TARGET,
                ])
            }
        };
        command
    }
}

/// How many items, in how many rounds.
fn sizes(scale: Scale, in_place: bool) -> &'static [(u64, usize)] {
    match (scale, in_place) {
        (Scale::Quick, _) => &[(500, 1), (2000, 1)],
        (Scale::Full, false) => &[(10_000, 7), (100_000, 3), (1_000_000, 3)],
        (Scale::Full, true) => &[(10_000, 7), (100_000, 3)],
    }
}

/// Measures the section.
pub(crate) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let mut report = Report::new("4. Retrofit", ABOUT);
    let python = peers::python(setting.target()).map(|path| path.to_string_lossy().into_owned());
    let stage = Stage::new()?;
    for (in_place, name) in [(false, "into a new table"), (true, "in place")] {
        let caption = format!("Retrofit {name}. A program that is missing at a size would take too long.");
        let columns = ["", "items", "items/s", "time", "CPU µs per item", "CPU", "peak MB"];
        let mut table = Table::new(&caption, columns);
        let mut peaks = Vec::new();
        for (items, rounds) in sizes(setting.scale, in_place) {
            let takes_part = |program: &Program| {
                *items <= program.items_max(in_place) && (*program != Program::Boto3 || python.is_ok())
            };
            let programs: Vec<Program> = PROGRAMS.into_iter().filter(takes_part).collect();
            let command = |program: Program, endpoint: &str| {
                program.command(setting, python.as_deref().unwrap_or_default(), endpoint, in_place)
            };
            let done = measure(&stage, &programs, in_place, (*items, *rounds), command)?;
            for (program, of_program) in programs.iter().zip(&done) {
                table.row(row(program.name(), of_program, &done[0]));
                if *program == Program::Keyfold {
                    let cpu = beside(of_program, &done[0], Done::cpu);
                    report.judge(BACKFILL, &format!("{} items {name}", count(*items)), cpu);
                    peaks.push(of(of_program, Done::peak_mb).median);
                }
            }
        }
        let growth = peaks.last().zip(peaks.first()).map_or(f64::NAN, |(last, first)| last / first);
        report.judge(MEMORY, name, Spread::of(&[growth]));
        report.add(table);
    }
    report.add(LIMITS);
    match python {
        Ok(python) => {
            let version =
                "import boto3, platform; print(boto3.__version__, 'on Python', platform.python_version())";
            report.add(format!("The script is run by boto3 {}.", machine::said(&python, &["-c", version])));
        }
        Err(error) => report.absent("the boto3 script", &error),
    }
    Ok(report)
}

/// Runs all programs in all rounds; each is first equally often.
fn measure(
    stage: &Stage,
    programs: &[Program],
    in_place: bool,
    (items, rounds): (u64, usize),
    command: impl Fn(Program, &str) -> Command,
) -> anyhow::Result<Vec<Vec<Done>>> {
    stage.load_source(in_place, items)?;
    let mut all = vec![Vec::new(); programs.len()];
    for round in 0..rounds {
        for turn in 0..programs.len() {
            let at = (turn + round) % programs.len();
            stage.reset_target(in_place, items)?;
            let printed = peers::run(&mut command(programs[at], stage.endpoint()))?;
            let done: Done = serde_json::from_str(&printed)
                .with_context(|| format!("`{}` did not say what it took", programs[at].name()))?;
            ensure!(done.items == items, "`{}` wrote {} items of {items}", programs[at].name(), done.items);
            stage.check(items)?;
            all[at].push(done);
        }
    }
    Ok(all)
}

fn row(name: &str, done: &[Done], raw: &[Done]) -> [String; 7] {
    [
        name.to_owned(),
        count(done.first().map_or(0, |done| done.items)),
        of(done, |done| done.items as f64 / done.seconds).figure(),
        beside(done, raw, |done| done.seconds).ratio(),
        of(done, Done::cpu).figure(),
        beside(done, raw, Done::cpu).ratio(),
        of(done, Done::peak_mb).figure(),
    ]
}

fn of(done: &[Done], figure: fn(&Done) -> f64) -> Spread {
    Spread::of(&done.iter().map(figure).collect::<Vec<_>>())
}

fn beside(done: &[Done], raw: &[Done], figure: fn(&Done) -> f64) -> Spread {
    let [done, raw] = [done, raw].map(|done| done.iter().map(figure).collect::<Vec<_>>());
    Spread::of_ratios(&done, &raw)
}
