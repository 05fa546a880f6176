//! The progress of a pass over items, on standard error: a bar on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use keyfold_core::retrofit::{Checkpoint, Pass, SegmentId};
use keyfold_dynamo::retrofit::RequestSender;

use super::line::{Line, bar, time_left};
use crate::output::Output;

/// The progress of one pass, or of both sides of a comparison.
pub(super) struct Progress<'p> {
    line: Line,
    sender: &'p RequestSender,
    /// About how many items there are; 0 if that is not known.
    total: u64,
    begun: Instant,
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
        Progress { line: Line::new(out), sender, total, begun: Instant::now(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records where a segment begins or continues. What another worker did meanwhile counts as done before.
    pub(super) fn begins(&self, checkpoint: &Checkpoint) {
        let items = checkpoint.count("items");
        let mut state = self.state();
        let known = state.items.insert((checkpoint.pass(), checkpoint.segment()), items);
        state.before += items.saturating_sub(known.unwrap_or(0));
    }

    /// Records the progress of a segment.
    pub(super) fn page(&self, checkpoint: &Checkpoint) {
        let items = checkpoint.count("items");
        self.state().items.insert((checkpoint.pass(), checkpoint.segment()), items);
    }

    /// Waits for the work, and shows the progress meanwhile.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        self.line.during(work, || self.text(false)).await
    }

    /// Prints a line that stays.
    pub(super) fn note(&self, text: &str) {
        self.line.note(text);
    }

    /// Shows the progress for the last time.
    pub(super) fn ends(&self) {
        self.line.note(&self.text(true));
    }

    /// Items per second, in this run.
    pub(super) fn items_per_second(&self) -> f64 {
        self.shown(false).rate()
    }

    fn text(&self, ended: bool) -> String {
        let shown = self.shown(ended);
        if self.line.is_drawn() { shown.short() } else { shown.to_string() }
    }

    fn shown(&self, ended: bool) -> Shown {
        let spent = self.sender.spent();
        let state = self.state();
        let items: u64 = state.items.values().sum();
        Shown {
            items,
            new: items.saturating_sub(state.before),
            total: if ended { Some(items) } else { known(self.total, items) },
            seconds: self.begun.elapsed().as_secs_f64(),
            units: spent.read.units + spent.write.units + spent.control.units,
            throttles: spent.throttles,
        }
    }
}

/// The values that one line shows.
#[derive(Debug, Clone, Copy)]
struct Shown {
    items: u64,
    new: u64,
    /// About how many items there are; `None` if nobody knows.
    total: Option<u64>,
    seconds: f64,
    units: f64,
    throttles: u64,
}

impl Shown {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    fn rate(&self) -> f64 {
        self.new as f64 / self.seconds.max(0.001)
    }

    fn left(&self) -> String {
        left(self.items, self.total, self.rate())
    }

    /// What fits one row of a terminal, with a bar.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "for people"
    )]
    fn short(&self) -> String {
        let mut text = match self.total {
            Some(total) => {
                let share = if total == 0 { 1.0 } else { self.items as f64 / total as f64 };
                format!(
                    "{} {:>3}% {} of {} items",
                    bar(share),
                    (share * 100.0) as u64,
                    scaled(self.items),
                    scaled(total)
                )
            }
            None => format!("{} items", scaled(self.items)),
        };
        text += &format!(", {}/s", scaled(self.rate() as u64));
        if self.throttles > 0 {
            text += &format!(", {} throttled", scaled(self.throttles));
        }
        text + ", " + &self.left()
    }
}

/// About how many items there are, if DynamoDB's count can be right: it is up to six hours old, and items that are passed say more.
pub(super) fn known(total: u64, items: u64) -> Option<u64> {
    Some(total).filter(|total| *total > 0 && *total >= items)
}

/// How long the rest takes at this rate.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "for people"
)]
pub(super) fn seconds_left(items: u64, total: Option<u64>, rate: f64) -> Option<u64> {
    match total?.saturating_sub(items) {
        0 => Some(0),
        // Saturates.
        left if rate > 0.0 => Some((left as f64 / rate).ceil() as u64),
        _ => None,
    }
}

/// The same as a text.
pub(super) fn left(items: u64, total: Option<u64>, rate: f64) -> String {
    seconds_left(items, total, rate).map_or_else(|| "time left unknown".to_owned(), time_left)
}

/// A number in at most five characters: `9999`, `12.3k`, `1.2M`.
#[expect(clippy::cast_precision_loss, reason = "for people")]
fn scaled(number: u64) -> String {
    const UNITS: [&str; 5] = ["", "k", "M", "G", "T"];
    let (mut value, mut unit) = (number as f64, 0);
    if number < 10_000 {
        return number.to_string();
    }
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if value >= 99.95 { format!("{value:.0}{}", UNITS[unit]) } else { format!("{value:.1}{}", UNITS[unit]) }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.total {
            Some(total) => write!(f, "{} of about {total} items", self.items)?,
            None => write!(f, "{} items", self.items)?,
        }
        let (rate, left) = (self.rate(), self.left());
        write!(f, ", {rate:.0} items/s, {:.0} units, {} throttled, {left}", self.units, self.throttles)
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::COLUMNS_MAX;
    use super::*;

    const SOME: Shown =
        Shown { items: 600, new: 100, total: Some(1000), seconds: 10.0, units: 400.4, throttles: 2 };

    #[test]
    fn time_left_is_judged_by_this_run_alone() {
        assert_eq!(
            SOME.to_string(),
            "600 of about 1000 items, 10 items/s, 400 units, 2 throttled, 40 s left"
        );
        assert_eq!(SOME.short(), "[########------]  60% 600 of 1000 items, 10/s, 2 throttled, 40 s left");
        assert_eq!(Shown { items: 1000, new: 0, ..SOME }.left(), "0 s left");
        assert_eq!(Shown { new: 0, ..SOME }.left(), "time left unknown");
    }

    #[test]
    fn without_a_count_of_the_table_there_is_neither_a_share_nor_an_end() {
        let uncounted = Shown { total: None, throttles: 0, ..SOME };
        assert_eq!(uncounted.short(), "600 items, 10/s, time left unknown");
        assert_eq!(uncounted.to_string(), "600 items, 10 items/s, 400 units, 0 throttled, time left unknown");
        let empty = Shown { items: 0, new: 0, total: Some(0), throttles: 0, ..SOME };
        assert_eq!(empty.short(), "[##############] 100% 0 of 0 items, 0/s, 0 s left");
    }

    #[test]
    fn the_bar_fits_a_terminal_however_large_the_numbers_are() {
        for items in [0, 9_999, 99_949, 99_950, 999_949, 999_950, 12_345_678, 999_999_999_999] {
            let shown = Shown {
                items,
                new: items,
                total: Some(items + 1_000_000_000),
                seconds: 1.0,
                units: 1e9,
                throttles: items,
            };
            assert!(shown.short().len() <= COLUMNS_MAX, "{}", shown.short());
            assert!(scaled(items).len() <= 5, "{}", scaled(items));
        }
        assert_eq!(
            [9_999, 12_345, 99_950, 999_950, 1_234_567].map(scaled),
            ["9999", "12.3k", "100k", "1.0M", "1.2M"]
        );
    }
}
