//! Writers who move to the target and back: some histories, and the faults of weakened protocols. `.ci/run` plays more.

use keyfold_testkit::simulate::switching::{SwitchMutant, WalkBounds, history, walk};

#[test]
fn histories_of_a_switch_are_right() {
    let (mut moves, mut to_the_end) = (0, 0);
    for seed in 0..600 {
        let played = history(seed, None, false);
        assert!(played.wrong.is_none(), "seed {seed}: {:?}", played.wrong);
        moves += played.moves;
        to_the_end += u64::from(played.moves >= 3);
    }
    assert!(moves > 500, "writers must have moved: {moves}");
    assert!(to_the_end > 15, "there, back and there again: {to_the_end} of 600");
}

#[test]
fn the_same_seed_is_the_same_history() {
    let [first, second] = [(); 2].map(|()| history(7, None, true));
    assert_eq!((first.moves, first.late, first.trace.len()), (second.moves, second.late, second.trace.len()));
}

#[test]
fn a_switch_that_does_not_wait_is_noticed() {
    for mutant in [SwitchMutant::NotDrained, SwitchMutant::CarriesOn, SwitchMutant::LateIgnored] {
        let noticed = (0..400).any(|seed| {
            let played = history(seed, Some(mutant), false);
            played.wrong.is_some() && played.bites > 0
        });
        assert!(noticed, "{}", mutant.name());
    }
}

/// A small part of `--walk`.
const FEW: WalkBounds = WalkBounds {
    changes: [0, 1, 0],
    moves: 2,
    duplicates: 0,
    zombies: 0,
    late: 0,
    deaths: 0,
    taken_back: 0,
    states: 2_000_000,
};

#[test]
fn every_order_through_a_switch_and_a_return_is_right() {
    for bounds in [FEW, WalkBounds { changes: [1, 0, 0], late: 1, moves: 1, ..FEW }] {
        let end = walk(bounds, None);
        assert!(end.wrong.is_none() && !end.cut_short, "{bounds:?}: {end:?}");
        assert!(end.moved > 0, "writers are moved as often as they may be: {end:?}");
    }
}

#[test]
fn a_walk_of_a_weakened_switch_comes_to_a_wrong_end() {
    let late = WalkBounds { late: 1, moves: 1, ..FEW };
    let weak = [
        (SwitchMutant::NotDrained, FEW),
        (SwitchMutant::ReverseUnusable, FEW),
        (SwitchMutant::LateNotNoted, late),
        (SwitchMutant::LateIgnored, late),
    ];
    for (mutant, bounds) in weak {
        let end = walk(bounds, Some(mutant));
        assert!(end.wrong.is_some(), "{} is not found: {end:?}", mutant.name());
    }
}
