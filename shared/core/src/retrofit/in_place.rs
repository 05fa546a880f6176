//! In place: folded keys are set where what they are made of is still what was read.

use super::fence::Fence;
use super::job::Job;
use super::quarantine::Reason;
use super::request::{Action, Guard, Outcome, Place, Request, Seen, Write};
use super::task::{Machine, Turn, Verdict};
use crate::value::Item;

/// How often one item may change under our hands before it is left for later.
const ROUNDS_MAX: u32 = 8;

/// One item, in place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct InPlace {
    key: Item,
    fence: Fence,
    rounds: u32,
}

impl InPlace {
    /// Begins with the item as a record or a scan has it; `None` if it is gone.
    pub(super) fn of_item(job: &Job, key: &Item, item: Option<&Item>, fence: Fence) -> (Machine, Turn) {
        let mut machine = InPlace { key: key.clone(), fence, rounds: 0 };
        let turn = machine.update(job, item);
        (Machine::InPlace(machine), turn)
    }

    /// Begins by reading the item again.
    pub(super) fn repair(job: &Job, key: &Item) -> (Machine, Turn) {
        let fence = Fence::of_scan(job.epoch());
        let machine = InPlace { key: key.clone(), fence, rounds: 0 };
        let turn = machine.read();
        (Machine::InPlace(machine), turn)
    }

    pub(super) fn told(&mut self, job: &Job, outcome: Outcome) -> Turn {
        match outcome {
            Outcome::Written => Turn::Done(Verdict::Written),
            Outcome::Got(item) => self.update(job, item.as_ref()),
            Outcome::Refused(Seen::Item(item)) => self.update(job, Some(&item)),
            Outcome::Refused(Seen::Nothing) => self.update(job, None),
            Outcome::Refused(Seen::Unknown) => self.read(),
            Outcome::Rejected(code) => Turn::Enter(Reason::Rejected(code), self.fence.clone()),
            Outcome::Cancelled(_) => unreachable!("no transaction is sent in place"),
        }
    }

    fn read(&self) -> Turn {
        Turn::Send(Request::Get { place: Place::Source, key: self.key.clone() })
    }

    /// Sets what the item lacks, on condition that it is still as it was seen.
    fn update(&mut self, job: &Job, item: Option<&Item>) -> Turn {
        let Some(item) = item else { return Turn::Done(Verdict::Unchanged) };
        if self.rounds >= ROUNDS_MAX {
            return Turn::Done(Verdict::Busy);
        }
        self.rounds += 1;
        match job.mapping().in_place_update(item) {
            Err(error) => Turn::Enter(Reason::Unmappable(error.code().to_owned()), self.fence.clone()),
            Ok(None) => Turn::Done(Verdict::Unchanged),
            Ok(Some(update)) => Turn::Send(Request::Write(Write {
                place: Place::Source,
                action: Action::Update { key: self.key.clone(), set: update.set, remove: update.remove },
                guard: Guard::Present(update.unchanged),
            })),
        }
    }
}
