//! The retrofit's histories, a short run: `--bin simulate` plays many more.
//!
//! `KEYFOLD_HISTORIES`: the number for each protocol; `KEYFOLD_SEED`: the first seed.

use keyfold_core::retrofit::Protocol;
use keyfold_testkit::case::setting;
use keyfold_testkit::simulate::{
    Bounds, Campaign, Fault, HistoryKind, Mutant, Orders, Tally, WriterAction, exhaust, history,
};

const HISTORIES_DEFAULT: u64 = 400;

fn campaign(histories: u64, mutant: Option<Mutant>) -> Campaign {
    Campaign { seed: setting("KEYFOLD_SEED", 0), histories, mutant, threads: 2 }
}

/// Plays the histories of one protocol, and counts how often each fault occurred.
fn play(protocol: Protocol) -> Tally {
    let kind = HistoryKind::Fill(protocol);
    let tally = campaign(setting("KEYFOLD_HISTORIES", HISTORIES_DEFAULT), None).play(&kind);
    if let Some((seed, wrong)) = &tally.wrong {
        let trace = history(&kind, *seed, None, true).trace.join("\n");
        panic!("{trace}\n{protocol:?}, seed {seed}: {wrong}");
    }
    tally
}

/// The faults that these histories never hit.
fn missed(tally: &Tally) -> Vec<Fault> {
    Fault::ALL.iter().copied().filter(|fault| tally.hits[*fault as usize] == 0).collect()
}

#[test]
fn every_history_in_place_ends_right_and_meets_every_fault_that_there_is_in_place() {
    let tally = play(Protocol::InPlace);
    let others =
        [Fault::Conflict, Fault::Refused, Fault::Foreign, Fault::Huge, Fault::Collision, Fault::Restart];
    assert!(missed(&tally).iter().all(|fault| others.contains(fault)), "{:?}", missed(&tally));
}

#[test]
fn every_history_with_fences_ends_right_and_meets_every_fault_that_there_is_with_fences() {
    let tally = play(Protocol::Fenced);
    let others = [Fault::Conflict, Fault::WritersFold, Fault::NoStream, Fault::Huge, Fault::Collision];
    assert!(missed(&tally).iter().all(|fault| others.contains(fault)), "{:?}", missed(&tally));
}

#[test]
fn every_history_with_a_ledger_ends_right_and_meets_every_fault_that_there_is_with_a_ledger() {
    let tally = play(Protocol::Ledger);
    let others = [Fault::WritersFold, Fault::NoStream, Fault::Huge];
    assert!(missed(&tally).iter().all(|fault| others.contains(fault)), "{:?}", missed(&tally));
    for writer_action in WriterAction::ALL {
        assert!(
            tally.writer_actions[*writer_action as usize] > 0,
            "no writer ever did a {}",
            writer_action.name()
        );
    }
}

#[test]
fn a_seed_plays_the_same_history_again() {
    for (kind, name) in HistoryKind::ALL {
        for seed in (0..40).filter(|seed| kind.has(*seed)) {
            let (first, second) = (history(&kind, seed, None, true), history(&kind, seed, None, true));
            assert!(!first.trace.is_empty());
            assert_eq!(
                (first.moves, first.trace.len()),
                (second.moves, second.trace.len()),
                "{name}, seed {seed}"
            );
            // The lines of a switch show maps in maps, whose order differs.
            if let HistoryKind::Fill(_) = kind {
                assert_eq!(first.trace, second.trace, "{name}, seed {seed}");
            }
        }
    }
}

#[test]
fn a_history_is_the_same_whether_or_not_it_is_traced() {
    let kind = HistoryKind::Fill(Protocol::Ledger);
    for seed in 0..100 {
        let (traced, plain) = (history(&kind, seed, None, true), history(&kind, seed, None, false));
        assert_eq!((traced.hits, traced.writer_actions), (plain.hits, plain.writer_actions), "seed {seed}");
    }
}

