//! Another table, where the target's key can move, once the retrofit is tidied, in either direction: a row of each table's key names
//! the other one's. An item and a place belong together if their two rows say so; a reference in one row alone has no meaning.
//!
//! Several items of the open table can want one place, in records of different shards that have no order. So no record's image is
//! written, and no two fences are compared. A task reads its row, then the item as it is now, then the places that it leaves and wants,
//! with their rows; then it writes all of them in one transaction, each row as it was read. The item's row changes with every write and
//! is read before the item: so of two tasks of an item that go through, the later one has read the item later.
//!
//! If another item has the place, that item is read too. If it wants the place still, they collide, and this one goes into quarantine.
//! If not, it moves in the same transaction to where it belongs now, and so does an item that it finds there: the record of an item
//! that gives way may come hours later, and until then the item would be nowhere in the other table.
//!
//! The last part of the transaction asks that the generation be open still ([`seal`]).

use super::goal::{Goal, above};
use super::mover::Mover;
use super::place::{Place, read, stamp};
use super::row::LedgerRow;
use super::turn::{ROUNDS_MAX, Turn};
use crate::retrofit::attributes::OWNER_ATTRIBUTE;
use crate::retrofit::fence::Fence;
use crate::retrofit::job::Job;
use crate::retrofit::mapping::same_item;
use crate::retrofit::quarantine::{QuarantineReason, Quarantined};
use crate::retrofit::request::{Request, Response, Write};
use crate::retrofit::result::TaskResult;
use crate::retrofit::seal;
use crate::retrofit::source_key::SourceKey;
use crate::value::Item;

/// The most items that one transaction moves: with their rows, the largest ones fit into the 4 MB of a transaction.
const MOVERS_MAX: usize = 8;

