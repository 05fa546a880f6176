//! Another table, where the target's key can move, once the retrofit is tidied, in either direction: a row of each table's key names
//! the other one's. An item and a place belong together if their two rows say so; a reference in one row alone has no meaning.
//!
//! Several items of the open table can want one place, in records of different shards that have no order. So no record's image is
//! written, and no two fences are compared. A task reads its row, then the item as it is now, then the places that it leaves and wants,
//! with their rows; then it writes all of them in one transaction, each row as it was read. The item's row changes with every write and
//! is read before the item: so of two tasks of an item that go through, the later one has read the item later. If another item
//! has the place, that item is read too. If it no longer wants the place, this one gets it. If it does, they collide, and this one
//! goes into quarantine.
//!
//! The last part of the transaction asks that the generation be open still ([`seal`]).

use std::borrow::Cow;

use super::goal::Goal;
use super::place::{Place, check_with_marks, read, stamp};
use super::row::LedgerRow;
use super::turn::{ROUNDS_MAX, Turn};
use crate::retrofit::attributes::OWNER_ATTRIBUTE;
use crate::retrofit::fence::Fence;
use crate::retrofit::job::Job;
use crate::retrofit::mapping::same_item;
use crate::retrofit::quarantine::{QuarantineReason, Quarantined};
use crate::retrofit::request::{Request, Response, TableRole, Write};
use crate::retrofit::result::TaskResult;
use crate::retrofit::seal;
use crate::retrofit::source_key::SourceKey;
use crate::value::Item;

/// One item of the open table, and its place in the other one.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::retrofit) struct Paired {
    name: SourceKey,
    key: Item,
    goal: Goal,
    phase: PairPhase,
    row: Option<LedgerRow>,
    /// The other table's item that it maps to now.
    wanted: Option<Item>,
    /// The place that it leaves.
    left: Option<Place>,
    /// The same once what is there has a fence.
    marked: Option<Place>,
    /// The place that it wants.
    place: Option<Place>,
    /// Does another item have that place, and want it still?
    is_taken: bool,
    /// Why it cannot be in the other table, whatever is there.
    misfit: Option<QuarantineReason>,
    /// It gives up if the place is taken.
    gives_up: bool,
    /// Something newer of it is in the quarantine.
    recorded: bool,
    rounds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairPhase {
    ReadingRow,
    ReadingItem,
    ReadingLeftRow,
    ReadingLeft,
    ReadingPlaceRow,
    ReadingPlace,
    ReadingHolderRow,
    ReadingHolder,
    GivingFence,
    Writing,
    GivingUp,
}

impl Paired {
    /// A record came.
    pub(super) fn apply(job: &Job, name: &SourceKey, key: &Item, fence: Fence) -> (Paired, Turn) {
        Paired::started(job, name, key, Goal::Record(fence))
    }

    /// A scan found the item.
    pub(super) fn backfill(job: &Job, name: &SourceKey, key: &Item) -> (Paired, Turn) {
        Paired::started(job, name, key, Goal::Scan)
    }

    /// All is read again.
    pub(super) fn repair(job: &Job, name: &SourceKey, key: &Item, failed: Option<Fence>) -> (Paired, Turn) {
        Paired::started(job, name, key, Goal::Repair(failed))
    }

    /// The same, and what is there is written again even if it is right.
    pub(super) fn rewrite(job: &Job, name: &SourceKey, key: &Item) -> (Paired, Turn) {
        Paired::started(job, name, key, Goal::Rewrite)
    }

    fn started(job: &Job, name: &SourceKey, key: &Item, goal: Goal) -> (Paired, Turn) {
        let mut machine = Paired {
            name: name.clone(),
            key: key.clone(),
            goal,
            phase: PairPhase::ReadingRow,
            row: None,
            wanted: None,
            left: None,
            marked: None,
            place: None,
            is_taken: false,
            misfit: None,
            gives_up: false,
            recorded: false,
            rounds: 0,
        };
        let turn = machine.read_row(job);
        (machine, turn)
    }

    /// Once more, when others may have moved out of the way.
    pub(super) fn again(&mut self, job: &Job) -> Turn {
        self.rounds = 0;
        self.read_row(job)
    }

