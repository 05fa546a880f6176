//! Another table, where the source's key fixes the target's, once the retrofit is tidied: each change goes in one transaction
//! with a row of the control table. The row keeps the fence, so that a delete can leave nothing in the target.
//!
//! A third part of the transaction asks that the generation be open still ([`seal`]): so no such write is carried out once the
//! direction has changed.
//!
//! There is one way for records, scanned items and repairs. Row and target are read first, then the source; then the
//! source's state is written, if row and target are still as they were read. The source is read last, and every write changes
//! the row: so of two writes that go through, the later one has read the source later. A record's own image is never
//! written. Items whose tombstones were swept have no row, and a late record of one must not bring it back.

use std::borrow::Cow;

use super::fenced::{same_but_fence, state};
use super::goal::{Goal, above};
use super::place::unchanged;
use super::row::LedgerRow;
use super::turn::{ROUNDS_MAX, Turn};
use crate::retrofit::attributes::{FENCE_ATTRIBUTE, TOMBSTONE_ATTRIBUTE};
use crate::retrofit::fence::Fence;
use crate::retrofit::job::{Job, Tracking};
use crate::retrofit::mapping::NO_WAY_BACK;
use crate::retrofit::misfit::Misfit;
use crate::retrofit::quarantine::QuarantineReason;
use crate::retrofit::request::{Action, Request, Response, TableRole, Write};
use crate::retrofit::result::TaskResult;
use crate::retrofit::seal;
use crate::retrofit::source_key::SourceKey;
use crate::value::Item;

/// One item whose target key is fixed, and which has a row.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::retrofit) struct Rowed {
    source: SourceKey,
    key: Item,
    /// Where it is in the target. Where nowhere, an item that the retrofit takes is for the quarantine.
    place: Result<Item, QuarantineReason>,
    goal: Goal,
    phase: RowedPhase,
    /// The row as it was last read.
    row: Option<LedgerRow>,
    /// The target's item as it was last read.
    target: Option<Item>,
    rounds: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RowedPhase {
    ReadingRow,
    ReadingTarget,
    ReadingSource,
    /// The target's item gets this fence, so that it can be deleted.
    GivingFence(Fence),
    Writing,
}

impl Rowed {
    /// A record came: the source's state of now is written, with the record's fence.
    pub(super) fn apply(job: &Job, source: &SourceKey, key: &Item, fence: Fence) -> (Rowed, Turn) {
        Rowed::started(job, source, key, Goal::Record(fence))
    }

    /// A scan found the item.
    pub(super) fn backfill(job: &Job, source: &SourceKey, key: &Item) -> (Rowed, Turn) {
        Rowed::started(job, source, key, Goal::Scan)
    }

    /// Both sides are read again.
    pub(super) fn repair(job: &Job, source: &SourceKey, key: &Item, failed: Option<Fence>) -> (Rowed, Turn) {
        Rowed::started(job, source, key, Goal::Repair(failed))
    }

    /// The same, and what is there is written again even if it is right.
    pub(super) fn rewrite(job: &Job, source: &SourceKey, key: &Item) -> (Rowed, Turn) {
        Rowed::started(job, source, key, Goal::Rewrite)
    }

    fn started(job: &Job, source: &SourceKey, key: &Item, goal: Goal) -> (Rowed, Turn) {
        let place = match job.mapping().target_key(key) {
            Ok(Some(place)) => Ok(place),
            // On the way back: a key that is not as the manifest has it.
            Ok(None) => Err(QuarantineReason::Unmappable(Misfit::of_code(NO_WAY_BACK))),
            Err(error) => Err(QuarantineReason::unmappable(&error)),
        };
        let mut machine = Rowed {
            source: source.clone(),
            key: key.clone(),
            place,
            goal,
            phase: RowedPhase::ReadingRow,
            row: None,
            target: None,
            rounds: 0,
        };
        let turn = machine.read_row(job);
        (machine, turn)
    }