#[test]
fn what_comes_out_does_not_depend_on_the_number_of_threads() {
    let kind = HistoryKind::Fill(Protocol::Fenced);
    for mutant in [None, Some(Mutant::NoTombstone)] {
        let on = |threads| Campaign { threads, ..campaign(150, mutant) }.play(&kind);
        let (one, three) = (on(1), on(3));
        assert_eq!((one.histories, &one.wrong), (three.histories, &three.wrong));
        if mutant.is_none() {
            assert_eq!(one, three);
        } else {
            assert!(one.wrong.is_some(), "the weakened protocol is caught");
        }
    }
}

#[test]
fn protocols_that_are_weakened_are_caught() {
    let quick = [
        (Protocol::InPlace, Mutant::NoInputs),
        (Protocol::InPlace, Mutant::Stub),
        (Protocol::InPlace, Mutant::WholeItem),
        (Protocol::Fenced, Mutant::NoTombstone),
        (Protocol::Fenced, Mutant::HastyVerifier),
        (Protocol::Ledger, Mutant::NotAtomic),
        (Protocol::Ledger, Mutant::OldStays),
    ];
    for (protocol, mutant) in quick {
        let tally = campaign(4_000, Some(mutant)).play(&HistoryKind::Fill(protocol));
        assert!(tally.wrong.is_some(), "{} survives", mutant.name());
    }
}

/// A small part of `--exhaustive`.
const FEW: Bounds = Bounds { changes: 2, crashes: 1, duplicates: 1, discards: 1, states: 3_000_000 };

/// The number of end states is the same for all interleavings and for one of each equivalent set.
#[test]
fn every_interleaving_of_a_few_changes_and_faults_ends_right() {
    for (protocol, ends) in [(Protocol::InPlace, 73), (Protocol::Fenced, 71), (Protocol::Ledger, 246)] {
        let walked = exhaust(protocol, FEW, Orders::Distinct, None);
        assert!(walked.wrong.is_none(), "{protocol:?}: {:?}", walked.wrong);
        assert!(!walked.cut_short && walked.states > 500 && walked.ends == ends, "{protocol:?}: {walked:?}");
    }
}

#[test]
fn a_walk_of_a_weakened_protocol_comes_to_a_wrong_end() {
    let weak = [
        (Protocol::InPlace, Mutant::Stub),
        (Protocol::Fenced, Mutant::NoTombstone),
        (Protocol::Fenced, Mutant::NoFence),
        (Protocol::Ledger, Mutant::NoOwner),
        (Protocol::Ledger, Mutant::OldStays),
    ];
    for (protocol, mutant) in weak {
        let walked = exhaust(protocol, FEW, Orders::Distinct, Some(mutant));
        assert!(walked.wrong.is_some(), "{} is not found: {walked:?}", mutant.name());
    }
}

#[test]
fn histories_of_a_switch_are_right() {
    let histories = setting("KEYFOLD_HISTORIES", 150);
    let (mut moves, mut to_the_end) = (0, 0);
    for ledger in [false, true] {
        let kind = HistoryKind::Switch { ledger };
        for seed in (0..histories).filter(|seed| kind.has(*seed)) {
            let played = history(&kind, seed, None, false);
            assert!(played.wrong.is_none(), "seed {seed}: {:?}", played.wrong);
            moves += played.moves[0];
            to_the_end += u64::from(played.moves[0] >= 3);
        }
    }
    assert!(moves > histories / 2, "writers must have moved: {moves}");
    assert!(to_the_end > 0, "there, back and there again: {to_the_end} of {histories}");
}

#[test]
fn a_switch_that_does_not_wait_is_noticed() {
    let kind = HistoryKind::Switch { ledger: false };
    let of_tidying = [Mutant::NoWaitForRows, Mutant::PlainPuts, Mutant::TombstonesStay];
    for mutant in [Mutant::NotDrained, Mutant::CarriesOn, Mutant::LateIgnored].into_iter().chain(of_tidying) {
        let noticed = (0..400).filter(|seed| kind.has(*seed)).any(|seed| {
            let played = history(&kind, seed, Some(mutant), false);
            played.wrong.is_some() && played.bites > 0
        });
        assert!(noticed, "{}", mutant.name());
    }
}