    /// The same; and if the place is still taken, the item is nowhere in the other table, and in quarantine.
    pub(super) fn park(&mut self, job: &Job) -> Turn {
        self.gives_up = true;
        self.again(job)
    }

    pub(super) fn respond(&mut self, job: &Job, response: Response) -> Turn {
        use PairPhase::*;
        match (self.phase, response) {
            (GivingFence, Response::Rejected(_)) if self.left.as_mut().is_some_and(Place::drop_one) => {
                self.write(job)
            }
            (Writing, Response::Rejected(code)) => {
                self.misfit = Some(QuarantineReason::Rejected(code));
                self.read_row(job)
            }
            (_, Response::Rejected(code)) => self.goal.enter(job, QuarantineReason::Rejected(code)),
            (ReadingRow, Response::Item(row)) => self.know_row(job, row.as_ref()),
            (ReadingItem, Response::Item(item)) => self.know_item(job, item.as_ref()),
            (ReadingLeftRow, Response::Item(row)) => {
                let key = &self.key;
                let row = row.as_ref().and_then(LedgerRow::read);
                // Another item has it since: what is there is that item's.
                self.left =
                    self.left.take().map(|left| Place { row, ..left }).filter(|left| left.is_held_by(key));
                match &self.left {
                    Some(left) => self.send_read(ReadingLeft, left.read_item()),
                    None => self.read_place(job),
                }
            }
            (ReadingLeft, Response::Item(item)) => {
                if let Some(left) = &mut self.left {
                    left.item = item;
                }
                self.read_place(job)
            }
            (ReadingPlaceRow, Response::Item(row)) => {
                let Some(place) = &mut self.place else { unreachable!("its row was read") };
                place.row = row.as_ref().and_then(LedgerRow::read);
                let request = place.read_item();
                self.send_read(ReadingPlace, request)
            }
            (ReadingPlace, Response::Item(item)) => {
                if let Some(place) = &mut self.place {
                    place.item = item;
                }
                self.read_holder(job)
            }
            (ReadingHolderRow, Response::Item(row)) => self.know_holder_row(job, row.as_ref()),
            (ReadingHolder, Response::Item(item)) => {
                // As it is now: by a row alone, of two items that change places each would wait for the other.
                let wants = item.and_then(|item| job.mapping().carried(Cow::Owned(item)).ok().flatten());
                let wants = wants.and_then(|wanted| SourceKey::of(job.mapping().target(), &wanted));
                self.is_taken = wants.is_some() && wants == self.place_name();
                self.write(job)
            }
            (GivingFence, Response::Written) => {
                self.left = self.marked.take();
                self.write(job)
            }
            (Writing, Response::Written) => Turn::Done(TaskResult::Written),
            (GivingUp, Response::Written) => {
                let code = self.obstacle(job).map_or_else(String::new, |reason| reason.code().to_owned());
                Turn::Done(TaskResult::Quarantined(code))
            }
            // Its generation is over. A worker that knows the next one tries again.
            (GivingFence | Writing | GivingUp, Response::Cancelled(held)) if seal::is_over(job, &held) => {
                Turn::Done(TaskResult::Busy)
            }
            (GivingUp, Response::Cancelled(held)) if self.is_refused_entry(job, &held) => {
                // A newer failure of the same item is in the quarantine already.
                self.recorded = true;
                self.write(job)
            }
            (GivingFence | Writing | GivingUp, Response::Cancelled(_)) => self.read_row(job),
            (_, response) => unreachable!("{response:?} does not answer what was sent"),
        }
    }

    fn send_read(&mut self, phase: PairPhase, request: Request) -> Turn {
        self.phase = phase;
        Turn::Send(request)
    }

    fn read_row(&mut self, job: &Job) -> Turn {
        if self.rounds >= ROUNDS_MAX {
            return Turn::Done(TaskResult::Busy);
        }
        self.rounds += 1;
        self.recorded = false;
        (self.left, self.place, self.is_taken) = (None, None, false);
        self.send_read(PairPhase::ReadingRow, read(LedgerRow::key(job.mapping(), &self.name)))
    }

