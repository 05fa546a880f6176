//! Another table, where the target's key can move: a row of the ledger says where each source item is, and changes in
//! one transaction with the target.
//!
//! What holds after every transaction: the target items that a source item owns are exactly the one its row names; and the row of
//! its place names the source item. Once the retrofit is tidied, [`paired`](super::paired) goes on with these rows.

use super::place::{check_with_marks, stamp};
use super::row::LedgerRow;
use super::turn::{ROUNDS_MAX, Turn};
use crate::condition::Comparison;
use crate::retrofit::attributes::OWNER_ATTRIBUTE;
use crate::retrofit::control;
use crate::retrofit::fence::{Epoch, Fence};
use crate::retrofit::job::Job;
use crate::retrofit::mapping::same_item;
use crate::retrofit::quarantine::{QuarantineReason, Quarantined};
use crate::retrofit::request::{Action, Guard, ItemSeen, Request, Response, TableRole, Write, is};
use crate::retrofit::result::TaskResult;
use crate::retrofit::seal;
use crate::retrofit::source_key::SourceKey;
use crate::value::Item;

/// One source item that is moved to where it belongs.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::retrofit) struct Move {
    source: SourceKey,
    key: Item,
    aim: CarryGoal,
    phase: MovePhase,
    /// The row as it was last seen.
    row: Option<LedgerRow>,
    /// The desired target item with its owner, once it is known.
    wanted: Option<Item>,
    /// The old place is free of the retrofit's item.
    old_is_gone: bool,
    released: bool,
    /// Something newer of this item is in the quarantine.
    recorded: bool,
    /// The record's item does not fit. It counts only if nothing newer was carried over.
    misfit: Option<QuarantineReason>,
    rounds: u32,
}

/// The state to carry over.
#[derive(Debug, Clone, PartialEq)]
enum CarryGoal {
    /// The state in a record or a scan, with its fence.
    State(Fence),
    /// Whatever the source says now. With the newest change that failed, if one is known.
    Now(Option<Fence>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MovePhase {
    ReadingRow,
    ReadingSource,
    ReadingTarget,
    Moving,
    Releasing,
    Parking,
}

/// A write of the transaction that moves an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MovePart {
    Row,
    Old,
    New,
    /// The row of the new place.
    PlaceRow,
}

impl Move {
    /// The state in a record.
    pub(super) fn to_state(
        job: &Job,
        source: &SourceKey,
        key: &Item,
        new: Option<&Item>,
        fence: Fence,
    ) -> (Move, Turn) {
        let mut this = Move::new(source, key, CarryGoal::State(fence));
        // A misfit waits until the row is read: otherwise a late record of an old state puts an item into quarantine that is right now.
        this.misfit = this.want(job, new).err();
        let turn = this.read_row(job);
        (this, turn)
    }

    /// A scanned item. In the first epoch, and unless it is careful, it supposes that there is no row.
    pub(super) fn of_scanned(
        job: &Job,
        source: &SourceKey,
        key: &Item,
        item: &Item,
        fence: Fence,
        careful: bool,
    ) -> (Move, Turn) {
        let first = fence.epoch() == Epoch::FIRST;
        if first && !job.mapping().selects(item) {
            let this = Move::new(source, key, CarryGoal::State(fence));
            return (this, Turn::Done(TaskResult::NotSelected));
        }
        let mut this = Move::new(source, key, CarryGoal::State(fence.clone()));
        let turn = match this.want(job, Some(item)) {
            Err(reason) => Turn::Enter(reason, fence),
            Ok(()) if careful || !first => this.read_row(job),
            // A read of each row would double the requests of a backfill. If there is a row, the write's guard refuses it.
            Ok(()) => this.move_on(job),
        };
        (this, turn)
    }

    /// Reads everything again.
    pub(super) fn repair(job: &Job, source: &SourceKey, key: &Item, failed: Option<Fence>) -> (Move, Turn) {
        let mut this = Move::new(source, key, CarryGoal::Now(failed));
        let turn = this.read_row(job);
        (this, turn)
    }

    fn new(source: &SourceKey, key: &Item, aim: CarryGoal) -> Move {
        Move {
            source: source.clone(),
            key: key.clone(),
            aim,
            phase: MovePhase::ReadingRow,
            row: None,
            wanted: None,
            old_is_gone: false,
            released: false,
            recorded: false,
            misfit: None,
            rounds: 0,
        }
    }

