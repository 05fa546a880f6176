//! The progress of an operation on standard error: one line that changes on a terminal, plain lines elsewhere. And what its passes over
//! items did, for programs and for people.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use keyfold_core::retrofit::operate::OperationStatus;
use keyfold_core::retrofit::{Checkpoint, Pass, SegmentId, ThrottledBy};
use keyfold_dynamo::retrofit::{ConsumedTotals, LEASE_TIME, PassEnd, PassWatch};
use serde_json::{Value, json};

use super::texts::key_text;
use crate::line::{Line, duration};
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
    pass: PassState,
    stages: Vec<Stage>,
}

/// The pass that is at work.
#[derive(Default)]
struct PassState {
    /// `None` if no pass is at work.
    started: Option<Instant>,
    /// The approximate number of items; 0 if it is unknown.
    total: u64,
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

    /// Reports of the passes, stage by stage.
    pub(super) fn stages(&self) -> Vec<Stage> {
        std::mem::take(&mut self.state().stages)
    }

    fn text(&self) -> String {
        let state = self.state();
        let status = state.status.as_ref();
        let parts = [
            status.and_then(|status| Some(format!("stopped for {} s", status.paused_ms? / 1_000))),
            match state.pass.started {
                Some(_) => Some(state.pass.text()),
                None => status.map(|status| status.text.clone()),
            },
            status.and_then(|status| Some(format!("trying again: {}", status.failure.as_ref()?.message))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

impl PassState {
    /// How many items are finished, and how many of them since this run began.
    fn items(&self) -> (u64, u64) {
        let items: u64 = self.items.values().sum();
        (items, items.saturating_sub(self.before))
    }

    fn elapsed(&self) -> Duration {
        self.started.map(|started| started.elapsed()).unwrap_or_default()
    }

    fn text(&self) -> String {
        let pace = Pace::new(self.items(), self.total, self.elapsed());
        let limited = self.limited_by.map(|by| format!(", limited by {}", by.words())).unwrap_or_default();
        format!("{pace}{limited}, {} throttled, {:.0} units", self.spent.throttles, self.spent.units())
    }
}

impl PassWatch for Progress {
    fn step(&self, status: OperationStatus) {
        let mut state = self.state();
        state.pass = PassState::default();
        state.status = Some(status);
    }

    fn begins_pass(&self, _pass: Pass, _repair: bool, total: u64) {
        self.state().pass = PassState { started: Some(Instant::now()), total, ..PassState::default() };
    }

    /// Items of other workers count as done before this run.
    fn begins(&self, checkpoint: &Checkpoint) {
        let pass = &mut self.state().pass;
        let items = checkpoint.count("items");
        let former = pass.items.insert(checkpoint.segment(), items);
        pass.before += items.saturating_sub(former.unwrap_or(0));
    }

    fn page(&self, checkpoint: &Checkpoint) {
        self.state().pass.items.insert(checkpoint.segment(), checkpoint.count("items"));
    }

    fn spends(&self, spent: &ConsumedTotals, limited_by: Option<ThrottledBy>) {
        let pass = &mut self.state().pass;
        pass.spent = spent.clone();
        pass.limited_by = limited_by;
    }

    fn waits(&self, segments: usize) {
        self.line.note(&format!(
            "another worker has {segments} segments: waiting until it is done; if it was killed, its leases expire within {} s",
            LEASE_TIME.as_secs()
        ));
    }

    fn ends_pass(&self, pass: Pass, repair: bool, end: &PassEnd) {
        let mut state = self.state();
        let at_work = std::mem::take(&mut state.pass);
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
            let key = difference.key.as_ref().map_or_else(|| "(no source key)".to_owned(), key_text);
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
    elapsed: Duration,
    /// After a backfill: the items that do not fit, by reason.
    pub(super) misfits: Option<Value>,
}

impl Stage {
    fn add(&mut self, end: &PassEnd, pass: &PassState) {
        self.done &= end.done;
        self.differing += end.differing;
        end.counts.iter().for_each(|(name, count)| *self.counts.entry(name.clone()).or_default() += count);
        self.spent.add(&pass.spent);
        self.items += pass.items().1;
        self.elapsed += pass.elapsed();
    }

    pub(super) fn json(&self) -> Value {
        let spent = &self.spent;
        let mut value = json!({
            "done": self.done, "counts": self.counts, "itemsPerSecond": per_second(self.items, self.elapsed),
            "readUnits": spent.read.units, "writeUnits": spent.write.units, "controlWriteUnits": spent.control.units,
            "resent": spent.resent, "throttled": spent.throttles,
        });
        if let Some(misfits) = &self.misfits {
            value["misfits"] = misfits.clone();
        }
        value
    }

    pub(super) fn text(&self) -> String {
        let counted: Vec<String> =
            self.counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let ConsumedTotals { read, write, control, resent, .. } = &self.spent;
        format!(
            "{}: {} ({} items/s, {} read units, {} write units, {} units of the control table, {resent} retries)\n",
            self.name,
            counted.join(", "),
            per_second(self.items, self.elapsed),
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
    /// How many of them were done in the elapsed time.
    new: u64,
    elapsed: Duration,
    /// The approximate number of all items; `None` if it is unknown.
    pub(super) total: Option<u64>,
    pub(super) is_done: bool,
}

impl Pace {
    /// DynamoDB's count of a table is up to six hours old, so a pass may have found more; the total is then unknown.
    pub(super) fn new((items, new): (u64, u64), about: u64, elapsed: Duration) -> Pace {
        let total = Some(about).filter(|about| *about > 0 && *about >= items);
        Pace { items, new, elapsed, total, is_done: false }
    }

    /// The same for a pass that is over.
    pub(super) fn done(self) -> Pace {
        Pace { total: Some(self.items), is_done: true, ..self }
    }

    pub(super) fn items_per_second(&self) -> u64 {
        per_second(self.new, self.elapsed)
    }

    /// How many seconds the rest takes at this rate.
    pub(super) fn seconds_left(&self) -> Option<u64> {
        let left = self.total?.saturating_sub(self.items);
        let at_this_rate =
            || Some(left.saturating_mul(milliseconds(self.elapsed)).checked_div(self.new)?.div_ceil(1_000));
        if left == 0 { Some(0) } else { at_this_rate() }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_done {
            return write!(f, "done, {} items", self.items);
        }
        let about = self.total.map(|total| format!(" of about {total}")).unwrap_or_default();
        let left = self.seconds_left().map(|seconds| format!("{} left", duration(seconds)));
        let left = left.unwrap_or_else(|| "time left unknown".to_owned());
        write!(f, "{}{about} items, {} items/s, {left}", self.items, self.items_per_second())
    }
}

fn per_second(items: u64, elapsed: Duration) -> u64 {
    items.saturating_mul(1_000) / milliseconds(elapsed)
}

fn milliseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests;
