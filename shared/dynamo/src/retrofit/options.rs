//! How far one slice goes.

use std::time::{Duration, Instant};

/// Requests under way at once.
pub const IN_FLIGHT_DEFAULT: usize = 16;
/// Items of a page.
pub const PAGE_ITEMS_DEFAULT: u32 = 500;
/// The pause before a difference is looked at again.
const RECHECK_PAUSE: Duration = Duration::from_millis(200);

/// The limits of a slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SliceOptions {
    /// No page is begun after this; `None` to go on to the end.
    pub deadline: Option<Instant>,
    /// No more pages than this; `None` for any number.
    pub pages_max: Option<u32>,
    /// Items of a page.
    pub page_items: u32,
    /// Requests under way at once.
    pub in_flight_max: usize,
    /// The most items in a second; `None` for as many as can be.
    pub items_per_second: Option<f64>,
    /// The pause before a difference is looked at again.
    pub recheck_pause: Duration,
}

impl Default for SliceOptions {
    fn default() -> SliceOptions {
        SliceOptions {
            deadline: None,
            pages_max: None,
            page_items: PAGE_ITEMS_DEFAULT,
            in_flight_max: IN_FLIGHT_DEFAULT,
            items_per_second: None,
            recheck_pause: RECHECK_PAUSE,
        }
    }
}

impl SliceOptions {
    /// Must the slice end before page number `page`, counted from 0?
    pub(super) fn ends_before(&self, page: u32) -> bool {
        self.pages_max.is_some_and(|most| page >= most)
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// How long `items` items have to take at least.
    pub(super) fn time_for(&self, items: usize) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "a page has few items")]
        let seconds = self.items_per_second.map_or(0.0, |rate| items as f64 / rate.max(0.1));
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }
}