    /// Once more, when others may have moved out of the way.
    pub(super) fn again(&mut self, job: &Job) -> Turn {
        self.rounds = 0;
        self.read_row(job)
    }

    /// Gives up: the item is nowhere in the target, and in quarantine.
    pub(super) fn park(&mut self, job: &Job) -> Turn {
        self.phase = MovePhase::Parking;
        let fence = self.next_fence(job);
        let entry = Quarantined::item(&self.key, &self.source, &QuarantineReason::Collision, fence.clone());
        let row = self.put_row(job, LedgerRow::new(fence));
        // Row, item and entry change together: after a crash in between, an item would be in neither the target nor the quarantine.
        let entry = (!self.recorded).then(|| entry.enter(job.mapping()));
        self.send(job, [Some(row), self.delete_old(job), entry])
    }

    /// Sends these writes together, while their generation is not sealed.
    fn send(&self, job: &Job, writes: impl IntoIterator<Item = Option<Write>>) -> Turn {
        let mut writes: Vec<Write> = writes.into_iter().flatten().collect();
        writes.extend(self.unsealed(job));
        match writes.len() {
            1 => Turn::Send(Request::Write(writes.remove(0))),
            _ => Turn::Send(Request::Transact(writes)),
        }
    }

    /// A record or a scan asks for no seal before the tidying.
    fn unsealed(&self, job: &Job) -> Option<Write> {
        match self.aim {
            CarryGoal::State(_) => seal::unsealed(job, &self.source),
            CarryGoal::Now(_) => Some(seal::unsealed_repair(job, &self.source)),
        }
    }

    /// Some guard did not hold while the item was parked: which, and what next.
    fn not_parked(&mut self, job: &Job, held: &[bool]) -> Turn {
        let old = self.leaves(job);
        match held {
            [true, false, _] if old => self.old_is_gone = true,
            // A newer failure of the same item is in the quarantine already.
            [true, .., false] => self.recorded = true,
            _ => return self.read_row(job),
        }
        self.park(job)
    }

    pub(super) fn respond(&mut self, job: &Job, response: Response) -> Turn {
        if let Response::Rejected(code) = response {
            return Turn::Enter(QuarantineReason::Rejected(code), self.next_fence(job));
        }
        let response = match response {
            // The last part is the seal's. If the generation is over, a worker that knows the next one tries again.
            Response::Cancelled(mut held) if self.unsealed(job).is_some() => match held.pop() {
                Some(false) => return Turn::Done(TaskResult::Busy),
                _ => Response::Cancelled(held),
            },
            response => response,
        };
        match (self.phase, response) {
            (MovePhase::ReadingRow, Response::Item(row)) => self.know_row(job, row.as_ref()),
            (MovePhase::ReadingSource, Response::Item(item)) => self.know_source(job, item.as_ref()),
            (MovePhase::ReadingTarget, Response::Item(item)) => self.know_target(job, item.as_ref()),
            (MovePhase::Moving, Response::Written) => Turn::Done(TaskResult::Written),
            (MovePhase::Releasing, Response::Written) => {
                let released = LedgerRow::new(self.released_fence(job));
                self.row = Some(self.stamped(job, released));
                self.move_on(job)
            }
            (MovePhase::Parking, Response::Written) => {
                Turn::Done(TaskResult::Quarantined(QuarantineReason::Collision.code().to_owned()))
            }
            (MovePhase::Moving, Response::Cancelled(held)) => self.refused(job, &held),
            (MovePhase::Parking, Response::Cancelled(held)) => self.not_parked(job, &held),
            // Only the row was written, and it has changed.
            (
                _,
                Response::Refused(ItemSeen::Unknown | ItemSeen::Nothing | ItemSeen::Item(_))
                | Response::Cancelled(_),
            ) => self.read_row(job),
            (_, response) => unreachable!("{response:?} does not answer what was sent"),
        }
    }

    /// Maps the source item: what is wanted in the target.
    fn want(&mut self, job: &Job, item: Option<&Item>) -> Result<(), QuarantineReason> {
        let unmappable = |error: crate::index::ItemError| QuarantineReason::unmappable(&error);
        let mapping = job.mapping();
        let mapped = item.map_or(Ok(None), |item| mapping.target_item(item)).map_err(unmappable)?;
        self.wanted = match mapped {
            None => None,
            Some(mut item) => {
                item.insert(OWNER_ATTRIBUTE, self.source.value());
                // The marks count too, against the limit of an item. All else was checked without them.
                check_with_marks(job, &self.source, &mut item)?;
                Some(item)
            }
        };
        Ok(())
    }

