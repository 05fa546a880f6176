//! Times of things that take nanoseconds, in interleaved rounds, and what they allocate.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::allocations::{self, Allocations};
use crate::{Scale, Spread};

/// How long one case's part of a round takes, about.
const PART: Duration = Duration::from_millis(2);
/// The most calls of one part.
const CALLS_MAX: u64 = 1 << 24;

/// Something to be measured.
pub struct Case<'c> {
    name: String,
    /// Runs it so many times.
    run: Box<dyn FnMut(u64) + 'c>,
    /// Runs it once and says what that allocated.
    allocations: Allocations,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What was measured.
    pub name: String,
    /// Nanoseconds of a call, in each round.
    pub rounds: Vec<f64>,
    /// What a call allocates.
    pub allocations: Allocations,
}

impl Measured {
    /// The nanoseconds of a call.
    pub fn nanoseconds(&self) -> Spread {
        Spread::of(&self.rounds)
    }

    /// How many times what another case takes, round by round.
    pub fn beside(&self, other: &Measured) -> Spread {
        Spread::of_ratios(&self.rounds, &other.rounds)
    }
}

impl<'c> Case<'c> {
    /// A case. What it gives is not optimised away, and dropped within the time.
    pub fn new<T>(name: impl Into<String>, mut work: impl FnMut() -> T + 'c) -> Case<'c> {
        black_box(work());
        let allocations = allocations::during(|| black_box(work()));
        let run = move |calls: u64| {
            for _ in 0..calls {
                black_box(work());
            }
        };
        Case { name: name.into(), run: Box::new(run), allocations }
    }

    fn time(&mut self, calls: u64) -> Duration {
        let begun = Instant::now();
        (self.run)(calls);
        begun.elapsed()
    }

    /// How many calls take about [`PART`].
    fn calibrate(&mut self) -> u64 {
        let mut calls = 1;
        loop {
            let took = self.time(calls);
            if took * 2 >= PART || calls >= CALLS_MAX {
                let share = PART.as_secs_f64() / took.as_secs_f64().max(1e-9);
                return ((calls as f64 * share) as u64).clamp(1, CALLS_MAX);
            }
            calls *= 2;
        }
    }
}

/// How many rounds there are.
pub fn rounds(scale: Scale) -> usize {
    scale.of(5, 51)
}

/// Measures all cases, one after the other in each round.
pub fn measure(mut cases: Vec<Case<'_>>, rounds: usize) -> Vec<Measured> {
    let calls: Vec<u64> = cases.iter_mut().map(Case::calibrate).collect();
    let mut measured: Vec<Measured> = cases
        .iter()
        .map(|case| Measured { name: case.name.clone(), rounds: Vec::new(), allocations: case.allocations })
        .collect();
    for _ in 0..rounds {
        for ((case, calls), measured) in cases.iter_mut().zip(&calls).zip(&mut measured) {
            let took = case.time(*calls);
            measured.rounds.push(took.as_secs_f64() * 1e9 / *calls as f64);
        }
    }
    measured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_in_every_round_and_its_allocations_are_counted() {
        let cases =
            vec![Case::new("nothing", || ()), Case::new("two texts", || (String::from("a"), "b".repeat(9)))];
        let measured = measure(cases, 3);
        assert!(measured.iter().all(|case| case.rounds.len() == 3));
        assert_eq!(measured[0].allocations, Allocations::default());
        assert_eq!(measured[1].allocations, Allocations { count: 2, bytes: 10 });
    }

    #[test]
    fn rounds_are_compared_one_by_one() {
        let of = |rounds: [f64; 3]| Measured {
            name: String::new(),
            rounds: rounds.into(),
            allocations: Allocations::default(),
        };
        assert_eq!(of([2.0, 40.0, 2.0]).beside(&of([1.0, 10.0, 2.0])).median, 2.0);
        assert_eq!(of([2.0, 40.0, 3.0]).nanoseconds().median, 3.0);
    }
}
