//! A retrofit's row, and what follows from it.

use std::collections::BTreeMap;

use super::{Direction, Phase};
use crate::retrofit::fence::Epoch;
use crate::retrofit::generation::Generation;
use crate::retrofit::job::{Job, Tracking};
use crate::retrofit::mapping::{Mapping, MappingHash};
use crate::retrofit::protocol_choice::Protocol;

/// A retrofit's row.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrofitState {
    /// The retrofit's name.
    pub retrofit: String,
    /// How far it is.
    pub phase: Phase,
    /// What all work must have in common: the mapping's digest, as it was when the retrofit was started.
    pub mapping: MappingHash,
    /// The indexes that the retrofit fills, each with a digest of its keys. A later manifest can have more of them, or other
    /// keys: those this retrofit did not fill.
    pub indexes: BTreeMap<String, String>,
    /// Which protocol applies.
    pub protocol: Protocol,
    /// The epoch of the stream.
    pub epoch: Epoch,
    /// The stream that is followed; `None` in place, without a stream.
    pub stream: Option<String>,
    /// Rises with every change of the row.
    pub version: u64,
    /// The second since 1970 from which on no worker begins to write as in the phase before. Requests that were sent before
    /// may still be under way.
    pub since: Option<u64>,
    /// Is the target tidy? Then it has no tombstones, it gets no new ones, and no write of an earlier phase is in flight.
    pub swept: bool,
    /// The second since 1970 by which every change leaves a row: what was deleted before may have left nothing.
    pub rows_since: Option<u64>,
    /// Which writes are in force; those of earlier generations are sealed. `None` until `tidy`. With it each item that changes has
    /// a row in the control table, and each write checks its seal. Never taken back: the rows know what the target no longer shows.
    pub generation: Option<Generation>,
    /// The target's stream that the way back follows, once there was one, and the epoch of its numbers.
    pub reverse_stream: Option<ReverseStream>,
    /// A digest of what a mended manifest must leave as it is.
    pub fixed_digest: String,
    /// Was the manifest mended, and may workers still write by the earlier one?
    pub revising: bool,
    /// Has the epoch risen with another stream of the source, and may workers still write by records of the former one? Never in place:
    /// there a late write is refused, because its guard compares the item's attributes.
    pub restreaming: bool,
    /// The roles that may write to a table that follows the other one. Not empty once policies on the tables stop writers; empty
    /// where writers stop by themselves.
    pub exempt: Vec<String>,
    /// During a stop: the second since 1970 from which on writers may have been stopped.
    pub stopped_at: Option<u64>,
    /// During a stop: does it lead to `settled`, without a way back?
    pub for_good: bool,
    /// The second since 1970 at which writers were moved last.
    pub turned_at: Option<u64>,
    /// The generation that began then.
    pub turned_in: Option<Generation>,
}

/// The stream that is followed from the target back to the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReverseStream {
    /// The target's stream.
    pub stream: String,
    /// Rises with every other stream of the target.
    pub epoch: Epoch,
}

impl RetrofitState {
    /// Was the target tidied, or is it being so? Then each item that changes leaves a row in the control table.
    pub fn keeps_rows(&self) -> bool {
        self.generation.is_some()
    }

    /// Were the target's writers ever let in? From then on an item without a fence is as good as any.
    pub fn was_reversed(&self) -> bool {
        self.reverse_stream.is_some()
    }

    /// Is it still to be completed that the target is tidied?
    pub fn is_tidying(&self) -> bool {
        self.keeps_rows() && !self.swept
    }

    /// Do readers of the target meet tombstones?
    pub fn leaves_tombstones(&self) -> bool {
        self.protocol == Protocol::Fenced && !(self.keeps_rows() && self.swept)
    }

    /// Where workers keep versions, in this phase.
    pub fn tracking(&self) -> Tracking {
        match self.phase {
            _ if !self.keeps_rows() => Tracking::Tombstones,
            Phase::Tidying => Tracking::TombstonesAndRows,
            _ => Tracking::Rows,
        }
    }

    /// Would this job write as in an earlier phase? Seals refuse an earlier generation that keeps versions in the same way. The last generation
    /// that carried changes is never sealed: after the end of the retrofit, its rows are deleted and nothing else refuses its writes.
    pub fn outdates(&self, job: &Job) -> bool {
        let is_ending = matches!(self.phase, Phase::Finalising | Phase::Finalised);
        job.tracking() != self.tracking() || (is_ending && job.generation() != self.generation)
    }

    /// Was this index, with the key that it has now, among those that the retrofit was started to fill?
    pub fn filled(&self, mapping: &Mapping, index: &str) -> bool {
        mapping.filled().get(index).is_some_and(|keys| self.indexes.get(index) == Some(keys))
    }

    /// The job of this row, once [`check`](Self::check) has passed.
    pub fn job(&self, mapping: Mapping) -> Job {
        let job = Job::new(mapping, self.epoch).tracked_by(self.tracking());
        let job = job.sealed_by(self.generation);
        if self.was_reversed() { job.by_rows_alone() } else { job }
    }

    /// The job of the way back; `None` without one, or before the first switch.
    pub fn reverse_job(&self, mapping: &Mapping) -> Option<Job> {
        let back = self.reverse_stream.as_ref()?;
        let job = Job::new(mapping.reverse().ok()?, back.epoch);
        Some(job.tracked_by(Tracking::Rows).sealed_by(self.generation).by_rows_alone())
    }

    /// The job of the direction that items are carried in; `None` if they are carried in none.
    pub fn leading_job(&self, mapping: &Mapping) -> Option<Job> {
        match self.phase.direction()? {
            Direction::Forward => Some(self.job(mapping.clone())),
            Direction::Reverse => self.reverse_job(mapping),
        }
    }

    /// The job of the other direction; `None` if there was none yet.
    pub fn other_job(&self, job: &Job) -> Option<Job> {
        let forward = job.mapping().forward();
        if job.mapping().is_reverse() { Some(self.job(forward.clone())) } else { self.reverse_job(forward) }
    }
}