    fn read_row(&mut self, job: &Job) -> Turn {
        // An item that is written all the time can lose every round. Its record is delivered again, and does not hold up the batch.
        if self.rounds >= ROUNDS_MAX {
            return Turn::Done(TaskResult::Busy);
        }
        self.rounds += 1;
        self.old_is_gone = false;
        self.released = false;
        self.phase = MovePhase::ReadingRow;
        Turn::Send(Request::Get {
            role: TableRole::Control,
            key: LedgerRow::key(job.mapping(), &self.source),
        })
    }

    fn know_row(&mut self, job: &Job, row: Option<&Item>) -> Turn {
        self.row = row.and_then(LedgerRow::read);
        match &self.aim {
            // A late or repeated record: the row says that something at least as new was carried over.
            CarryGoal::State(fence) if self.row.as_ref().is_some_and(|row| row.fence >= *fence) => {
                Turn::Done(TaskResult::Superseded)
            }
            CarryGoal::State(fence) => match &self.misfit {
                Some(reason) => Turn::Enter(reason.clone(), fence.clone()),
                None => self.move_on(job),
            },
            CarryGoal::Now(_) => {
                self.phase = MovePhase::ReadingSource;
                Turn::Send(Request::Get { role: TableRole::Source, key: self.key.clone() })
            }
        }
    }

    fn know_source(&mut self, job: &Job, item: Option<&Item>) -> Turn {
        if let Err(reason) = self.want(job, item) {
            return Turn::Enter(reason, self.next_fence(job));
        }
        match self.new_key(job) {
            Some(key) => {
                self.phase = MovePhase::ReadingTarget;
                Turn::Send(Request::Get { role: TableRole::Target, key })
            }
            None if self.is_current() && self.old_key().is_none() => Turn::Done(TaskResult::Unchanged),
            None => self.move_on(job),
        }
    }

    fn know_target(&mut self, job: &Job, there: Option<&Item>) -> Turn {
        let same = match (there, &self.wanted) {
            (Some(there), Some(wanted)) => same_item(there, wanted, &[]),
            _ => false,
        };
        if same && self.is_current() && self.old_key().is_some() && !self.leaves(job) {
            return Turn::Done(TaskResult::Unchanged);
        }
        self.move_on(job)
    }

    /// Is the row at least as new as the change that failed?
    fn is_current(&self) -> bool {
        match &self.aim {
            CarryGoal::State(_) => false,
            CarryGoal::Now(failed) => self.row.as_ref().map(|row| &row.fence) >= failed.as_ref(),
        }
    }

    /// Sends the transaction that moves the item.
    fn move_on(&mut self, job: &Job) -> Turn {
        self.phase = MovePhase::Moving;
        let writes = self.parts(job).into_iter().map(|part| Some(self.write(job, part)));
        self.send(job, writes)
    }

    fn parts(&self, job: &Job) -> Vec<MovePart> {
        let mut parts = vec![MovePart::Row];
        parts.extend(self.leaves(job).then_some(MovePart::Old));
        if self.new_key(job).is_some() {
            // Also where it was before: during the tidying another item can have taken the place over, and this one's row still names it.
            parts.extend([MovePart::New, MovePart::PlaceRow]);
        }
        parts
    }

    /// Is there an old place, other than the new one, that may still hold the item?
    fn leaves(&self, job: &Job) -> bool {
        let same = |old: &Item| self.new_key(job).is_some_and(|new| same_item(old, &new, &[]));
        !self.old_is_gone && self.old_key().is_some_and(|old| !same(&old))
    }

    fn write(&self, job: &Job, part: MovePart) -> Write {
        match part {
            MovePart::Row => {
                let target = self.new_key(job);
                self.put_row(job, LedgerRow { target, ..LedgerRow::new(self.next_fence(job)) })
            }
            MovePart::Old => match self.delete_old(job) {
                Some(write) => write,
                None => unreachable!("`parts` has an old place only where there is one"),
            },
            MovePart::PlaceRow => self.put_place_row(job),
            MovePart::New => Write {
                role: TableRole::Target,
                action: Action::Put(self.wanted.clone().unwrap_or_default()),
                // Two source items can want one target key. Without the owner in the guard the second overwrites the first.
                guard: Guard::AbsentOr(self.is_ours()),
            },
        }
    }

