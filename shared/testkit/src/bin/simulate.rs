//! Plays histories of the retrofit: `cargo run --release -p keyfold-testkit --bin simulate -- --histories 10000`.
//!
//! `--seed S` is the first seed, `--protocol in-place|fenced|ledger` plays one protocol, `--mutant NAME` one weakened
//! protocol, `--mutants` all of them; `--naive` plays the protocol without guards; `--trace` prints what happened.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use std::process::ExitCode;
use std::time::Instant;

use keyfold_core::retrofit::Protocol;
use keyfold_testkit::simulate::{Fault, Mutant, Scene, history, naive};

const PROTOCOLS: [(Protocol, &str); 3] =
    [(Protocol::InPlace, "in-place"), (Protocol::Fenced, "fenced"), (Protocol::Ledger, "ledger")];
const HISTORIES_DEFAULT: u64 = 10_000;

struct Arguments {
    histories: u64,
    seed: u64,
    protocol: Option<Protocol>,
    mutant: Option<Mutant>,
    mutants: bool,
    naive: bool,
    trace: bool,
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        println!(
            "simulate [--histories N] [--seed S] [--protocol in-place|fenced|ledger] [--mutant NAME | --mutants] [--naive] [--trace]"
        );
        return ExitCode::from(2);
    };
    let chosen = |protocol: Protocol| arguments.protocol.is_none_or(|wanted| wanted == protocol);
    let scenes = PROTOCOLS.iter().filter(|(protocol, _)| chosen(*protocol));
    let scenes: Vec<(Scene, &str)> = scenes.map(|(protocol, name)| (Scene::of(*protocol), *name)).collect();
    let fine = match (arguments.mutants, arguments.naive) {
        (true, _) => mutants(&scenes, &arguments),
        (_, true) => naives(&scenes, &arguments),
        _ => plain(&scenes, &arguments),
    };
    ExitCode::from(u8::from(!fine))
}

fn arguments() -> Option<Arguments> {
    let mut read = Arguments {
        histories: HISTORIES_DEFAULT,
        seed: 0,
        protocol: None,
        mutant: None,
        mutants: false,
        naive: false,
        trace: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--histories" => read.histories = words.next()?.parse().ok()?,
            "--seed" => read.seed = words.next()?.parse().ok()?,
            "--protocol" => {
                let name = words.next()?;
                read.protocol = Some(PROTOCOLS.iter().find(|(_, known)| *known == name)?.0);
            }
            "--mutant" => read.mutant = Some(Mutant::named(&words.next()?)?),
            "--mutants" => read.mutants = true,
            "--naive" => read.naive = true,
            "--trace" => read.trace = true,
            _ => return None,
        }
    }
    Some(read)
}

/// The first history of these that goes wrong.
fn first_wrong(scene: &Scene, arguments: &Arguments, mutant: Mutant) -> Option<u64> {
    let seeds = arguments.seed..arguments.seed + arguments.histories;
    seeds.into_iter().find(|seed| history(scene, *seed, Some(mutant), false).wrong.is_some())
}

fn plain(scenes: &[(Scene, &str)], arguments: &Arguments) -> bool {
    let mut hits = vec![0; Fault::ALL.len()];
    let begun = Instant::now();
    for (scene, name) in scenes {
        for seed in arguments.seed..arguments.seed + arguments.histories {
            let played = history(scene, seed, arguments.mutant, arguments.trace);
            for (sum, hit) in hits.iter_mut().zip(&played.hits) {
                *sum += hit;
            }
            if let Some(wrong) = played.wrong {
                for line in history(scene, seed, arguments.mutant, true).trace {
                    println!("{line}");
                }
                let mutant =
                    arguments.mutant.map_or(String::new(), |mutant| format!(" --mutant {}", mutant.name()));
                println!("{name}, seed {seed}: {wrong}");
                println!(
                    "again: cargo run --release -p keyfold-testkit --bin simulate -- --protocol {name} --seed {seed} --histories 1{mutant}"
                );
                return false;
            }
            for line in played.trace {
                println!("{line}");
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let total = arguments.histories * scenes.len() as u64;
    for (fault, hit) in Fault::ALL.iter().zip(&hits) {
        println!("{hit:>9}  {}", fault.name());
    }
    println!("{total} histories, all right; {:.0} a second", total as f64 / seconds);
    true
}

/// Weakened protocols that the histories do not show yet, both in place: the checker takes the table for the truth, so it
/// sees no stub, and the stream mends what a write without its inputs in the guard has spoilt.
const NOT_SHOWN_YET: [&str; 2] = ["no-inputs", "stub"];

fn mutants(scenes: &[(Scene, &str)], arguments: &Arguments) -> bool {
    let (mut survivors, mut known) = (0, 0);
    for mutant in Mutant::ALL {
        let concerned = scenes.iter().filter(|(scene, _)| mutant.concerns(scene.protocol));
        let found =
            concerned.filter_map(|(scene, name)| Some((first_wrong(scene, arguments, *mutant)?, *name)));
        match found.min() {
            Some((seed, name)) => {
                println!(
                    "{:<22} caught after {:>6} histories  {name}, seed {seed}",
                    mutant.name(),
                    seed - arguments.seed + 1
                );
            }
            None if NOT_SHOWN_YET.contains(&mutant.name()) => {
                known += 1;
                println!("{:<22} survives, as is known: the histories cannot show it yet", mutant.name());
            }
            None => {
                survivors += 1;
                println!("{:<22} SURVIVES {} histories", mutant.name(), arguments.histories);
            }
        }
    }
    println!("{} of {} caught", Mutant::ALL.len() - survivors - known, Mutant::ALL.len());
    survivors == 0
}

fn naives(scenes: &[(Scene, &str)], arguments: &Arguments) -> bool {
    for (scene, name) in scenes.iter().filter(|(scene, _)| !scene.is_in_place()) {
        let seeds = arguments.seed..arguments.seed + arguments.histories;
        let wrong = seeds.filter(|seed| !naive(scene, *seed)).count();
        println!("{name}: {wrong} of {} histories end with lost, stale or ghost items", arguments.histories);
    }
    true
}