    pub(super) fn respond(&mut self, job: &Job, response: Response) -> Turn {
        match (&self.phase, response) {
            (_, Response::Rejected(code)) => self.goal.enter(job, QuarantineReason::Rejected(code)),
            // Row and target are read before the source. Every write changes the row, so of two writes that succeed the later one has
            // read the source later; in another order an older state could win.
            (RowedPhase::ReadingRow, Response::Item(row)) => {
                self.row = row.as_ref().and_then(LedgerRow::read);
                let Ok(key) = self.place.clone() else { return self.know_target(job, None) };
                self.phase = RowedPhase::ReadingTarget;
                Turn::Send(Request::Get { role: TableRole::Target, key })
            }
            (RowedPhase::ReadingTarget, Response::Item(target)) => self.know_target(job, target),
            (RowedPhase::ReadingSource, Response::Item(source)) => self.write(job, source.as_ref()),
            (RowedPhase::Writing, Response::Written) => Turn::Done(TaskResult::Written),
            (RowedPhase::GivingFence(fence), Response::Written) => {
                let fence = fence.clone();
                self.delete_with_fence(job, &fence)
            }
            // Its generation is over. A worker that knows the next one tries again.
            (RowedPhase::GivingFence(_) | RowedPhase::Writing, Response::Cancelled(held))
                if seal::is_over(job, &held) =>
            {
                Turn::Done(TaskResult::Busy)
            }
            (RowedPhase::GivingFence(_) | RowedPhase::Writing, Response::Cancelled(_)) => self.read_row(job),
            (_, response) => unreachable!("{response:?} does not answer what was sent"),
        }
    }

    fn read_row(&mut self, job: &Job) -> Turn {
        if self.rounds >= ROUNDS_MAX {
            return Turn::Done(TaskResult::Busy);
        }
        self.rounds += 1;
        self.phase = RowedPhase::ReadingRow;
        let key = LedgerRow::key(job.mapping(), &self.source);
        Turn::Send(Request::Get { role: TableRole::Control, key })
    }

    fn know_target(&mut self, job: &Job, target: Option<Item>) -> Turn {
        self.target = target;
        // An item without a fence was not written by this retrofit.
        if !job.rows_decide() && self.target.is_some() && self.target_fence().is_none() {
            return self.goal.enter(job, QuarantineReason::Foreign);
        }
        let known = self.known(job);
        if self.goal.is_superseded(job, known.as_ref()) {
            return Turn::Done(TaskResult::Superseded);
        }
        // Only now: what is read here must be newer than what row and target say.
        self.phase = RowedPhase::ReadingSource;
        Turn::Send(Request::Get { role: TableRole::Source, key: self.key.clone() })
    }

    /// Writes the source's state, if there is anything to write.
    fn write(&mut self, job: &Job, source: Option<&Item>) -> Turn {
        let fence = self.next_fence(job);
        if let Err(reason) = &self.place {
            return match source.is_some_and(|item| job.mapping().selects(item)) {
                true => self.goal.enter(job, reason.clone()),
                false => self.is_nowhere(job, fence),
            };
        }
        let wanted = match state(job.mapping(), &self.key, source.map(Cow::Borrowed), &fence) {
            Ok(item) => item,
            Err(reason) => return self.goal.enter(job, reason),
        };
        let gone = wanted.contains_key(TOMBSTONE_ATTRIBUTE);
        let is_foreign = self.target.as_ref().is_some_and(|target| !job.mapping().may_own(target));
        if is_foreign && !gone {
            return self.goal.enter(job, QuarantineReason::Foreign);
        }
        if is_foreign {
            // It is as if there were nothing.
            self.target = None;
            return self.is_nowhere(job, fence);
        }
        if let Some(result) = self.nothing_to_do(job, &wanted, gone) {
            return Turn::Done(result);
        }
        match &self.target {
            _ if !(gone && job.tracking() == Tracking::Rows) => {
                self.phase = RowedPhase::Writing;
                self.send_both(job, &self.row_put(fence, gone), Action::Put(wanted))
            }
            Some(target) if !self.is_last_write(target) => self.give_fence(job, target.clone()),
            _ => self.delete(job),
        }
    }

    /// Nothing of the item is or can be in the target: the row alone is written, if it has to rise.
    fn is_nowhere(&mut self, job: &Job, fence: Fence) -> Turn {
        if self.nothing_to_do(job, &Item::default(), true).is_some() {
            return Turn::Done(TaskResult::NotSelected);
        }
        self.phase = RowedPhase::Writing;
        let row = self.row_with(fence, false);
        self.send(job, vec![row.put_over(self.row.as_ref(), job.mapping(), &self.source, &self.key)])
    }

    fn delete(&mut self, job: &Job) -> Turn {
        self.phase = RowedPhase::Writing;
        let row = self.row_with(self.next_fence(job), true);
        let place = self.place.clone().unwrap_or_default();
        self.send_both(job, &row, Action::Delete(place))
    }

