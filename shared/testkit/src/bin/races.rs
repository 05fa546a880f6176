//! Plays the same histories with four protocols: `cargo run --release -p keyfold-testkit --bin races -- --histories 10000`.
//!
//! `--histories N` of each, `--seed S` the first seed. It prints tables in Markdown. Exit code 1 if Keyfold
//! loses anything.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use std::process::ExitCode;

use keyfold_core::retrofit::Protocol;
use keyfold_testkit::simulate::Scenario;
use keyfold_testkit::simulate::races::{Conditions, RaceSum, Racer, played};

const HISTORIES_DEFAULT: u64 = 10_000;
/// Losses are reported per this number of histories.
const PER: u64 = 10_000;

fn main() -> ExitCode {
    let Some((histories, seed)) = arguments() else {
        println!("races [--histories N] [--seed S]");
        return ExitCode::from(2);
    };
    let scenario = Scenario::of(Protocol::Fenced);
    let sum = |racer, conditions| played(&scenario, racer, conditions, seed..seed + histories);
    let sums: Vec<(Racer, Vec<RaceSum>)> = Racer::ALL
        .iter()
        .map(|racer| (*racer, Conditions::ALL.iter().map(|conditions| sum(*racer, *conditions)).collect()))
        .collect();
    println!("{histories} histories of each, seeds from {seed}, the same writers for all.\n");
    println!("Histories of {PER} in which the target is not what writers wrote, once all has drained:\n");
    table(&sums, |sum| sum.per(sum.wrong, PER));
    println!(
        "\nOf {PER} histories, items that the target lacks / that were deleted and are there / that are old:\n"
    );
    table(&sums, |sum| {
        let [lost, back, stale] =
            [sum.items.lost, sum.items.resurrected, sum.items.stale].map(|items| sum.per(items, PER));
        format!("{lost} / {back} / {stale}")
    });
    println!(
        "\nOf {PER} histories, those that are wrong while a count of the items says that both tables agree:\n"
    );
    table(&sums, |sum| sum.per(sum.unnoticed, PER));
    let fine = |(racer, sums): &(Racer, Vec<RaceSum>)| {
        sums.iter().all(|sum| sum.stuck == 0 && (*racer != Racer::Fences || sum.wrong == 0))
    };
    ExitCode::from(u8::from(!sums.iter().all(fine)))
}

fn arguments() -> Option<(u64, u64)> {
    let (mut histories, mut seed) = (HISTORIES_DEFAULT, 0);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next()?.parse().ok()?;
        match word.as_str() {
            "--histories" => histories = number,
            "--seed" => seed = number,
            _ => return None,
        }
    }
    (histories > 0).then_some((histories, seed))
}

fn table(sums: &[(Racer, Vec<RaceSum>)], cell: impl Fn(&RaceSum) -> String) {
    let names: Vec<&str> = Conditions::ALL.iter().map(|conditions| conditions.name()).collect();
    println!("| | {} |", names.join(" | "));
    println!("|---|{}", "---:|".repeat(names.len()));
    for (racer, sums) in sums {
        let cells: Vec<String> = sums.iter().map(&cell).collect();
        println!("| {} | {} |", racer.name(), cells.join(" | "));
    }
}
