//! Plays histories of the retrofit: `cargo run --release -p keyfold-testkit --bin simulate -- --histories 10000`.
//!
//! `--histories N` of each kind, `--seed S` the first seed, `--protocol` the kinds whose names begin so, `--threads T` instead of one for each
//! core; `--mutant NAME` plays one weakened protocol, `--mutants` all of them, and `--why` shows what catches each; `--trace` prints the events;
//! `--exhaustive` visits every interleaving of two source keys, `--changes C` (4) changes, a crash, two duplicates and a discarded record;
//! `--faults CRASHES,DUPLICATES,DISCARDS` sets other numbers of these, `--every-order` also visits equivalent interleavings.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use std::process::ExitCode;
use std::time::Instant;

use keyfold_testkit::simulate::{
    Bounds, Campaign, Fault, HistoryKind, Mutant, Orders, Tally, Violation, WriterAction, exhaust, history,
};

const HISTORIES_DEFAULT: u64 = 10_000;
const USAGE: &str = "simulate [--histories N] [--seed S] [--protocol in-place|fenced|ledger|switch|switch-fenced|switch-ledger] [--threads T] \
[--mutant NAME | --mutants [--why]] [--trace] [--exhaustive [--changes C] [--faults CRASHES,DUPLICATES,DISCARDS] [--every-order]]";
/// The last lines of a trace that `--why` shows.
const WHY_LINES: usize = 40;

/// The bounds of `--exhaustive`.
const BOUNDS: Bounds = Bounds { changes: 4, crashes: 1, duplicates: 2, discards: 1, states: 400_000_000 };

struct Arguments {
    histories: u64,
    seed: u64,
    threads: u64,
    protocol: String,
    mutant: Option<Mutant>,
    mutants: bool,
    why: bool,
    trace: bool,
    exhaustive: bool,
    bounds: Bounds,
    orders: Orders,
}

type Kinds = Vec<(HistoryKind, &'static str)>;

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    let chosen = HistoryKind::ALL.into_iter().filter(|(_, name)| name.starts_with(&arguments.protocol));
    let kinds: Kinds = chosen.collect();
    if kinds.is_empty() {
        println!("{USAGE}");
        return ExitCode::from(2);
    }
    let fine = match &arguments {
        Arguments { exhaustive: true, .. } => exhaustive(&kinds, &arguments),
        Arguments { mutants: true, .. } => mutants(&kinds, &arguments),
        Arguments { trace: true, .. } => traces(&kinds, &arguments),
        _ => plain(&kinds, &arguments),
    };
    ExitCode::from(u8::from(!fine))
}

fn arguments() -> Option<Arguments> {
    let mut read = Arguments {
        histories: HISTORIES_DEFAULT,
        seed: 0,
        threads: std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64),
        protocol: String::new(),
        mutant: None,
        mutants: false,
        why: false,
        trace: false,
        exhaustive: false,
        bounds: BOUNDS,
        orders: Orders::Distinct,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--histories" => read.histories = words.next()?.parse().ok()?,
            "--seed" => read.seed = words.next()?.parse().ok()?,
            "--threads" => read.threads = words.next()?.parse().ok().filter(|threads| *threads > 0)?,
            "--protocol" => read.protocol = words.next()?,
            "--mutant" => read.mutant = Some(Mutant::named(&words.next()?)?),
            "--mutants" => read.mutants = true,
            "--why" => read.why = true,
            "--trace" => read.trace = true,
            "--exhaustive" => read.exhaustive = true,
            "--every-order" => read.orders = Orders::All,
            "--changes" => read.bounds.changes = words.next()?.parse().ok()?,
            "--faults" => read.bounds = faults(read.bounds, &words.next()?)?,
            _ => return None,
        }
    }
    Some(read)
}

fn campaign(arguments: &Arguments, mutant: Option<Mutant>) -> Campaign {
    let Arguments { seed, histories, threads, .. } = *arguments;
    Campaign { seed, histories, mutant, threads }
}

fn plain(kinds: &Kinds, arguments: &Arguments) -> bool {
    let started = Instant::now();
    let mut tallies = Vec::new();
    for (kind, name) in kinds {
        let of_this = Instant::now();
        let tally = campaign(arguments, arguments.mutant).play(kind);
        if let Some((seed, wrong)) = &tally.wrong {
            failed(kind, name, *seed, wrong, arguments.mutant);
            return false;
        }
        tallies.push((*name, tally, of_this.elapsed().as_secs_f64()));
    }
    table(&tallies);
    for (name, tally, seconds) in &tallies {
        println!("{name}: {} histories, {:.0} a second", tally.histories, tally.histories as f64 / seconds);
        let [moves, late, noted] = tally.moves;
        if moves > 0 {
            println!("    writers moved {moves} times, {late} late writes, {noted} noted");
        }
    }
    let total: u64 = tallies.iter().map(|(_, tally, _)| tally.histories).sum();
    let rate = total as f64 / started.elapsed().as_secs_f64();
    println!(
        "{total} histories, all right; {rate:.0} a second on {} threads, seeds from {}",
        arguments.threads, arguments.seed
    );
    true
}