    fn know_row(&mut self, job: &Job, row: Option<&Item>) -> Turn {
        self.row = row.and_then(LedgerRow::read);
        let known = self.row.as_ref().map(|row| &row.fence);
        if self.goal.is_superseded(job, known) {
            return Turn::Done(TaskResult::Superseded);
        }
        // Only now: what is read here must be newer than what the row says.
        let request = Request::Get { role: TableRole::Source, key: self.key.clone() };
        self.send_read(PairPhase::ReadingItem, request)
    }

    fn know_item(&mut self, job: &Job, item: Option<&Item>) -> Turn {
        // What DynamoDB has refused is not tried again by this task: a change of the item since has its own record.
        let is_refused = matches!(self.misfit, Some(QuarantineReason::Rejected(_)));
        (self.wanted, self.misfit) = match item.filter(|_| !is_refused).map(|item| self.mapped(job, item)) {
            Some(Ok(wanted)) => (wanted, None),
            Some(Err(reason)) => (None, Some(reason)),
            None => (None, self.misfit.take().filter(|_| item.is_some())),
        };
        self.place = self.wanted.as_ref().and_then(|wanted| Place::of(job, wanted));
        let before = self.row.as_ref().and_then(|row| row.target.as_ref());
        let before = before.and_then(|key| Place::of(job, key));
        self.left = before.filter(|left| self.place.as_ref().is_none_or(|place| place.name != left.name));
        match &self.left {
            Some(left) => self.send_read(PairPhase::ReadingLeftRow, left.read_row(job)),
            None => self.read_place(job),
        }
    }

    /// The other table's item, with its marks.
    fn mapped(&self, job: &Job, item: &Item) -> Result<Option<Item>, QuarantineReason> {
        let mapping = job.mapping();
        let Some(mut wanted) = mapping.carried(Cow::Borrowed(item))? else { return Ok(None) };
        if !mapping.is_reverse() {
            wanted.insert(OWNER_ATTRIBUTE, self.name.value());
        }
        check_with_marks(job, &self.name, &mut wanted)?;
        Ok(Some(wanted))
    }

    fn read_place(&mut self, job: &Job) -> Turn {
        match &self.place {
            Some(place) => self.send_read(PairPhase::ReadingPlaceRow, place.read_row(job)),
            None => self.write(job),
        }
    }

    /// Reads the row of the item that has the place, if that is another one.
    fn read_holder(&mut self, job: &Job) -> Turn {
        let holder =
            self.place.as_ref().and_then(Place::holder).filter(|key| !same_item(key, &self.key, &[]));
        let name = holder.and_then(|key| SourceKey::of(job.mapping().source(), key));
        match name {
            Some(name) => {
                self.send_read(PairPhase::ReadingHolderRow, read(LedgerRow::key(job.mapping(), &name)))
            }
            None => self.write(job),
        }
    }

    fn know_holder_row(&mut self, job: &Job, row: Option<&Item>) -> Turn {
        let has = row.and_then(LedgerRow::read).and_then(|row| row.target);
        let has = has.and_then(|key| SourceKey::of(job.mapping().target(), &key));
        let holder = self.place.as_ref().and_then(Place::holder).cloned();
        match holder.filter(|_| has == self.place_name()) {
            Some(key) => {
                self.send_read(PairPhase::ReadingHolder, Request::Get { role: TableRole::Source, key })
            }
            None => self.write(job),
        }
    }

    fn place_name(&self) -> Option<SourceKey> {
        self.place.as_ref().map(|place| place.name.clone())
    }

    /// Why the item cannot be put where it belongs.
    fn obstacle(&self, job: &Job) -> Option<QuarantineReason> {
        if self.misfit.is_some() {
            return self.misfit.clone();
        }
        let place = self.place.as_ref()?;
        // Until the other table was open, an item without the retrofit's mark is another program's.
        let is_unmarked = || place.item.as_ref().is_some_and(|item| !item.contains_key(OWNER_ATTRIBUTE));
        if place.is_foreign(job) || (!job.rows_decide() && is_unmarked()) {
            return Some(QuarantineReason::Foreign);
        }
        self.is_taken.then_some(QuarantineReason::Collision)
    }

