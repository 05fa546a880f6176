//! Plays histories of a retrofit with a switch and its return: `cargo run --release -p keyfold-testkit --bin switching --
//! --histories 10000`.
//!
//! `--histories N`, `--seed S` the first seed, `--ledger` only those whose target keys can move; `--mutant NAME` plays
//! one weakened protocol, `--mutants` all of them; `--trace` prints the events.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use keyfold_testkit::simulate::Violation;
use keyfold_testkit::simulate::switching::{SwitchMutant, has_ledger, history};

const HISTORIES_DEFAULT: u64 = 10_000;
const USAGE: &str = "switching [--histories N] [--seed S] [--ledger] [--mutant NAME | --mutants] [--trace]";

struct Arguments {
    histories: u64,
    seed: u64,
    ledger: bool,
    mutant: Option<SwitchMutant>,
    mutants: bool,
    trace: bool,
}

/// The results of many histories.
#[derive(Default)]
struct Sum {
    histories: u64,
    moves: u64,
    late: u64,
    noted: u64,
    wrong: Option<(u64, Violation)>,
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    let fine = match &arguments {
        Arguments { mutants: true, .. } => mutants(&arguments),
        _ => plain(&arguments),
    };
    ExitCode::from(u8::from(!fine))
}

fn arguments() -> Option<Arguments> {
    let mut read = Arguments {
        histories: HISTORIES_DEFAULT,
        seed: 0,
        ledger: false,
        mutant: None,
        mutants: false,
        trace: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--histories" => read.histories = words.next()?.parse().ok()?,
            "--seed" => read.seed = words.next()?.parse().ok()?,
            "--ledger" => read.ledger = true,
            "--mutant" => read.mutant = Some(SwitchMutant::from_name(&words.next()?)?),
            "--mutants" => read.mutants = true,
            "--trace" => read.trace = true,
            _ => return None,
        }
    }
    Some(read)
}

/// Plays all histories, or up to the first failure. Each core takes a part of the seeds, and none continues past a seed
/// that is known to fail.
fn play(arguments: &Arguments, mutant: Option<SwitchMutant>) -> Sum {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let worst = AtomicU64::new(u64::MAX);
    let part = |first: u64| {
        let mut sum = Sum::default();
        let seeds = (arguments.seed + first..arguments.seed + arguments.histories).step_by(threads as usize);
        let seeds = seeds.filter(|seed| !arguments.ledger || has_ledger(*seed));
        for seed in seeds.take_while(|seed| *seed < worst.load(Ordering::Relaxed)) {
            let played = history(seed, mutant, false);
            sum.histories += 1;
            sum.moves += played.moves;
            sum.late += played.late.0;
            sum.noted += played.late.1;
            if let Some(wrong) = played.wrong {
                worst.fetch_min(seed, Ordering::Relaxed);
                sum.wrong = Some((seed, wrong));
                break;
            }
        }
        sum
    };
    let part = &part;
    let parts: Vec<Sum> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
        let ended = running.into_iter().map(|thread| match thread.join() {
            Ok(sum) => sum,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    });
    let mut all = Sum::default();
    for sum in parts {
        all.histories += sum.histories;
        all.moves += sum.moves;
        all.late += sum.late;
        all.noted += sum.noted;
        let earlier = |wrong: &(u64, Violation)| all.wrong.as_ref().is_none_or(|known| wrong.0 < known.0);
        if let Some(wrong) = sum.wrong.filter(earlier) {
            all.wrong = Some(wrong);
        }
    }
    all
}

fn plain(arguments: &Arguments) -> bool {
    if arguments.trace {
        for seed in arguments.seed..arguments.seed + arguments.histories {
            let played = history(seed, arguments.mutant, true);
            played.trace.iter().for_each(|line| println!("{line}"));
        }
    }
    let started = Instant::now();
    let sum = play(arguments, arguments.mutant);
    if let Some((seed, wrong)) = sum.wrong {
        let played = history(seed, arguments.mutant, true);
        played.trace.iter().for_each(|line| println!("{line}"));
        let mutant = arguments.mutant.map_or(String::new(), |mutant| format!(" --mutant {}", mutant.name()));
        println!("seed {seed}: {wrong}");
        println!(
            "again: cargo run --release -p keyfold-testkit --bin switching -- --seed {seed} --histories 1{mutant}"
        );
        return false;
    }
    println!(
        "{} histories, all right: writers moved {} times, {} late writes, {} noted; {:.0} a second, seeds from {}",
        sum.histories,
        sum.moves,
        sum.late,
        sum.noted,
        sum.histories as f64 / started.elapsed().as_secs_f64(),
        arguments.seed
    );
    true
}

/// Every weakened protocol must be caught.
fn mutants(arguments: &Arguments) -> bool {
    let mut survivors = 0;
    let is_left_out = |mutant: &&SwitchMutant| SwitchMutant::NOT_WITH_LEDGER.contains(mutant);
    let all = SwitchMutant::ALL.iter().filter(|mutant| !(arguments.ledger && is_left_out(mutant)));
    for mutant in all.clone() {
        let sum = play(arguments, Some(*mutant));
        let Some((seed, wrong)) = sum.wrong else {
            survivors += 1;
            println!("{:<20} SURVIVES {} histories", mutant.name(), sum.histories);
            continue;
        };
        println!("{:<20} seed {seed:>5}: {wrong}", mutant.name());
        if history(seed, Some(*mutant), false).bites == 0 {
            survivors += 1;
            println!("{:<20} NOT BY ITS WEAKNESS: it made no difference", mutant.name());
        }
    }
    println!("{} weakened protocols of the switch, {survivors} survive", all.count());
    survivors == 0
}
