//! The rate at which the trail is read.

use std::time::{Duration, Instant};

/// Waits after each page, to limit the units consumed in a second.
#[derive(Debug)]
pub(crate) struct Pace {
    began: Instant,
    units: f64,
    per_second: f64,
}

impl Pace {
    pub(crate) fn new(per_second: f64) -> Pace {
        Pace { began: Instant::now(), units: 0.0, per_second: per_second.max(1.0) }
    }

    /// The units consumed so far.
    pub(crate) fn units(&self) -> f64 {
        self.units
    }

    /// Records the consumed units of a page.
    pub(crate) async fn consumed(&mut self, units: f64) {
        self.units += units;
        let due = Duration::try_from_secs_f64(self.units / self.per_second).unwrap_or(Duration::MAX);
        tokio::time::sleep(due.saturating_sub(self.began.elapsed())).await;
    }
}
