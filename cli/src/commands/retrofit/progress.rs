//! The progress of a pass over items, on standard error: one line that changes on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use keyfold_core::retrofit::{Checkpoint, Pass, SegmentId};
use keyfold_dynamo::retrofit::{LEASE_TIME, PassWatch, RequestSender};

use super::line::{Line, time_left};
use crate::output::Output;

/// The progress of one pass, or of both sides of a comparison.
pub(super) struct Progress<'p> {
    line: Line,
    sender: &'p RequestSender,
    /// The approximate number of items; 0 if it is unknown.
    total: u64,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many items each segment has finished, by pass.
    items: BTreeMap<(Pass, SegmentId), u64>,
    /// How many items were finished before this run.
    before: u64,
}

impl<'p> Progress<'p> {
    /// The progress of a pass over about this many items.
    pub(super) fn new(out: &Output, sender: &'p RequestSender, total: u64) -> Progress<'p> {
        Progress { line: Line::new(out), sender, total, started: Instant::now(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the work, and shows the progress meanwhile.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        self.line.during(work, || self.text(false)).await
    }

    /// Shows the progress for the last time.
    pub(super) fn ends(&self) {
        self.line.note(&self.text(true));
    }

    /// Items per second, in this run.
    pub(super) fn items_per_second(&self) -> f64 {
        self.pace(false).items_per_second
    }

    fn text(&self, ended: bool) -> String {
        let spent = self.sender.spent();
        let units = spent.read.units + spent.write.units + spent.control.units;
        let pace = self.pace(ended);
        match (self.line.is_drawn(), pace.share()) {
            (true, Some(percent)) => {
                format!("{percent}%, {}: {pace}, {} throttled", pace.left(), spent.throttles)
            }
            _ => format!("{pace}, {units:.0} units, {} throttled, {}", spent.throttles, pace.left()),
        }
    }

    fn pace(&self, ended: bool) -> Pace {
        let state = self.state();
        let items: u64 = state.items.values().sum();
        let total = if ended { Some(items) } else { known_total(self.total, items) };
        Pace::new(items, items.saturating_sub(state.before), total, self.started.elapsed().as_secs_f64())
    }
}

impl PassWatch for Progress<'_> {
    /// Items of other workers count as done before this run.
    fn begins(&self, checkpoint: &Checkpoint) {
        let items = checkpoint.count("items");
        let mut state = self.state();
        let former = state.items.insert((checkpoint.pass(), checkpoint.segment()), items);
        state.before += items.saturating_sub(former.unwrap_or(0));
    }

    fn page(&self, checkpoint: &Checkpoint) {
        let items = checkpoint.count("items");
        self.state().items.insert((checkpoint.pass(), checkpoint.segment()), items);
    }

    fn waits(&self, segments: usize) {
        self.line.note(&format!(
            "another worker has {segments} segments: waiting until it is done; if it was killed, its leases expire within {} s",
            LEASE_TIME.as_secs()
        ));
    }
}

/// How far a pass is, and how fast it goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pace {
    pub(super) items: u64,
    /// The approximate number of all items; `None` if it is unknown.
    pub(super) total: Option<u64>,
    pub(super) items_per_second: f64,
}

impl Pace {
    /// The pace of a run that has done `new` of the items in these seconds.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    pub(super) fn new(items: u64, new: u64, total: Option<u64>, seconds: f64) -> Pace {
        Pace { items, total, items_per_second: new as f64 / seconds.max(0.001) }
    }

    fn share(&self) -> Option<u64> {
        self.total.map(|total| (self.items * 100).checked_div(total).unwrap_or(100))
    }

    /// How many seconds the rest takes at this rate.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "for people"
    )]
    pub(super) fn seconds_left(&self) -> Option<u64> {
        match self.total?.saturating_sub(self.items) {
            0 => Some(0),
            // Saturates.
            left if self.items_per_second > 0.0 => Some((left as f64 / self.items_per_second).ceil() as u64),
            _ => None,
        }
    }

    pub(super) fn left(&self) -> String {
        self.seconds_left().map_or_else(|| "time left unknown".to_owned(), time_left)
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = self.total.map(|total| format!(" of about {total}")).unwrap_or_default();
        write!(f, "{}{about} items, {:.0} items/s", self.items, self.items_per_second)
    }
}

/// The approximate number of items, if DynamoDB's count can be right: it is up to six hours old, and a pass may have found more.
pub(super) fn known_total(total: u64, items: u64) -> Option<u64> {
    Some(total).filter(|total| *total > 0 && *total >= items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_judged_by_this_run_alone() {
        let pace = Pace::new(600, 100, Some(1000), 10.0);
        assert_eq!(pace.to_string(), "600 of about 1000 items, 10 items/s");
        assert_eq!((pace.share(), pace.left()), (Some(60), "40 s left".to_owned()));
        assert_eq!(Pace::new(1000, 0, Some(1000), 10.0).left(), "0 s left");
        assert_eq!(Pace::new(600, 0, Some(1000), 10.0).left(), "time left unknown");
    }

    #[test]
    fn without_a_count_of_the_table_there_is_neither_a_share_nor_an_end() {
        let pace = Pace::new(600, 100, known_total(500, 600), 10.0);
        assert_eq!((pace.to_string(), pace.share()), ("600 items, 10 items/s".to_owned(), None));
        assert_eq!(pace.left(), "time left unknown");
        assert_eq!(Pace::new(0, 0, Some(0), 10.0).share(), Some(100), "an empty table");
    }
}
