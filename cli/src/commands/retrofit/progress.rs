//! The progress of a pass, on standard error: a bar on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use keyfold_core::retrofit::{Checkpoint, Pass, SegmentId};
use keyfold_dynamo::retrofit::RequestSender;

use crate::output::Output;

/// How often the bar is redrawn.
const BAR_PERIOD: Duration = Duration::from_millis(100);
/// How often a plain line is printed.
const LINE_PERIOD: Duration = Duration::from_secs(2);
/// The width of the bar.
const BAR_CHARS: usize = 24;
/// Moves to the beginning of the line and erases it.
const REDRAW: &str = "\r\x1b[K";

/// The progress of one pass, or of both sides of a comparison.
pub(super) struct Progress<'p> {
    out: &'p Output,
    sender: &'p RequestSender,
    /// About how many items there are, if that is known.
    total: u64,
    begun: Instant,
    bar: bool,
    state: Mutex<State>,
}

struct State {
    /// How many items each segment has finished, by pass.
    items: BTreeMap<(Pass, SegmentId), u64>,
    /// How many items were finished before this run.
    before: u64,
    shown: Option<Instant>,
}

impl<'p> Progress<'p> {
    /// The progress of a pass over about this many items.
    pub(super) fn new(out: &'p Output, sender: &'p RequestSender, total: u64) -> Progress<'p> {
        let state = State { items: BTreeMap::new(), before: 0, shown: None };
        let bar = std::io::stderr().is_terminal() && out.draws();
        Progress { out, sender, total, begun: Instant::now(), bar, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records where a segment begins or continues.
    pub(super) fn begins(&self, checkpoint: &Checkpoint) {
        let items = checkpoint.count("items");
        let mut state = self.state();
        state.before += items;
        state.items.insert((checkpoint.pass(), checkpoint.segment()), items);
    }

    /// Records the progress of a segment, and shows it from time to time.
    pub(super) fn page(&self, checkpoint: &Checkpoint) {
        let mut state = self.state();
        state.items.insert((checkpoint.pass(), checkpoint.segment()), checkpoint.count("items"));
        let period = if self.bar { BAR_PERIOD } else { LINE_PERIOD };
        if state.shown.is_some_and(|last| last.elapsed() < period) {
            return;
        }
        state.shown = Some(Instant::now());
        let shown = self.shown(&state);
        drop(state);
        if self.bar {
            self.out.note(format!("{REDRAW}{} {shown}", shown.bar()));
        } else {
            self.out.note(format!("{shown}\n"));
        }
    }

    /// Shows the progress for the last time.
    pub(super) fn ends(&self) {
        let shown = self.shown(&self.state());
        if self.bar {
            self.out.note(REDRAW);
        }
        self.out.note(format!("{shown}\n"));
    }

    /// Items per second, in this run.
    pub(super) fn items_per_second(&self) -> f64 {
        self.shown(&self.state()).rate()
    }

    fn shown(&self, state: &State) -> Shown {
        let spent = self.sender.spent();
        let items: u64 = state.items.values().sum();
        Shown {
            items,
            new: items.saturating_sub(state.before),
            total: self.total.max(items),
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
    total: u64,
    seconds: f64,
    units: f64,
    throttles: u64,
}

impl Shown {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    fn rate(&self) -> f64 {
        self.new as f64 / self.seconds.max(0.001)
    }

    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    fn share(&self) -> f64 {
        if self.total == 0 { 1.0 } else { self.items as f64 / self.total as f64 }
    }

    fn bar(&self) -> String {
        // Between 0 and the width.
        let full = (self.share() * BAR_CHARS as f64) as usize;
        format!("[{}{}]", "#".repeat(full), "-".repeat(BAR_CHARS - full.min(BAR_CHARS)))
    }

    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    fn left(&self) -> String {
        let (left, rate) = (self.total - self.items, self.rate());
        if left > 0 && rate <= 0.0 {
            return "time left unknown".to_owned();
        }
        // Saturates.
        let seconds = (left as f64 / rate.max(0.001)).ceil() as u64;
        match seconds {
            0..=119 => format!("{seconds} s left"),
            120..=7199 => format!("{} min left", seconds / 60),
            _ => format!("{} h left", seconds / 3600),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of about {} items, {:.0} items/s, {:.0} units, {} throttled, {}",
            self.items,
            self.total,
            self.rate(),
            self.units,
            self.throttles,
            self.left()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_and_time_left_is_judged_by_this_run_alone() {
        let shown = Shown { items: 600, new: 100, total: 1000, seconds: 10.0, units: 400.4, throttles: 2 };
        assert_eq!(shown.bar(), "[##############----------]");
        assert_eq!(
            shown.to_string(),
            "600 of about 1000 items, 10 items/s, 400 units, 2 throttled, 40 s left"
        );
        let done = Shown { items: 1000, new: 0, ..shown };
        assert_eq!(
            (done.bar(), done.left()),
            (format!("[{}]", "#".repeat(BAR_CHARS)), "0 s left".to_owned())
        );
        assert_eq!(Shown { new: 0, ..shown }.left(), "time left unknown");
        let empty = Shown { items: 0, new: 0, total: 0, ..shown };
        assert_eq!(empty.bar(), format!("[{}]", "#".repeat(BAR_CHARS)));
    }
}
