//! The retrofit's histories, in short: `--bin simulate` plays many more.
//!
//! `KEYFOLD_HISTORIES` says how many of each protocol; `KEYFOLD_SEED` the first seed.

use keyfold_core::retrofit::Protocol;
use keyfold_testkit::simulate::{Fault, Mutant, Scene, history, naive};

const HISTORIES_DEFAULT: u64 = 500;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Plays the histories of one protocol, and says how often each fault was hit.
fn play(protocol: Protocol) -> Vec<u64> {
    let scene = Scene::of(protocol);
    let (first, count) = (number("KEYFOLD_SEED", 0), number("KEYFOLD_HISTORIES", HISTORIES_DEFAULT));
    let mut hits = vec![0; Fault::ALL.len()];
    for seed in first..first + count {
        let played = history(&scene, seed, None, false);
        if let Some(wrong) = played.wrong {
            let trace = history(&scene, seed, None, true).trace.join("\n");
            panic!("{trace}\n{protocol:?}, seed {seed}: {wrong}");
        }
        hits.iter_mut().zip(&played.hits).for_each(|(sum, hit)| *sum += hit);
    }
    hits
}

#[test]
fn every_history_in_place_ends_right() {
    play(Protocol::InPlace);
}

#[test]
fn every_history_with_fences_ends_right() {
    play(Protocol::Fenced);
}

#[test]
fn every_history_with_a_ledger_ends_right_and_meets_every_fault() {
    let hits = play(Protocol::Ledger);
    for (fault, hits) in Fault::ALL.iter().zip(hits) {
        assert!(hits > 0, "{} never happened", fault.name());
    }
}

#[test]
fn a_seed_plays_the_same_history_again() {
    for protocol in [Protocol::InPlace, Protocol::Fenced, Protocol::Ledger] {
        let scene = Scene::of(protocol);
        for seed in 0..40 {
            let (first, second) = (history(&scene, seed, None, true), history(&scene, seed, None, true));
            assert!(!first.trace.is_empty());
            assert_eq!(first.trace, second.trace, "{protocol:?}, seed {seed}");
        }
    }
}

#[test]
fn a_protocol_without_tombstones_is_caught() {
    let scene = Scene::of(Protocol::Fenced);
    let caught = |seed| history(&scene, seed, Some(Mutant::NoTombstone), false).wrong.is_some();
    assert!((0..1_000).any(caught));
}

#[test]
fn the_protocol_without_guards_loses_data() {
    let scene = Scene::of(Protocol::Ledger);
    assert!((0..100).any(|seed| !naive(&scene, seed)));
}
