//! What replicators remember of the retrofit's row: a look that said yes serves the batches of its stream for a while.
//!
//! Only records rest on it, and only what is written: before a record is dropped, the row must be seen to be the same still.

use super::fault::Fault;
use super::state::{Look, SimulationState};
use super::work::Version;

/// How many turns a row is cached.
const LOOK_TURNS: u64 = 12;
/// The number of replicators, each with its own cache.
const PROCESSES: usize = 2;

impl SimulationState<'_> {
    /// By which job are these records dealt with? By the job of a cached row, whose row's version is returned too, or by this
    /// one, if the row allows it now. `None`: they are given back.
    pub(super) fn allowed(&mut self, now: Version) -> Option<(Version, Option<u64>)> {
        if !self.faults.is_on(Fault::Remembered) {
            return self.is_open(now).then_some((now, None));
        }
        let process = self.random.below(PROCESSES);
        let mut known = self.looks.iter().copied();
        let known = known.find(|look| look.process == process && look.stream == now.epoch);
        if let Some(look) = known.filter(|look| !self.has_expired(look)) {
            self.faults.hit(Fault::Remembered);
            self.note(|| format!("  by the look of turn {}", look.turn));
            return Some((look.version, Some(look.row)));
        }
        let open = self.is_open(now);
        self.looks.retain(|look| look.process != process);
        if open {
            let (row, turn) = (self.head.version, self.turns);
            self.looks.push(Look { process, stream: now.epoch, version: now, row, turn });
        }
        open.then_some((now, None))
    }

    fn has_expired(&self, look: &Look) -> bool {
        self.turns > look.turn + LOOK_TURNS
    }

    /// Drops the cached row.
    pub(super) fn forget_looks_at(&mut self, row: u64) {
        self.looks.retain(|look| look.row != row);
    }

    /// Waits for as long as a look can be remembered.
    pub(super) fn wait_for_looks(&mut self) {
        if !self.looks.is_empty() {
            self.turns += LOOK_TURNS + 1;
        }
    }
}