    fn put_row(&self, job: &Job, row: LedgerRow) -> Write {
        // The row decides which of two workers goes first. Without this guard both move the item, and one of its two copies
        // stays for ever: no row names it.
        self.stamped(job, row).put_over(self.row.as_ref(), job.mapping(), &self.source, &self.key)
    }

    fn stamped(&self, job: &Job, row: LedgerRow) -> LedgerRow {
        let stamp = stamp(job, &self.source, &row.fence.to_string());
        LedgerRow { stamp: Some(stamp), ..row }
    }

    /// The new place names the item. The guards of row and item decide, so this needs none.
    fn put_place_row(&self, job: &Job) -> Write {
        let key = self.new_key(job).unwrap_or_default();
        let Some(place) = SourceKey::of(job.mapping().target(), &key) else {
            unreachable!("`parts` has a new place only where there is one")
        };
        // Nothing was carried from there.
        let row = LedgerRow::new(Fence::of_scan(Epoch::FIRST));
        let stamp = stamp(job, &self.source, &self.next_fence(job).to_string());
        let row = LedgerRow { target: Some(self.key.clone()), stamp: Some(stamp), ..row };
        let any = Guard::AbsentOr(is(control::SORT, Comparison::Exists(true)));
        Write { guard: any, ..row.put_place(None, job.mapping(), &place, &key) }
    }

    fn delete_old(&self, job: &Job) -> Option<Write> {
        let key = self.leaves(job).then(|| self.old_key())??;
        // The old place may have gone to another source item. Without the owner in the guard that item is deleted.
        let guard = Guard::AbsentOr(self.is_ours());
        Some(Write { role: TableRole::Target, action: Action::Delete(key), guard })
    }

    fn is_ours(&self) -> crate::condition::Condition {
        is(OWNER_ATTRIBUTE, Comparison::Equal(self.source.value()))
    }

    /// Some guard of the transaction did not hold: which, and what next.
    fn refused(&mut self, job: &Job, held: &[bool]) -> Turn {
        let parts = self.parts(job);
        let failed = |part: MovePart| parts.iter().zip(held).any(|(sent, held)| *sent == part && !held);
        // The row decides: if it has changed, the other guards were checked for a place that the item has left.
        if failed(MovePart::Row) {
            return self.read_row(job);
        }
        // The old place is empty, or another source item has it. Only without this delete can the transaction succeed.
        if failed(MovePart::Old) {
            self.old_is_gone = true;
            return self.move_on(job);
        }
        if !failed(MovePart::New) {
            return self.read_row(job);
        }
        if self.released || !self.leaves(job) {
            return Turn::Done(TaskResult::Blocked);
        }
        self.release(job)
    }

    /// Another item is where this one belongs. Leaving the own old place first never blocks, and lets two items swap.
    fn release(&mut self, job: &Job) -> Turn {
        self.phase = MovePhase::Releasing;
        self.released = true;
        let row = self.put_row(job, LedgerRow::new(self.released_fence(job)));
        self.send(job, [Some(row), self.delete_old(job)])
    }

    /// Newer than the row, older than what is still to be done.
    fn released_fence(&self, job: &Job) -> Fence {
        self.row.as_ref().map_or_else(|| Fence::of_scan(job.epoch()), |row| row.fence.repaired())
    }

    fn next_fence(&self, job: &Job) -> Fence {
        match &self.aim {
            CarryGoal::State(fence) => fence.clone(),
            CarryGoal::Now(failed) => {
                // Above the row and above the failed change: otherwise one of them, delivered late, overwrites the repair.
                let known = self.row.as_ref().map(|row| row.fence.repaired());
                let scan = Fence::of_scan(job.epoch());
                known.into_iter().chain(failed.clone()).fold(scan, Fence::max)
            }
        }
    }

    fn old_key(&self) -> Option<Item> {
        self.row.as_ref()?.target.clone()
    }

    fn new_key(&self, job: &Job) -> Option<Item> {
        job.mapping().target().key_of(self.wanted.as_ref()?)
    }
}
