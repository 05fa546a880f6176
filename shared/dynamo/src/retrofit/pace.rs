//! How fast a sender goes: core's rate, with a clock.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use keyfold_core::retrofit::Rate;

/// How often it is looked how far behind the replicator is.
const LOOK_PERIOD: Duration = Duration::from_secs(10);

/// A rate that several slices of one sender share.
#[derive(Debug)]
pub(super) struct Pace {
    began: Instant,
    rate: Mutex<Rate>,
    looked: Mutex<Duration>,
}

impl Pace {
    pub(super) fn new(most: Option<f64>) -> Pace {
        Pace {
            began: Instant::now(),
            rate: Mutex::new(Rate::new(most, Duration::ZERO)),
            looked: Mutex::default(),
        }
    }

    /// Is it time to read how far behind the replicator is? True for one of the callers.
    pub(super) fn is_to_look(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.began.elapsed();
        let due = now.saturating_sub(*looked) >= LOOK_PERIOD;
        if due {
            *looked = now;
        }
        due
    }

    pub(super) fn with<T>(&self, use_it: impl FnOnce(&mut Rate, Duration) -> T) -> T {
        use_it(&mut self.rate.lock().unwrap_or_else(PoisonError::into_inner), self.began.elapsed())
    }
}