/// One item of the open table, and its place in the other one.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::retrofit) struct Paired {
    name: SourceKey,
    key: Item,
    goal: Goal,
    phase: PairPhase,
    /// The item, and those that give way: each has the place that its predecessor wants.
    movers: Vec<Mover>,
    /// The place that the item leaves.
    left: Option<Place>,
    /// The same once what is there has a fence.
    marked: Option<Place>,
    /// Does another item have the place that the last mover wants, and keep it?
    is_taken: bool,
    /// The item that DynamoDB has refused, with the code.
    refused: Option<(SourceKey, String)>,
    /// It gives up if a place is taken.
    gives_up: bool,
    /// Something newer of the last mover is in the quarantine.
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
    GivingFence,
    Writing,
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
            movers: Vec::new(),
            left: None,
            marked: None,
            is_taken: false,
            refused: None,
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
            (Writing, Response::Rejected(code)) => self.charge(job, code),
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
                let Some(place) = &mut self.last().place else { unreachable!("its row was read") };
                place.row = row.as_ref().and_then(LedgerRow::read);
                let request = place.read_item();
                self.send_read(ReadingPlace, request)
            }
            (ReadingPlace, Response::Item(item)) => {
                if let Some(place) = &mut self.last().place {
                    place.item = item;
                }
                self.read_holder(job)
            }
            (ReadingHolderRow, Response::Item(row)) => self.know_holder_row(job, row.as_ref()),
            (GivingFence, Response::Written) => {
                self.left = self.marked.take();
                self.write(job)
            }
            (Writing, Response::Written) => Turn::Done(match self.obstacle(job) {
                Some(reason) if self.movers.len() == 1 => TaskResult::Quarantined(reason.code().to_owned()),
                _ => TaskResult::Written,
            }),
            // Its generation is over. A worker that knows the next one tries again.
            (GivingFence | Writing, Response::Cancelled(held)) if seal::is_over(job, &held) => {
                Turn::Done(TaskResult::Busy)
            }
            (Writing, Response::Cancelled(held)) if self.is_refused_entry(job, &held) => {
                // A newer failure of the same item is in the quarantine already.
                self.recorded = true;
                self.write(job)
            }
            (GivingFence | Writing, Response::Cancelled(_)) => self.read_row(job),
            (_, response) => unreachable!("{response:?} does not answer what was sent"),
        }
    }

    fn send_read(&mut self, phase: PairPhase, request: Request) -> Turn {
        self.phase = phase;
        Turn::Send(request)
    }

    /// The item, or the last of those that give way.
    fn last(&mut self) -> &mut Mover {
        self.movers.last_mut().unwrap_or_else(|| unreachable!("the item itself moves"))
    }

    fn read_row(&mut self, job: &Job) -> Turn {
        if self.rounds >= ROUNDS_MAX {
            return Turn::Done(TaskResult::Busy);
        }
        self.rounds += 1;
        (self.left, self.is_taken, self.recorded) = (None, false, false);
        self.movers = vec![Mover::new(self.name.clone(), self.key.clone())];
        self.send_read(PairPhase::ReadingRow, read(LedgerRow::key(job.mapping(), &self.name)))
    }

    fn know_row(&mut self, job: &Job, row: Option<&Item>) -> Turn {
        let mover = self.last();
        mover.row = row.and_then(LedgerRow::read);
        // Only now: what is read here must be newer than what the row says.
        let (known, request) = (mover.fence().cloned(), mover.read_item());
        if self.goal.is_superseded(job, known.as_ref()) {
            return Turn::Done(TaskResult::Superseded);
        }
        self.send_read(PairPhase::ReadingItem, request)
    }

    fn know_item(&mut self, job: &Job, item: Option<&Item>) -> Turn {
        let refused = self.refused.clone();
        let mover = self.last();
        let code = refused.filter(|(name, _)| *name == mover.name).map(|(_, code)| code);
        mover.know_item(job, item, code);
        if self.movers.len() > 1 {
            return self.give_way(job);
        }
        let mover = self.last();
        self.left = mover.before(job).filter(|left| !mover.wants(&left.name));
        match &self.left {
            Some(left) => self.send_read(PairPhase::ReadingLeftRow, left.read_row(job)),
            None => self.read_place(job),
        }
    }

    /// The last mover has the place that its predecessor wants.
    fn give_way(&mut self, job: &Job) -> Turn {
        let mover = self.last();
        let Some(wanted) = mover.place.as_ref().map(|place| place.name.clone()) else {
            return self.write(job);
        };
        let (_, others) = self.movers.split_last().unwrap_or_else(|| unreachable!("the item itself moves"));
        let claim = others.iter().position(|other| other.wants(&wanted));
        if claim == Some(others.len() - 1) {
            // As the item is now: by a row alone, of two items that change places each would wait for the other.
            self.movers.pop();
            self.is_taken = true;
        } else if claim.is_some() || self.movers.len() > MOVERS_MAX {
            self.is_taken = true;
        } else if let Some(left) = self.left.clone().filter(|left| left.name == wanted) {
            self.last().place = Some(left);
        } else {
            return self.read_place(job);
        }
        self.write(job)
    }

    fn read_place(&mut self, job: &Job) -> Turn {
        match self.last().place.as_ref().map(|place| place.read_row(job)) {
            Some(request) => self.send_read(PairPhase::ReadingPlaceRow, request),
            None => self.write(job),
        }
    }

    /// Reads the row of the item that has the place, if that is another one.
    fn read_holder(&mut self, job: &Job) -> Turn {
        let Some(holder) = self.holder(job) else { return self.write(job) };
        // The row of the place has changed since the row of that item was read.
        if self.movers.iter().any(|mover| mover.name == holder.name) {
            return self.read_row(job);
        }
        let row = read(LedgerRow::key(job.mapping(), &holder.name));
        self.movers.push(holder);
        self.send_read(PairPhase::ReadingHolderRow, row)
    }

    /// The item that has the last mover's place by the row of the place, if its own row, once it was read, agrees.
    fn holder(&self, job: &Job) -> Option<Mover> {
        let mover = self.movers.last()?;
        let place = mover.place.as_ref().filter(|_| self.obstacle(job).is_none())?;
        let key = place.holder().filter(|key| !same_item(key, &mover.key, &[]))?;
        let holder = Mover::new(SourceKey::of(job.mapping().source(), key)?, key.clone());
        let known = self.movers.iter().find(|mover| mover.name == holder.name);
        known.is_none_or(|known| known.has(place)).then_some(holder)
    }

    /// The last mover has the place of its predecessor only if its row says so, too.
    fn know_holder_row(&mut self, job: &Job, row: Option<&Item>) -> Turn {
        let holder = self.last();
        holder.row = row.and_then(LedgerRow::read);
        let request = holder.read_item();
        let [.., wanting, holder] = &self.movers[..] else { unreachable!("the item itself moves") };
        if wanting.place.as_ref().is_some_and(|place| holder.has(place)) {
            return self.send_read(PairPhase::ReadingItem, request);
        }
        self.movers.pop();
        self.write(job)
    }

    /// Why the last mover cannot be put where it belongs.
    fn obstacle(&self, job: &Job) -> Option<QuarantineReason> {
        let mover = self.movers.last()?;
        if mover.misfit.is_some() {
            return mover.misfit.clone();
        }
        let place = mover.place.as_ref()?;
        // Until the other table was open, an item without the retrofit's mark is another program's.
        let is_unmarked = || place.item.as_ref().is_some_and(|item| !item.contains_key(OWNER_ATTRIBUTE));
        let is_left = self.left.as_ref().is_some_and(|left| left.name == place.name);
        if place.is_foreign(job) || (!job.rows_decide() && !is_left && is_unmarked()) {
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
        let is_put = |at: usize| at + 1 < self.movers.len() || obstacle.is_none();
        let is_filled =
            |left: &Place| (0..).zip(&self.movers).any(|(at, mover)| is_put(at) && mover.wants(&left.name));
        let left = self.left.as_ref().filter(|left| !is_filled(left));
        if let Some(left) = left.filter(|left| left.needs_fence(job)) {
            let (marked, writes) = left.give_fence(job);
            self.marked = Some(marked);
            return self.send(job, PairPhase::GivingFence, writes);
        }
        // An item that has no place enters the quarantine in the same transaction: after a crash in between it would be in neither.
        let mut writes = Vec::new();
        for (at, mover) in self.movers.iter().enumerate() {
            let (fence, left) = match at {
                0 => (self.goal.next_fence(job, mover.fence()), left),
                _ => (above(job, mover.fence(), None), None),
            };
            let stamp = stamp(job, &mover.name, &fence.to_string());
            writes.extend(mover.moved(job, &fence, &stamp, left, is_put(at)));
            if let Some(reason) = obstacle.as_ref().filter(|_| !is_put(at) && !self.recorded) {
                let entry = Quarantined::item(&mover.key, &mover.name, reason, fence);
                writes.push(entry.enter(job.mapping()));
            }
        }
        self.send(job, PairPhase::Writing, writes)
    }

    /// DynamoDB does not say which item it refuses. The last item that was put is left out, then its predecessor.
    fn charge(&mut self, job: &Job, code: String) -> Turn {
        let put = self.movers.len() - usize::from(self.obstacle(job).is_some());
        match put.checked_sub(1).map(|at| self.movers[at].name.clone()) {
            Some(name) => {
                self.refused = Some((name, code));
                self.read_row(job)
            }
            None => self.goal.enter(job, QuarantineReason::Rejected(code)),
        }
    }

    /// Sends these writes together, while their generation is not sealed.
    fn send(&mut self, job: &Job, phase: PairPhase, mut writes: Vec<Write>) -> Turn {
        self.phase = phase;
        writes.extend(seal::unsealed(job, &self.name));
        Turn::Send(Request::Transact(writes))
    }

    /// A record always writes: its fence must be in the row, or a task that read the item before could still write what it was then.
    fn nothing_to_do(&self) -> Option<TaskResult> {
        let item = self.movers.first()?;
        let failed = match &self.goal {
            Goal::Scan if item.wanted.is_none() && self.left.is_none() => {
                return Some(TaskResult::NotSelected);
            }
            Goal::Record(_) | Goal::Scan => return None,
            Goal::Rewrite if item.wanted.is_some() => return None,
            Goal::Rewrite => None,
            Goal::Repair(failed) => failed.as_ref(),
        };
        let is_right = item.is_there() && self.left.is_none() && item.fence() >= failed;
        is_right.then_some(TaskResult::Unchanged)
    }

    /// Was the entry of the quarantine the only write that was refused? It comes last, before the seal.
    fn is_refused_entry(&self, job: &Job, held: &[bool]) -> bool {
        let entry = held.len() - 1 - usize::from(job.generation().is_some());
        let has_entry = self.obstacle(job).is_some() && !self.recorded;
        has_entry && held.iter().enumerate().all(|(at, held)| *held == (at != entry))
    }
}
