//! The race suite: four protocols for moving a live table, each by its own rules, play the same histories of the same writers.
//!
//! A program that moves a table copies its items and follows its stream meanwhile. Items are lost in the races between the
//! two, and every protocol has some guard against them. Here each plays on one small world: writers who put, change, delete
//! and re-create a few items, a stream with shards, one scan, and [`Conditions`] that get harsher column by column. What writers
//! do, and when, follows from the seed alone, so it is the same for all four. At the end everything has drained, and the
//! target is compared with what writers wrote: no protocol's own check is asked.
//!
//! - [`Racer`] is the protocol, `racer` what it writes; `world` is where they race.

mod racer;
mod world;

pub use racer::Racer;
pub use world::{Conditions, RaceEnd};

use std::ops::Range;

use super::Scenario;

/// Plays the history of this seed. `None` if it never comes to its end.
pub fn race(scenario: &Scenario, racer: Racer, conditions: Conditions, seed: u64) -> Option<RaceEnd> {
    world::RaceWorld::new(scenario, racer, conditions, seed).play()
}

/// The outcome of many histories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RaceSum {
    /// How many were played.
    pub histories: u64,
    /// In how many the target is not what writers wrote.
    pub wrong: u64,
    /// Of all histories: items that the target lacks, that came back, that are old.
    pub items: RaceEnd,
    /// In how many of the wrong ones a count of the items says that all is well.
    pub unnoticed: u64,
    /// How many never ended.
    pub stuck: u64,
}

/// Plays the histories of these seeds on every core.
pub fn played(scenario: &Scenario, racer: Racer, conditions: Conditions, seeds: Range<u64>) -> RaceSum {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let part = |first| races(scenario, racer, conditions, seeds.clone().skip(first).step_by(threads));
    let part = &part;
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
        let ended = running.into_iter().map(|thread| match thread.join() {
            Ok(sum) => sum,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.fold(RaceSum::default(), RaceSum::and)
    })
}

/// The same on one.
fn races(
    scenario: &Scenario,
    racer: Racer,
    conditions: Conditions,
    seeds: impl Iterator<Item = u64>,
) -> RaceSum {
    let mut sum = RaceSum::default();
    for seed in seeds {
        sum.histories += 1;
        let Some(end) = race(scenario, racer, conditions, seed) else {
            sum.stuck += 1;
            continue;
        };
        sum.items.lost += end.lost;
        sum.items.resurrected += end.resurrected;
        sum.items.stale += end.stale;
        sum.wrong += u64::from(!end.is_right());
        sum.unnoticed += u64::from(!end.is_right() && end.counts_agree);
    }
    sum
}

impl RaceSum {
    /// The number of `per` histories.
    pub fn per(&self, count: u64, per: u64) -> String {
        format!("{:.0}", (count * per) as f64 / self.histories.max(1) as f64)
    }

    /// This and what came of others.
    #[must_use]
    pub fn and(self, other: RaceSum) -> RaceSum {
        let (one, two) = (self.items, other.items);
        RaceSum {
            histories: self.histories + other.histories,
            wrong: self.wrong + other.wrong,
            items: RaceEnd {
                lost: one.lost + two.lost,
                resurrected: one.resurrected + two.resurrected,
                stale: one.stale + two.stale,
                counts_agree: false,
            },
            unnoticed: self.unnoticed + other.unnoticed,
            stuck: self.stuck + other.stuck,
        }
    }
}
