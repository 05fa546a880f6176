//! Times of things that take nanoseconds, in interleaved rounds, and what they allocate.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::allocations::{self, Allocations};
use crate::setting::Scale;

/// How long one case's part of a round takes, about.
const PART: Duration = Duration::from_millis(2);

/// Something to be measured.
pub(crate) struct Case<'c> {
    name: &'static str,
    /// Runs it this many times.
    run: Box<dyn FnMut(u64) + 'c>,
    allocations: Allocations,
}

/// The measurements of a case.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    /// Nanoseconds of a call, in each round.
    pub(crate) nanoseconds: Vec<f64>,
    pub(crate) allocations: Allocations,
}

impl<'c> Case<'c> {
    /// A case. Its result is not optimised away, and it is dropped within the measured time.
    pub(crate) fn new<T>(name: &'static str, mut work: impl FnMut() -> T + 'c) -> Case<'c> {
        // This call computes what later calls reuse.
        black_box(work());
        let allocations = allocations::during(|| black_box(work()));
        let run = move |calls: u64| {
            for _ in 0..calls {
                black_box(work());
            }
        };
        Case { name, run: Box::new(run), allocations }
    }

    fn time(&mut self, calls: u64) -> f64 {
        let started = Instant::now();
        (self.run)(calls);
        started.elapsed().as_secs_f64()
    }

    /// How many calls take about [`PART`].
    fn calibrate(&mut self) -> u64 {
        let mut calls = 1;
        loop {
            let share = PART.as_secs_f64() / self.time(calls).max(1e-9);
            if share <= 2.0 {
                return ((calls as f64 * share) as u64).max(1);
            }
            calls *= 2;
        }
    }
}

/// Measures all cases, one after the other in each round.
pub(crate) fn measure(mut cases: Vec<Case<'_>>, scale: Scale) -> Vec<Measured> {
    let calls: Vec<u64> = cases.iter_mut().map(Case::calibrate).collect();
    let measured = |case: &Case<'_>| Measured {
        name: case.name,
        nanoseconds: Vec::new(),
        allocations: case.allocations,
    };
    let mut all: Vec<Measured> = cases.iter().map(measured).collect();
    for _ in 0..scale.of(5, 51) {
        for ((case, calls), measured) in cases.iter_mut().zip(&calls).zip(&mut all) {
            measured.nanoseconds.push(case.time(*calls) * 1e9 / *calls as f64);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_in_every_round_and_its_allocations_are_counted() {
        let texts = || (String::from("a"), "b".repeat(9));
        let measured =
            measure(vec![Case::new("nothing", || ()), Case::new("two texts", texts)], Scale::Quick);
        assert!(measured.iter().all(|case| case.nanoseconds.len() == 5));
        assert_eq!(measured[0].allocations, Allocations::default());
        assert_eq!(measured[1].allocations, Allocations { count: 2, bytes: 10 });
    }
}
