//! The use of a record, by the table whose stream it came from and the phase. After a switch (`reversed`), a record of the target is carried
//! to the source, and one of the source is late: `protocol/late.rs` decides whether it is noted.

use super::{Direction, RetrofitState};
use crate::retrofit::fence::Epoch;
use crate::retrofit::job::Job;
use crate::retrofit::mapping::Mapping;

/// The use of the records of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery {
    /// They are carried to the other table.
    Carry(Job),
    /// Their table is closed: this job writes it, and other writes to it are late.
    Late {
        /// The job that writes the records' table.
        job: Job,
        /// The epoch of the records' stream.
        epoch: Epoch,
    },
    /// They are not used: the other table was never open, or its changes are not carried now. The replicator (`Replicator::open`) then fails a batch of the
    /// source, so that Lambda keeps its records, and ignores one of the target.
    Nothing,
}

impl RetrofitState {
    /// The use of records of the source's stream or, if `of` is `Reverse`, of the target's.
    pub fn delivery(&self, mapping: &Mapping, of: Direction) -> Delivery {
        let Some(carried) = self.phase.direction() else { return Delivery::Nothing };
        let (forward, reverse) = (self.job(mapping.clone()), self.reverse_job(mapping));
        match (of, carried, reverse) {
            (Direction::Forward, Direction::Forward, _) => Delivery::Carry(forward),
            (Direction::Reverse, Direction::Reverse, Some(back)) => Delivery::Carry(back),
            (Direction::Forward, Direction::Reverse, Some(job)) => Delivery::Late { job, epoch: self.epoch },
            (Direction::Reverse, Direction::Forward, Some(back)) if self.was_reversed() => {
                Delivery::Late { job: forward, epoch: back.epoch() }
            }
            _ => Delivery::Nothing,
        }
    }
}
