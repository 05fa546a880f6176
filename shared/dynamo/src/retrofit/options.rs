//! How far one slice goes, and what it leaves in the control table.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Requests under way at once.
pub const IN_FLIGHT_DEFAULT: usize = 16;
/// Items of a page.
pub const PAGE_ITEMS_DEFAULT: u32 = 500;
/// The pause before a difference is looked at again.
const RECHECK_PAUSE: Duration = Duration::from_millis(200);

/// The limits of a slice.
#[derive(Debug, Clone)]
pub struct SliceOptions {
    /// No page is begun after this; `None` to go on to the end.
    pub deadline: Option<Instant>,
    /// The slice ends here, whatever is under way; `None` to wait for it. What was under way may still be carried out.
    pub stop_at: Option<Instant>,
    /// Once this is set, no page is begun.
    pub stop: Arc<AtomicBool>,
    /// No more pages than this; `None` for any number.
    pub pages_max: Option<u32>,
    /// The most items of a page.
    pub page_items: u32,
    /// Requests under way at once.
    pub in_flight_max: usize,
    /// The pause before a difference is looked at again.
    pub recheck_pause: Duration,
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
            recheck_pause: RECHECK_PAUSE,
            owner: None,
            store: false,
        }
    }
}

impl SliceOptions {
    /// May page number `page`, counted from 0, be begun?
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
