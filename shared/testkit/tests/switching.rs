//! Writers who move to the target and back: some histories, and what weakened protocols do to them. `.ci/run` plays more.

use keyfold_testkit::simulate::switching::{SwitchMutant, history};

#[test]
fn histories_of_a_switch_are_right() {
    let (mut moves, mut to_the_end) = (0, 0);
    for seed in 0..150 {
        let played = history(seed, None, false);
        assert!(played.wrong.is_none(), "seed {seed}: {:?}", played.wrong);
        moves += played.moves;
        to_the_end += u64::from(played.moves >= 3);
    }
    assert!(moves > 150, "writers must have moved: {moves}");
    assert!(to_the_end > 15, "there, back and there again: {to_the_end} of 150");
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
