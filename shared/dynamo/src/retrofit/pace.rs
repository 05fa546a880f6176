//! How fast a sender goes: core's rate, with a clock.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use keyfold_core::retrofit::Rate;

/// A rate that several slices of one sender share.
#[derive(Debug)]
pub(super) struct Pace {
    began: Instant,
    rate: Mutex<Rate>,
}

impl Pace {
    pub(super) fn new(most: Option<f64>) -> Pace {
        Pace { began: Instant::now(), rate: Mutex::new(Rate::new(most, Duration::ZERO)) }
    }

    pub(super) fn with<T>(&self, use_it: impl FnOnce(&mut Rate, Duration) -> T) -> T {
        use_it(&mut self.rate.lock().unwrap_or_else(PoisonError::into_inner), self.began.elapsed())
    }
}
