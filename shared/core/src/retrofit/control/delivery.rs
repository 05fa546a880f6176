//! The use of a record, by the table whose stream it came from and the phase.

use super::{Direction, RetrofitState};
use crate::retrofit::fence::Epoch;
use crate::retrofit::job::Job;
use crate::retrofit::mapping::Mapping;

/// What becomes of the records of a batch.
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
    /// Nothing: the other table was never open, or is not followed now. The replicator then fails the batch, unless it comes from the target.
    Nothing,
}

impl RetrofitState {
    /// What becomes of records of the source's stream, or, if they lead back, of the target's.
    pub fn delivery(&self, mapping: &Mapping, records_lead: Direction) -> Delivery {
        let Some(carried) = self.phase.direction() else { return Delivery::Nothing };
        let (there, back) = (self.job(mapping.clone()), self.reverse_job(mapping));
        match (records_lead, carried, back) {
            (Direction::Forward, Direction::Forward, _) => Delivery::Carry(there),
            (Direction::Reverse, Direction::Reverse, Some(back)) => Delivery::Carry(back),
            (Direction::Forward, Direction::Reverse, Some(job)) => Delivery::Late { job, epoch: self.epoch },
            (Direction::Reverse, Direction::Forward, Some(back)) if self.was_reversed() => {
                Delivery::Late { job: there, epoch: back.epoch() }
            }
            _ => Delivery::Nothing,
        }
    }
}
