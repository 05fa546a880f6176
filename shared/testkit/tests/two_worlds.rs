//! The answers to a caller with a scope do not depend on other tenants' items: 10,000 random requests, each in two
//! worlds.
//!
//! `KEYFOLD_PAIRS`: the number of pairs of worlds; `KEYFOLD_SEED`: the first seed.

#![expect(clippy::print_stdout, reason = "the person who runs the test reads the tally")]

use std::collections::BTreeMap;

use keyfold_testkit::case::setting;
use keyfold_testkit::two_worlds::{AgreedOutcome, TwoWorlds};

const PAIRS_DEFAULT: u64 = 500;
const REQUESTS_OF_PAIR: u64 = 20;

#[test]
fn two_worlds_that_differ_in_anothers_items_only_cannot_be_told_apart() {
    let (first, pairs) = (setting("KEYFOLD_SEED", 0), setting("KEYFOLD_PAIRS", PAIRS_DEFAULT));
    let mut tally: BTreeMap<AgreedOutcome, u64> = BTreeMap::new();
    for seed in first..first + pairs {
        let mut pair = TwoWorlds::new(seed);
        for _ in 0..REQUESTS_OF_PAIR {
            let told = pair.ask().unwrap_or_else(|why| panic!("seed {seed}: {why}"));
            *tally.entry(told).or_default() += 1;
        }
    }
    for (told, requests) in &tally {
        println!("{requests:>7}  {told:?}");
    }
    let of = |any, hidden| tally.get(&AgreedOutcome::Same { any, hidden }).copied().unwrap_or_default();
    let requests = pairs * REQUESTS_OF_PAIR;
    // Only answers can reveal something: a planner that refuses everything would prove nothing.
    assert!(
        (of(true, false) + of(false, false)) * 10 >= requests,
        "too few requests are answered: {tally:?}"
    );
    assert!(of(true, false) * 20 >= requests, "too few answers have items: {tally:?}");
    assert!(
        requests < 1000 || of(false, true) > 0 && of(true, true) > 0,
        "no item is asked for by its key: {tally:?}"
    );
}
