//! Writers who move to the target and back: some histories, and the faults of weakened protocols. `.ci/run` plays more.

use keyfold_testkit::simulate::switching::{SwitchMutant, history};

/// `KEYFOLD_HISTORIES` sets another number.
const HISTORIES: u64 = 150;

#[test]
fn histories_of_a_switch_are_right() {
    let given = std::env::var("KEYFOLD_HISTORIES").ok().and_then(|number| number.parse().ok());
    let histories = given.unwrap_or(HISTORIES);
    let (mut moves, mut to_the_end) = (0, 0);
    for seed in 0..histories {
        let played = history(seed, None, false);
        assert!(played.wrong.is_none(), "seed {seed}: {:?}", played.wrong);
        moves += played.moves;
        to_the_end += u64::from(played.moves >= 3);
    }
    assert!(moves > histories / 2, "writers must have moved: {moves}");
    assert!(to_the_end > 0, "there, back and there again: {to_the_end} of {histories}");
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
