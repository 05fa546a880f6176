//! The planner against an oracle: random models, items and requests, answered by a plan and by checking every item.
//!
//! `KEYFOLD_CASES`: the number of cases; `KEYFOLD_SEED`: the first seed. A failure prints everything, and the command
//! that replays it.

#![expect(clippy::print_stdout, reason = "the person who runs the test reads the tally")]

use std::collections::BTreeMap;

use keyfold_testkit::case::{Case, CaseResult, FEATURES, features, judge, report, setting, shrunk};

const CASES_DEFAULT: u64 = 5_000;

#[test]
fn a_planned_answer_is_the_naive_answer() {
    let (first, count) = (setting("KEYFOLD_SEED", 0), setting("KEYFOLD_CASES", CASES_DEFAULT));
    let mut tally: BTreeMap<CaseResult, u64> = BTreeMap::new();
    let (mut manifests_refused, mut items) = (0, 0);
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in first..first + count {
        let case = Case::new(seed);
        manifests_refused += case.manifests_refused;
        items += case.items.len();
        features(&case).into_iter().for_each(|feature| *seen.entry(feature).or_default() += 1);
        match judge(&case) {
            Ok(judge) => *tally.entry(judge).or_default() += 1,
            Err(failure) => {
                let (case, failure) = shrunk(&case, failure);
                panic!("{}", report(&case, &failure));
            }
        }
    }
    for (judge, cases) in &tally {
        println!("{cases:>7}  {judge:?}");
    }
    println!("{items} items; {manifests_refused} manifests drawn again");
    let of = |wanted: fn(&CaseResult) -> bool| -> u64 {
        tally.iter().filter(|(judge, _)| wanted(judge)).map(|(_, cases)| cases).sum()
    };
    let answered = of(|judge| matches!(judge, CaseResult::Answered { .. }));
    let matched = of(|judge| matches!(judge, CaseResult::Answered { any: true, .. }));
    println!("{answered} of {count} answered, {matched} of those with an item");
    assert!(
        answered * 2 >= count,
        "a planner that refuses most requests is useless: {answered} of {count} answered"
    );
    assert!(matched * 4 >= answered, "answers without items prove little: {matched} of {answered} have one");
    for (feature, least) in FEATURES {
        let cases = seen.get(feature).copied().unwrap_or_default();
        println!("{cases:>7}  {feature}");
        // A few cases do not show how often a feature occurs.
        assert!(
            count < 1000 || cases * 1000 >= least * count,
            "{feature}: in {cases} of {count} cases, and it must be at least {least} of a thousand"
        );
    }
}
