//! A place of the closed table that no item of the open one has: what a late write left there goes.

use super::place::{Place, stamp};
use super::row::LedgerRow;
use super::turn::{ROUNDS_MAX, Turn};
use crate::retrofit::fence::{Epoch, Fence};
use crate::retrofit::job::Job;
use crate::retrofit::request::{Request, Response, Write};
use crate::retrofit::result::TaskResult;
use crate::retrofit::seal;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Freeing {
    place: Place,
    /// The same once it has a fence.
    marked: Option<Place>,
    phase: FreePhase,
    rounds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FreePhase {
    ReadingRow,
    ReadingItem,
    GivingFence,
    Deleting,
}

impl Freeing {
    /// The place with this row.
    pub(super) fn of(place: Place) -> (Freeing, Turn) {
        let turn = Turn::Send(place.read_item());
        (Freeing { place, marked: None, phase: FreePhase::ReadingItem, rounds: 0 }, turn)
    }

    pub(super) fn respond(&mut self, job: &Job, response: Response) -> Turn {
        match (self.phase, response) {
            (FreePhase::ReadingRow, Response::Item(row)) => {
                let row = row.as_ref().and_then(LedgerRow::read);
                // An item has it since, and was written there.
                if row.as_ref().is_some_and(|row| row.target.is_some()) && row != self.place.row {
                    return Turn::Done(TaskResult::Written);
                }
                self.place.row = row;
                self.phase = FreePhase::ReadingItem;
                Turn::Send(self.place.read_item())
            }
            (FreePhase::ReadingItem, Response::Item(item)) => {
                self.place.item = item;
                self.free(job)
            }
            (FreePhase::Deleting, Response::Written) => Turn::Done(TaskResult::Written),
            (_, Response::Cancelled(held)) if seal::is_over(job, &held) => Turn::Done(TaskResult::Busy),
            (FreePhase::GivingFence, Response::Written) => {
                self.place = self.marked.take().unwrap_or_else(|| self.place.clone());
                self.free(job)
            }
            (_, Response::Cancelled(_)) => self.read_row(job),
            (FreePhase::GivingFence, Response::Rejected(_)) if self.place.drop_one() => self.free(job),
            // The item stays, and its record is given up in the end.
            (_, Response::Rejected(_)) => Turn::Done(TaskResult::Busy),
            (_, response) => unreachable!("{response:?} does not answer what was sent"),
        }
    }

    fn read_row(&mut self, job: &Job) -> Turn {
        if self.rounds >= ROUNDS_MAX {
            return Turn::Done(TaskResult::Busy);
        }
        self.rounds += 1;
        self.phase = FreePhase::ReadingRow;
        Turn::Send(self.place.read_row(job))
    }

    fn free(&mut self, job: &Job) -> Turn {
        if self.place.item.is_none() || self.place.is_foreign(job) {
            return Turn::Done(TaskResult::Unchanged);
        }
        if self.place.needs_fence(job) {
            let (marked, writes) = self.place.give_fence(job);
            self.marked = Some(marked);
            return self.send(job, FreePhase::GivingFence, writes);
        }
        let fence = self.place.item.as_ref().and_then(Fence::on);
        let fence = fence.unwrap_or_else(|| Fence::of_scan(Epoch::FIRST));
        let stamp = stamp(job, &self.place.name, &format!("free {fence}"));
        self.send(job, FreePhase::Deleting, self.place.free(job, &stamp))
    }

    fn send(&mut self, job: &Job, phase: FreePhase, mut writes: Vec<Write>) -> Turn {
        self.phase = phase;
        writes.extend(seal::unsealed(job, &self.place.name));
        Turn::Send(Request::Transact(writes))
    }
}