/// How often each fault was hit and each action was done, per protocol.
fn table(tallies: &[(&str, Tally, f64)]) {
    let line = |name: &str, count: &dyn Fn(&Tally) -> u64| {
        let counts: Vec<String> =
            tallies.iter().map(|(_, tally, _)| format!("{:>12}", count(tally))).collect();
        println!("{name:<24}{}", counts.concat());
    };
    let names: Vec<String> = tallies.iter().map(|(name, ..)| format!("{name:>12}")).collect();
    println!("{:<24}{}", "writers", names.concat());
    for (at, writer_action) in WriterAction::ALL.iter().enumerate() {
        line(writer_action.name(), &|tally| tally.writer_actions[at]);
    }
    println!("{:<24}{}", "faults", names.concat());
    for (at, fault) in Fault::ALL.iter().enumerate() {
        line(fault.name(), &|tally| tally.hits[at]);
    }
}

/// Prints a failing history with the command that plays it again.
fn failed(kind: &HistoryKind, name: &str, seed: u64, wrong: &Violation, mutant: Option<Mutant>) {
    for line in history(kind, seed, mutant, true).trace {
        println!("{line}");
    }
    let mutant = mutant.map_or(String::new(), |mutant| format!(" --mutant {}", mutant.name()));
    println!("{name}, seed {seed}: {wrong}");
    println!(
        "again: cargo run --release -p keyfold-testkit --bin simulate -- --protocol {name} --seed {seed} --histories 1{mutant}"
    );
}

fn traces(kinds: &Kinds, arguments: &Arguments) -> bool {
    let mut fine = true;
    for (kind, name) in kinds {
        for seed in arguments.seed..arguments.seed + arguments.histories {
            println!("{name}, seed {seed}");
            let played = history(kind, seed, arguments.mutant, true);
            played.trace.iter().for_each(|line| println!("{line}"));
            if let Some(wrong) = played.wrong {
                println!("{name}, seed {seed}: {wrong}");
                fine = false;
            }
        }
    }
    fine
}

/// Every weakened protocol must be caught, with each of the protocols that it concerns.
fn mutants(kinds: &Kinds, arguments: &Arguments) -> bool {
    let (mut caught, mut survivors) = (0, 0);
    for mutant in Mutant::ALL {
        for (kind, name) in kinds.iter().filter(|(kind, _)| mutant.concerns(kind)) {
            let tally = campaign(arguments, Some(*mutant)).play(kind);
            let Some((seed, wrong)) = tally.wrong else {
                survivors += 1;
                println!("{:<20} {name:<13} SURVIVES {} histories", mutant.name(), arguments.histories);
                continue;
            };
            caught += 1;
            let after = tally.histories;
            println!("{:<20} {name:<13} after {after:>5} histories (seed {seed}): {wrong}", mutant.name());
            let played = history(kind, seed, Some(*mutant), arguments.why);
            if played.bites == 0 {
                survivors += 1;
                println!("{:<20} {name:<13} NOT BY ITS WEAKNESS: it made no difference", mutant.name());
            }
            let lines = &played.trace[played.trace.len().saturating_sub(WHY_LINES)..];
            lines.iter().for_each(|line| println!("    | {line}"));
        }
    }
    let names = Mutant::ALL.len();
    println!("{names} weakened protocols: {caught} times caught, {survivors} survive");
    survivors == 0
}

/// The same bounds with these numbers of crashes, duplicates and discards.
fn faults(bounds: Bounds, text: &str) -> Option<Bounds> {
    let numbers: Vec<u8> = text.split(',').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let [crashes, duplicates, discards] = numbers[..] else { return None };
    Some(Bounds { crashes, duplicates, discards, ..bounds })
}

fn exhaustive(kinds: &Kinds, arguments: &Arguments) -> bool {
    let mut fine = true;
    for (kind, name) in kinds {
        let HistoryKind::Fill(protocol) = kind else { continue };
        let (started, bounds) = (Instant::now(), arguments.bounds);
        let walked = exhaust(*protocol, bounds, arguments.orders, arguments.mutant);
        let Bounds { changes, crashes, duplicates, discards, .. } = bounds;
        println!(
            "{name}: 2 keys, up to {changes} changes, {crashes} crashes, {duplicates} duplicates, {discards} discards: {:.4e} \
interleavings through {} states, {} different ends, {:.0} s",
            walked.interleavings,
            walked.states,
            walked.ends,
            started.elapsed().as_secs_f64()
        );
        if walked.cut_short {
            println!("{name}: CUT SHORT, not all was walked");
        }
        if let Some((wrong, steps)) = &walked.wrong {
            steps.iter().for_each(|step| println!("    {step}"));
            println!("{name}: {wrong}");
        }
        fine &= walked.wrong.is_none() && !walked.cut_short;
    }
    fine
}
