//! How far one slice goes, and what it leaves in the control table.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use keyfold_core::retrofit::RATE_MAX;
use keyfold_core::retrofit::verify::PAUSES_SECONDS;

use crate::Endpoint;

/// Requests under way at once.
pub const IN_FLIGHT_DEFAULT: usize = 16;
/// Items of a page.
pub const PAGE_ITEMS_DEFAULT: u32 = 500;
/// The pause before a difference is looked at again, where no replicator is behind.
const RECHECK_PAUSE: Duration = Duration::from_millis(200);
/// How far a replicator may be behind that works well: the state machine waits until it is.
pub const LAG_SECONDS_DEFAULT: u64 = 60;
/// The same for a replicator on this machine.
const LAG_SECONDS_LOCAL: u64 = 5;

/// How far a replicator may be behind at this endpoint.
pub fn lag_seconds(endpoint: &Endpoint) -> u64 {
    if endpoint.is_loopback() { LAG_SECONDS_LOCAL } else { LAG_SECONDS_DEFAULT }
}

/// The most capacity units per second if none were given: a server on this machine has no capacity to share. `None` for a rate that is found.
pub fn rate(endpoint: &Endpoint) -> Option<f64> {
    endpoint.is_loopback().then_some(RATE_MAX)
}

/// The limits of a slice.
#[derive(Debug, Clone)]
pub struct SliceOptions {
    /// No page is started after this; `None` to go on to the end.
    pub deadline: Option<Instant>,
    /// The slice ends here, even with requests in flight, which may still succeed; `None` to wait for them.
    pub stop_at: Option<Instant>,
    /// Once this is set, no page is started.
    pub stop: Arc<AtomicBool>,
    /// No more pages than this; `None` for any number.
    pub pages_max: Option<u32>,
    /// The most items of a page.
    pub page_items: u32,
    /// Requests under way at once.
    pub in_flight_max: usize,
    /// How far behind the replicator may be: a difference is checked again for twice as long. 0 for tables without writers.
    pub lag_seconds: u64,
    /// Who works on the segment: takes its lease, and stops if another worker has it. `None` works without a lease.
    pub owner: Option<String>,
    /// Is the checkpoint kept in the control table?
    pub store: bool,
}

impl Default for SliceOptions {
    fn default() -> SliceOptions {
        SliceOptions {
            deadline: None,
            stop_at: None,
            stop: Arc::default(),
            pages_max: None,
            page_items: PAGE_ITEMS_DEFAULT,
            in_flight_max: IN_FLIGHT_DEFAULT,
            lag_seconds: 0,
            owner: None,
            store: false,
        }
    }
}

impl SliceOptions {
    /// How long to wait before the next check of a difference, after this number of pauses.
    pub(super) fn recheck_pause(&self, paused: u32) -> Duration {
        match self.lag_seconds {
            0 => RECHECK_PAUSE,
            _ => Duration::from_secs(PAUSES_SECONDS.get(paused as usize).copied().unwrap_or_default()),
        }
    }

    /// May page number `page`, counted from 0, be started?
    pub(super) fn may_begin(&self, page: u32) -> bool {
        self.pages_max.is_none_or(|most| page < most)
            && self.deadline.is_none_or(|deadline| Instant::now() < deadline)
            && !self.is_stopped()
    }

    /// Was it asked to stop?
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