    /// Chooses the writes: everything was read.
    fn write(&mut self, job: &Job) -> Turn {
        let obstacle = self.obstacle(job);
        if obstacle == Some(QuarantineReason::Collision) && !self.gives_up {
            return Turn::Done(TaskResult::Blocked);
        }
        if obstacle.is_none()
            && let Some(result) = self.nothing_to_do()
        {
            return Turn::Done(result);
        }
        if let Some(left) = self.left.as_ref().filter(|left| left.needs_fence(job)) {
            let (marked, writes) = left.give_fence(job);
            self.marked = Some(marked);
            return self.send(job, PairPhase::GivingFence, writes);
        }
        if let Some(reason) = obstacle {
            return self.give_up(job, &reason);
        }
        let fence = self.next_fence(job);
        let stamp = stamp(job, &self.name, &fence.to_string());
        let mut writes = vec![self.put_row(job, &fence, &stamp, self.place.as_ref().map(|place| &place.key))];
        writes.extend(self.left.iter().flat_map(|left| left.free(job, &stamp)));
        if let (Some(place), Some(wanted)) = (&self.place, &self.wanted) {
            writes.extend(place.put(job, wanted.clone(), &self.key, &fence, &stamp));
        }
        self.send(job, PairPhase::Writing, writes)
    }

    /// The item is nowhere in the other table, and in quarantine. Both change together: after a crash in between, an item would be in
    /// neither.
    fn give_up(&mut self, job: &Job, reason: &QuarantineReason) -> Turn {
        let fence = self.next_fence(job);
        let stamp = stamp(job, &self.name, &fence.to_string());
        let entry = Quarantined::item(&self.key, &self.name, reason, fence.clone());
        let mut writes = vec![self.put_row(job, &fence, &stamp, None)];
        writes.extend(self.left.iter().flat_map(|left| left.free(job, &stamp)));
        writes.extend((!self.recorded).then(|| entry.enter(job.mapping())));
        self.send(job, PairPhase::GivingUp, writes)
    }

    /// Sends these writes together, while their generation is not sealed.
    fn send(&mut self, job: &Job, phase: PairPhase, mut writes: Vec<Write>) -> Turn {
        self.phase = phase;
        writes.extend(seal::unsealed(job, &self.name));
        Turn::Send(Request::Transact(writes))
    }

    fn put_row(&self, job: &Job, fence: &Fence, stamp: &str, place: Option<&Item>) -> Write {
        let before = self.row.clone().unwrap_or_else(|| LedgerRow::new(fence.clone()));
        let (fence, stamp, target) = (fence.clone(), Some(stamp.to_owned()), place.cloned());
        let row = LedgerRow { fence, stamp, target, ..before };
        row.put_over(self.row.as_ref(), job.mapping(), &self.name, &self.key)
    }

    /// A record always writes: its fence must be in the row, or a task that read the item before could still write what it was then.
    fn nothing_to_do(&self) -> Option<TaskResult> {
        let failed = match &self.goal {
            Goal::Scan if self.wanted.is_none() && self.left.is_none() => {
                return Some(TaskResult::NotSelected);
            }
            Goal::Record(_) | Goal::Scan => return None,
            Goal::Rewrite if self.wanted.is_some() => return None,
            Goal::Rewrite => None,
            Goal::Repair(failed) => failed.as_ref(),
        };
        let same = match (&self.place, &self.wanted) {
            (Some(place), Some(wanted)) => {
                place.is_held_by(&self.key) && self.has(place) && place.has(wanted)
            }
            _ => true,
        };
        let is_current = self.row.as_ref().map(|row| &row.fence) >= failed;
        (same && self.left.is_none() && is_current).then_some(TaskResult::Unchanged)
    }

    /// Does the item's row name this place?
    fn has(&self, place: &Place) -> bool {
        let named = self.row.as_ref().and_then(|row| row.target.as_ref());
        named.is_some_and(|key| same_item(key, &place.key, &[]))
    }

    fn next_fence(&self, job: &Job) -> Fence {
        self.goal.next_fence(job, self.row.as_ref().map(|row| &row.fence))
    }

    /// Was the entry of the quarantine the only write that was refused? It comes last, before the seal.
    fn is_refused_entry(&self, job: &Job, held: &[bool]) -> bool {
        let entry = held.len() - 1 - usize::from(job.generation().is_some());
        !self.recorded && held.iter().enumerate().all(|(at, held)| *held == (at != entry))
    }
}
