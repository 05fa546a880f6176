//! How far behind the replicator is, as it says so itself: one row of the control table, written by whichever process carried a batch
//! over last. It is news: nothing that is written depends on it. A backfill goes slower by it.

use super::control::{self, number, whole};
use super::job::Job;
use super::progress::whatever_is_there;
use super::request::{Action, TableRole, Write};
use crate::value::Item;

const SORT: &str = "lag";
const BEHIND: &str = "behindMs";
const TOLD: &str = "told";

/// A replicator that is further behind is yielded to.
const YIELD_BEHIND_MS: u64 = 60_000;
/// An older note is ignored: without changes the replicator writes none.
const FRESH_SECONDS: u64 = 60;

/// The replicator's last note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lag {
    /// How old the newest change was that had arrived then; where a batch failed, the oldest change that had not.
    pub behind_ms: u64,
    /// The second since 1970 of the note.
    pub told: u64,
}

impl Lag {
    /// The key of its row.
    pub fn key(job: &Job) -> Item {
        control::key(&format!("retrofit#{}", job.mapping().name()), SORT)
    }

    /// The write that says so.
    pub fn store(self, job: &Job) -> Write {
        let mut row = control::row(Lag::key(job));
        row.insert(BEHIND, number(self.behind_ms));
        row.insert(TOLD, number(self.told));
        Write { role: TableRole::Control, action: Action::Put(row), guard: whatever_is_there() }
    }

    /// Should the backfill slow down, at this second since 1970?
    pub fn is_behind(self, now_seconds: u64) -> bool {
        self.behind_ms > YIELD_BEHIND_MS && now_seconds.saturating_sub(self.told) <= FRESH_SECONDS
    }

    /// Reads a row.
    pub fn read(row: &Item) -> Option<Lag> {
        Some(Lag { behind_ms: whole(row, BEHIND)?, told: whole(row, TOLD)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrofit::tests::job;

    #[test]
    fn what_was_said_last_is_read_again() {
        let (job, lag) = (job("moved"), Lag { behind_ms: 1_500, told: 9 });
        let write = lag.store(&job);
        let Action::Put(row) = &write.action else { panic!("a row is put") };
        assert_eq!(Lag::read(row), Some(lag));
        assert!(write.guard.holds(None) && write.guard.holds(Some(row)), "whoever spoke before");
    }

    #[test]
    fn only_a_long_lag_of_now_is_yielded_to() {
        let lag = |behind_ms| Lag { behind_ms, told: 1_000 };
        assert!(lag(YIELD_BEHIND_MS + 1).is_behind(1_000 + FRESH_SECONDS));
        assert!(!lag(YIELD_BEHIND_MS).is_behind(1_000));
        assert!(!lag(YIELD_BEHIND_MS + 1).is_behind(1_001 + FRESH_SECONDS));
    }
}
