//! The race suite, in short: `--bin races` plays many more histories.

use keyfold_core::retrofit::Protocol;
use keyfold_testkit::simulate::Scenario;
use keyfold_testkit::simulate::races::{Conditions, Racer, played};

const HISTORIES: u64 = 300;

#[test]
fn keyfold_loses_nothing_where_others_do() {
    let scenario = Scenario::of(Protocol::Fenced);
    for conditions in Conditions::ALL {
        for racer in Racer::ALL {
            let sum = played(&scenario, *racer, *conditions, 0..HISTORIES);
            assert_eq!((sum.histories, sum.stuck), (HISTORIES, 0), "{} {}", racer.name(), conditions.name());
            // Fences always hold. Seconds hold as long as no item changes twice in a second and no stream record is
            // late.
            let holds =
                *racer == Racer::Fences || (*racer == Racer::Seconds && *conditions == Conditions::Calm);
            assert_eq!(sum.wrong == 0, holds, "{} with {}: {sum:?}", racer.name(), conditions.name());
        }
    }
}
