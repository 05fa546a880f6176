//! In place: folded keys are set where what they are made of is still what was read.

use std::borrow::Cow;
use std::sync::Arc;

use super::turn::{ROUNDS_MAX, Turn};
use crate::retrofit::fence::Fence;
use crate::retrofit::job::Job;
use crate::retrofit::quarantine::QuarantineReason;
use crate::retrofit::request::{Action, Guard, ItemSeen, Request, Response, TableRole, Write};
use crate::retrofit::result::TaskResult;
use crate::value::{AttributeValue, Item, Name};

/// One item, in place.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::retrofit) struct InPlace {
    key: Arc<Item>,
    fence: Fence,
    /// For a record of an item outside `only`: the keys that the update can have made wrong.
    had: Vec<(Name, AttributeValue)>,
    rounds: u32,
}

impl InPlace {
    /// Begins with the item as a record or a scan has it; `None` if it is gone. `old` is the item before the record.
    pub(super) fn of_item(
        job: &Job,
        key: &Arc<Item>,
        old: Option<&Item>,
        item: Option<Cow<'_, Item>>,
        fence: Fence,
    ) -> (InPlace, Turn) {
        let mapping = job.mapping();
        let is_outside = item.as_ref().is_some_and(|item| !mapping.selects(item));
        let had = old.filter(|_| is_outside).map_or_else(Vec::new, |old| mapping.keys_at_risk(old));
        let mut machine = InPlace { key: Arc::clone(key), fence, had, rounds: 0 };
        let turn = machine.update(job, item);
        (machine, turn)
    }

    /// Begins by reading the item again.
    pub(super) fn repair(job: &Job, key: &Arc<Item>) -> (InPlace, Turn) {
        let fence = Fence::of_scan(job.epoch());
        let machine = InPlace { key: Arc::clone(key), fence, had: Vec::new(), rounds: 0 };
        let turn = machine.read();
        (machine, turn)
    }

    pub(super) fn respond(&mut self, job: &Job, response: Response) -> Turn {
        match response {
            Response::Written => Turn::Done(TaskResult::Written),
            Response::Item(item) => self.update(job, item.map(Cow::Owned)),
            // Folded again from the item of now: the keys of the item that was read would be stale.
            Response::Refused(ItemSeen::Item(item)) => self.update(job, Some(Cow::Owned(*item))),
            Response::Refused(ItemSeen::Nothing) => self.update(job, None),
            Response::Refused(ItemSeen::Unknown) => self.read(),
            Response::Rejected(code) => Turn::Enter(QuarantineReason::Rejected(code), self.fence.clone()),
            response @ (Response::Cancelled(_) | Response::Outdated) => {
                unreachable!("{response:?} does not answer what was sent")
            }
        }
    }

    fn read(&self) -> Turn {
        Turn::Send(Request::Get { role: TableRole::Source, key: Item::clone(&self.key) })
    }

    /// Sets what the item lacks, on condition that it is still as it was seen.
    fn update(&mut self, job: &Job, item: Option<Cow<'_, Item>>) -> Turn {
        let Some(item) = item else { return Turn::Done(TaskResult::Unchanged) };
        // An item that changes all the time would hold up all others of its batch.
        if self.rounds >= ROUNDS_MAX {
            return Turn::Done(TaskResult::Busy);
        }
        self.rounds += 1;
        let mapping = job.mapping();
        let update = match self.had.is_empty() || mapping.selects(&item) {
            true => mapping.in_place_update(item),
            false => Ok(mapping.without_keys(&item, &self.had)),
        };
        match update {
            Err(error) => Turn::Enter(QuarantineReason::unmappable(&error), self.fence.clone()),
            Ok(None) => Turn::Done(TaskResult::Unchanged),
            Ok(Some(update)) => Turn::Send(Request::Write(Write {
                role: TableRole::Source,
                action: Action::Update { key: Arc::clone(&self.key), set: update.set, remove: update.remove },
                // Without `Present` an update of a deleted item leaves a stub. Without the rest, a writer that changes an
                // input between the read and this write leaves a key that says what the item was.
                guard: Guard::Present(update.unchanged),
            })),
        }
    }
}
