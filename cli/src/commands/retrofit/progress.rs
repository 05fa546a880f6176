//! The progress of an operation on standard error: one line that changes on a terminal, plain lines elsewhere. And what its passes over
//! items did, for programs and for people.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use keyfold_core::retrofit::operate::OperationStatus;
use keyfold_core::retrofit::{Checkpoint, Pass, SegmentId, ThrottledBy};
use keyfold_dynamo::retrofit::{ConsumedTotals, LEASE_TIME, PassEnd, PassWatch};
use serde_json::{Value, json};

use crate::line::{Line, time_left};
use crate::output::Output;

/// The progress of one operation.
pub(super) struct Progress {
    line: Line,
    /// How many differences are listed.
    show: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    status: Option<OperationStatus>,
    pass: Option<PassState>,
    stages: Vec<Stage>,
}

/// A pass that is at work.
struct PassState {
    /// The approximate number of items; 0 if it is unknown.
    total: u64,
    started: Instant,
    /// How many items each segment has finished.
    items: BTreeMap<SegmentId, u64>,
    /// How many items were finished before this run.
    before: u64,
    spent: ConsumedTotals,
    limited_by: Option<ThrottledBy>,
}

impl Progress {
    /// Lists this many differences of a comparison.
    pub(super) fn new(out: &Output, show: usize) -> Progress {
        Progress { line: Line::new(out), show, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the work, and shows the progress meanwhile.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        self.line.during(work, || self.text()).await
    }

    /// Another step of the operation begins.
    pub(super) fn status(&self, status: OperationStatus) {
        let mut state = self.state();
        state.pass = None;
        state.status = Some(status);
    }

    /// Reports of the passes, stage by stage.
    pub(super) fn stages(&self) -> Vec<Stage> {
        std::mem::take(&mut self.state().stages)
    }

    fn text(&self) -> String {
        let state = self.state();
        let status = state.status.as_ref();
        let paused = status.and_then(|status| status.paused_ms);
        let failure = status.and_then(|status| status.failure.as_ref());
        let what = match (&state.pass, status) {
            (Some(pass), _) => Some(pass.text(self.line.is_drawn(), false)),
            (None, status) => status.map(|status| status.text.clone()),
        };
        let parts = [
            paused.map(|paused| format!("stopped for {} s", paused / 1_000)),
            what,
            failure.map(|failure| format!("trying again: {}", failure.message)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

impl PassState {
    fn text(&self, short: bool, ended: bool) -> String {
        let (pace, throttles) = (self.pace(ended), self.spent.throttles);
        let limited = self.limited_by.map(|by| format!(", limited by {}", by.words())).unwrap_or_default();
        match pace.share() {
            Some(percent) if short => {
                format!("{percent}%, {}: {pace}, {throttles} throttled{limited}", pace.left())
            }
            _ => {
                let units = self.spent.units();
                format!("{pace}, {units:.0} units, {throttles} throttled, {}{limited}", pace.left())
            }
        }
    }

    fn pace(&self, ended: bool) -> Pace {
        let items: u64 = self.items.values().sum();
        let total = if ended { Some(items) } else { known_total(self.total, items) };
        Pace::new(items, items.saturating_sub(self.before), total, self.started.elapsed().as_secs_f64())
    }
}

impl PassWatch for Progress {
    fn begins_pass(&self, _pass: Pass, _repair: bool, total: u64) {
        let (started, items, spent) = (Instant::now(), BTreeMap::new(), ConsumedTotals::default());
        self.state().pass = Some(PassState { total, started, items, before: 0, spent, limited_by: None });
    }

    /// Items of other workers count as done before this run.
    fn begins(&self, checkpoint: &Checkpoint) {
        if let Some(pass) = &mut self.state().pass {
            let items = checkpoint.count("items");
            let former = pass.items.insert(checkpoint.segment(), items);
            pass.before += items.saturating_sub(former.unwrap_or(0));
        }
    }

    fn page(&self, checkpoint: &Checkpoint) {
        if let Some(pass) = &mut self.state().pass {
            pass.items.insert(checkpoint.segment(), checkpoint.count("items"));
        }
    }

    fn spends(&self, spent: &ConsumedTotals, limited_by: Option<ThrottledBy>) {
        if let Some(pass) = &mut self.state().pass {
            pass.spent = spent.clone();
            pass.limited_by = limited_by;
        }
    }

    fn waits(&self, segments: usize) {
        self.line.note(&format!(
            "another worker has {segments} segments: waiting until it is done; if it was killed, its leases expire within {} s",
            LEASE_TIME.as_secs()
        ));
    }

    fn ends_pass(&self, pass: Pass, repair: bool, end: &PassEnd) {
        let mut state = self.state();
        let Some(at_work) = state.pass.take() else { return };
        self.line.note(&at_work.text(false, true));
        let name = match pass {
            Pass::VerifySource | Pass::VerifyTarget if repair => "repair",
            Pass::VerifySource | Pass::VerifyTarget => "comparison",
            pass => pass.name(),
        };
        if state.stages.last().is_none_or(|stage| stage.name != name) {
            state.stages.push(Stage { name, done: true, ..Stage::default() });
        }
        let Some(stage) = state.stages.last_mut() else { unreachable!("pushed above") };
        let left = usize::try_from(stage.differing).map_or(0, |listed| self.show.saturating_sub(listed));
        for difference in end.differences.iter().take(left) {
            let key = difference.key.as_ref().and_then(|key| serde_json::to_string(key).ok());
            let key = key.unwrap_or_else(|| "(no source key)".to_owned());
            let repaired = if difference.repaired { ", repaired" } else { "" };
            self.line.note(&format!("{} {key}{repaired}", difference.class.name()));
        }
        stage.add(end, &at_work);
    }
}

/// A report of the passes of one stage: a backfill, or a comparison of both sides.
#[derive(Default)]
pub(super) struct Stage {
    pub(super) name: &'static str,
    done: bool,
    counts: BTreeMap<String, u64>,
    differing: u64,
    spent: ConsumedTotals,
    items: u64,
    seconds: f64,
}

impl Stage {
    fn add(&mut self, end: &PassEnd, pass: &PassState) {
        self.done &= end.done;
        self.differing += end.differing;
        end.counts.iter().for_each(|(name, count)| *self.counts.entry(name.clone()).or_default() += count);
        self.spent.add(&pass.spent);
        self.items += pass.items.values().sum::<u64>().saturating_sub(pass.before);
        self.seconds += pass.started.elapsed().as_secs_f64();
    }

    fn items_per_second(&self) -> f64 {
        Pace::new(self.items, self.items, None, self.seconds).items_per_second
    }

    pub(super) fn json(&self) -> Value {
        let spent = &self.spent;
        json!({
            "done": self.done, "counts": self.counts, "itemsPerSecond": self.items_per_second().round(),
            "readUnits": spent.read.units, "writeUnits": spent.write.units, "controlWriteUnits": spent.control.units,
            "resent": spent.resent, "throttled": spent.throttles,
        })
    }

    pub(super) fn text(&self) -> String {
        let counted: Vec<String> =
            self.counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let ConsumedTotals { read, write, control, resent, .. } = &self.spent;
        format!(
            "{}: {} ({:.0} items/s, {} read units, {} write units, {} units of the control table, {resent} retries)\n",
            self.name,
            counted.join(", "),
            self.items_per_second(),
            read.units,
            write.units,
            control.units
        )
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
mod tests;