    /// Is it what this retrofit wrote last, so that a deletion of it is known again by its fence?
    fn is_last_write(&self, target: &Item) -> bool {
        let fence = Fence::on(target);
        fence.is_some() && self.row.as_ref().is_none_or(|row| Some(&row.fence) == fence.as_ref())
    }

    /// Gives the target's item a fence before it is deleted. The deletion of an item without one could not be distinguished
    /// from another program's, and a guard could not tell that item from another one without a fence.
    fn give_fence(&mut self, job: &Job, mut target: Item) -> Turn {
        let fence = above(job, self.last_write(job).as_ref(), None);
        target.insert(FENCE_ATTRIBUTE, fence.value());
        self.phase = RowedPhase::GivingFence(fence.clone());
        // A put, as all else that is written there: an update would need one more right.
        self.send_both(job, &self.row_with(fence, false), Action::Put(target))
    }

    /// It has this fence now, and was not written since the source was read: it is deleted.
    fn delete_with_fence(&mut self, job: &Job, fence: &Fence) -> Turn {
        self.row = Some(self.row_with(fence.clone(), false));
        if let Some(target) = &mut self.target {
            target.insert(FENCE_ATTRIBUTE, fence.value());
        }
        self.delete(job)
    }

    /// Sends the row and this write of the target, if both are as they were read.
    fn send_both(&self, job: &Job, row: &LedgerRow, target: Action) -> Turn {
        let row = row.put_over(self.row.as_ref(), job.mapping(), &self.source, &self.key);
        let target =
            Write { role: TableRole::Target, action: target, guard: unchanged(self.target.as_ref()) };
        self.send(job, vec![row, target])
    }

    /// Sends these writes together, while their generation is not sealed.
    fn send(&self, job: &Job, mut writes: Vec<Write>) -> Turn {
        writes.extend(seal::unsealed(job, &self.source));
        Turn::Send(Request::Transact(writes))
    }

    /// The row of an item that is put. A tombstone is swept later: its own fence is what that deletion shows.
    fn row_put(&self, fence: Fence, gone: bool) -> LedgerRow {
        let removed =
            if gone { Some(fence.clone()) } else { self.row.as_ref().and_then(|row| row.removed.clone()) };
        LedgerRow { removed, ..LedgerRow::new(fence) }
    }

    /// The row with this fence. It keeps the fence of the last item that was deleted here: by it the deletion is known again
    /// on the target's stream.
    fn row_with(&self, fence: Fence, gone: bool) -> LedgerRow {
        let before = self.row.as_ref().and_then(|row| row.removed.clone());
        let removed = match &self.target {
            Some(target) if gone => Fence::on(target),
            _ => before,
        };
        LedgerRow { removed, ..LedgerRow::new(fence) }
    }

    /// A record always writes: its fence must be in the row, or a task that read the source before could still write
    /// what it was then.
    fn nothing_to_do(&self, job: &Job, wanted: &Item, gone: bool) -> Option<TaskResult> {
        let failed = match &self.goal {
            Goal::Record(_) => return None,
            Goal::Rewrite if self.target.is_some() => return None,
            Goal::Scan | Goal::Rewrite => None,
            Goal::Repair(failed) => failed.as_ref(),
        };
        let known = self.known(job);
        let same = match &self.target {
            None => gone,
            // Whatever is there, it goes.
            Some(_) if gone && job.tracking() == Tracking::Rows => false,
            Some(there) => same_but_fence(there, wanted),
        };
        let scanned = self.goal == Goal::Scan;
        match same && known.as_ref() >= failed {
            true if scanned && self.target.is_none() => Some(TaskResult::NotSelected),
            // In a new epoch the fence must rise too.
            true if scanned => None,
            true => Some(TaskResult::Unchanged),
            false => None,
        }
    }

    fn target_fence(&self) -> Option<Fence> {
        Fence::on(self.target.as_ref()?)
    }

    /// The fence of the last write. Items written before there were rows have their fence on the item alone; what
    /// was deleted since has it in the row alone.
    fn known(&self, job: &Job) -> Option<Fence> {
        let on_item = if job.rows_decide() { None } else { self.target_fence() };
        self.row.as_ref().map(|row| row.fence.clone()).max(on_item)
    }

    fn next_fence(&self, job: &Job) -> Fence {
        self.goal.next_fence(job, self.last_write(job).as_ref())
    }

    /// The fence of the last write. Where there is no row, the item's own: the retrofit knows its writes by fences that rise.
    fn last_write(&self, job: &Job) -> Option<Fence> {
        self.known(job).or_else(|| self.target_fence())
    }
}
