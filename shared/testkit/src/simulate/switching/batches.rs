//! Invocations of the replicator while a target is filled: batches from a shard, and what their ends mean for it.

use std::cell::RefCell;
use std::rc::Rc;

use keyfold_core::retrofit::control::{Direction, Phase, RetrofitState};
use keyfold_core::retrofit::{
    Batch, ChangeKind, Disposition, Epoch, Fence, ItemTask, Job, Quarantined, Received, TaskResult,
};

use super::super::fault::Fault;
use super::super::mutant::Mutant;
use super::super::work::TaskOrigin;
use super::fill::Invocation;
use super::work::{Errand, Look, Waiter};
use super::world::World;

/// The most records of a batch.
const BATCH_MAX: usize = 4;
/// A blocked task is tried again so often, then its item is parked.
const BLOCKED_MAX: u8 = 2;

impl World {
    /// The records of a shard that are still to be dealt with, in their order.
    fn left_in(&self, shard: usize) -> impl Iterator<Item = usize> {
        let left = move |at: &usize| self.streams[0][*at].shard == shard && !self.streams[0][*at].dealt_with;
        (0..self.streams[0].len()).filter(left)
    }

    /// The shards from which a batch can be taken: a child waits for its parent.
    pub(super) fn ready_shards(&self) -> Vec<usize> {
        if !self.is_followed(Direction::Forward) {
            return Vec::new();
        }
        let state = |shard: usize| self.fill().shards.get(&shard).copied().unwrap_or_default();
        let over = |shard: usize| !state(shard).busy && self.left_in(shard).next().is_none();
        let is_ready = |shard: &usize| {
            let waits = state(*shard).busy || state(*shard).lags_until > self.turns;
            let parents = self.lineage(0, *shard);
            !waits && self.left_in(*shard).next().is_some() && parents[1..].iter().all(|parent| over(*parent))
        };
        self.shards_of(0, self.stream_count(0)).filter(is_ready).collect()
    }

    /// Takes a batch from a shard.
    pub(super) fn poll(&mut self, shard: usize) {
        let most = self.fill_mut().shard(shard).halved.map_or(BATCH_MAX, |(half, _)| half);
        let count = self.random.between(1, most);
        let records: Vec<usize> = self.left_in(shard).take(count).collect();
        if self.head.phase == Phase::Abandoned {
            // They come again, until they are given up for good: that cannot be noted.
            if self.random.chance(30) {
                self.note(|| format!("records {records:?} are refused and given up"));
                self.pass_records(&records);
                self.fill_mut().gone.extend(records);
            }
            return;
        }
        if self.strikes(Fault::Discard, 6) {
            return self.discard(shard, records);
        }
        let other = self.strikes(Fault::Versions, 8);
        self.invoke(Some(shard), records, other);
    }

    fn pass_records(&mut self, records: &[usize]) {
        records.iter().for_each(|at| self.streams[0][*at].dealt_with = true);
    }

    /// The event source gives records up. An invocation may still have them.
    fn discard(&mut self, shard: usize, records: Vec<usize>) {
        self.note(|| format!("records {records:?} are given up"));
        self.pass_records(&records);
        self.fill_mut().shard(shard).halved = None;
        if self.bites(Mutant::DiscardForgotten) {
        } else if self.bites(Mutant::DiscardReplayed) {
            self.fill_mut().given_up.extend(&records);
        } else {
            self.fill_mut().notes.extend(&records);
        }
        if self.random.chance(50) {
            self.invoke(None, records, false);
        }
    }

    /// A record was given up: the place where it was set aside goes into quarantine. It is not read before it is redriven.
    pub(super) fn note_discarded(&mut self, at: usize) {
        let record = self.fill_mut().notes.swap_remove(at);
        let number = self.streams[0][record].number;
        let place = format!("set-aside-{record}");
        let row = Quarantined::set_aside(&place, Fence::of_scan(self.head.epoch)).row;
        self.fill_mut().unreadable.push((number, row));
        let job = self.job(false);
        let errand = Errand { waiter: Waiter::Note(record), ..Errand::by(job, TaskOrigin::Discard) };
        self.start(errand.job.set_aside(&place), errand);
    }

    /// The job by the mapping of the row, or by another version of it.
    pub(super) fn job(&mut self, other: bool) -> Rc<Job> {
        self.job_in(self.head.epoch, other)
    }

    fn job_in(&mut self, epoch: Epoch, other: bool) -> Rc<Job> {
        let is_mended = self.is_mended() != other;
        let known = (is_mended, epoch.number());
        if let Some(job) = self.fill().jobs.get(&known) {
            return Rc::clone(job);
        }
        let mapping = self.mapping(is_mended).clone();
        let job = Rc::new(RetrofitState { epoch, ..self.head.clone() }.job(mapping));
        self.fill_mut().jobs.insert(known, Rc::clone(&job));
        job
    }

    /// The same for records.
    fn job_of_records(&mut self, other: bool) -> Rc<Job> {
        match self.head.epoch > Epoch::FIRST && self.bites(Mutant::EpochIgnored) {
            true => self.job_in(Epoch::FIRST, other),
            false => self.job(other),
        }
    }

    /// May this version of the mapping write anything now?
    pub(super) fn is_open(&mut self, other: bool) -> bool {
        let is_mended = self.is_mended() != other;
        let Err(error) = self.head.check_open(self.mapping(is_mended)) else { return true };
        self.note(|| format!("  refused: {}", error.code()));
        other && self.head.phase.carries_over() && self.bites(Mutant::VersionsMixed)
    }

    /// The job for these records: of a cached row, whose version is returned too, or of the row now. `None`: they are given back.
    fn allowed(&mut self, other: bool) -> Option<(Rc<Job>, Option<u64>)> {
        let turns = self.turns;
        let function = self.is_on(Fault::Remembered).then(|| self.random.below(self.looks.len()));
        let known = function.and_then(|function| self.looks[function].clone());
        if let Some(look) = known.filter(|look| look.is_remembered(turns)) {
            self.hit(Fault::Remembered);
            return Some((look.job, Some(look.version)));
        }
        let job = self.is_open(other).then(|| self.job_of_records(other));
        if let Some(function) = function {
            let (side, version) = (Direction::Forward, self.head.version);
            self.looks[function] = job.clone().map(|job| Look { side, job, version, turn: turns });
        }
        Some((job?, None))
    }

    /// Starts a batch of these records.
    pub(super) fn invoke(&mut self, shard: Option<usize>, records: Vec<usize>, other: bool) {
        let Some((job, remembered)) = self.allowed(other) else { return };
        let id = self.fill_mut().id();
        self.note(|| format!("invocation {id} of shard {shard:?}: records {records:?}"));
        let of = |at: &usize| Received::Change((*self.streams[0][*at].record).clone());
        let mut received: Vec<Received> = records.iter().map(of).collect();
        let mut batch = Batch::of(&job, &mut received);
        let mut open = batch.open();
        let ends = [open.first().copied(), open.last().copied()];
        open.retain(|at| {
            let skips = self.skips(records[*at], ends.map(|end| end == Some(*at)));
            if skips {
                batch.ended(*at, Disposition::Done(TaskResult::Unchanged));
            }
            !skips
        });
        if let Some(shard) = shard {
            self.fill_mut().shard(shard).busy = true;
        }
        let batch = Rc::new(RefCell::new(batch));
        let invocation = Invocation { shard, batch, records, open: open.len() + 1, remembered, drops: false };
        self.fill_mut().invocations.insert(id, invocation);
        for at in open {
            let errand = Errand {
                waiter: Waiter::Batch(id, at),
                remembered,
                ..Errand::by(Rc::clone(&job), TaskOrigin::Record)
            };
            self.start(job.receive(&received[at]), errand);
        }
        self.fill_mut().invocations.entry(id).and_modify(|invocation| invocation.open -= 1);
        self.invocation_over(id);
    }

    /// Does a weakened protocol skip this record?
    fn skips(&mut self, record: usize, [is_first, is_last]: [bool; 2]) -> bool {
        let Some(mutant) = self.mutant else { return false };
        let record = Rc::clone(&self.streams[0][record].record);
        let skips = match mutant {
            Mutant::FirstOnly => !is_first,
            Mutant::LastOnly => !is_last,
            Mutant::NoEcho => true,
            Mutant::RemoveSkipped => matches!(record.kind, ChangeKind::Remove { .. }),
            Mutant::ExpirySkipped => record.kind == ChangeKind::Remove { expired: true },
            Mutant::PoisonSkipped => {
                record.new.as_ref().is_some_and(|item| self.mapping_now().target_item(item).is_err())
            }
            Mutant::UnreadableSkipped => !record.key.contains_key("id"),
            _ => false,
        };
        skips && self.bites(mutant)
    }

    /// A task of a history that fills has ended.
    pub(super) fn filled(&mut self, task: ItemTask, errand: Errand, result: &TaskResult) {
        self.note(|| format!("  {:?} {:?}: {}", errand.origin, errand.waiter, result.name()));
        let is_page = matches!(errand.waiter, Waiter::Page(..)) && errand.origin == TaskOrigin::Scan;
        match (result, errand.waiter) {
            (TaskResult::Blocked, _) => {
                self.hit(Fault::Collision);
                self.fill_mut().blocked.push((task, errand));
            }
            // The item changed under our hands: it is tried again, as if it were blocked.
            (TaskResult::Busy, _) if is_page => {
                self.fill_mut().blocked.push((task, Errand { blocked: 0, ..errand }));
            }
            (result, Waiter::Batch(id, at)) => {
                self.record_ended(id, at, Some(result).filter(|result| result.is_done()));
            }
            (result, Waiter::Page(id, page)) => {
                let Some(run) = self.fill_mut().runs.get_mut(&id) else { return };
                run.open -= 1;
                match errand.origin {
                    TaskOrigin::Scan => run.slice.item_done(page, result),
                    _ => run.slice.counted(page, "repaired"),
                }
            }
            (_, Waiter::Note(_) | Waiter::Nobody) => {}
        }
    }

    /// The task of a batch's record has ended; without a result, it has failed.
    fn record_ended(&mut self, id: u64, at: usize, result: Option<&TaskResult>) {
        let Some(invocation) = self.fill_mut().invocations.get_mut(&id) else { return };
        invocation.open -= 1;
        invocation.drops |= result.is_some_and(|result| *result != TaskResult::Written);
        let ended = result.map_or(Disposition::Failed, |result| Disposition::Done(result.clone()));
        invocation.batch.borrow_mut().ended(at, ended);
        self.invocation_over(id);
    }

    /// A blocked task goes on: again or, after some times, into the quarantine.
    pub(super) fn unblock(&mut self, at: usize) {
        let (mut task, mut errand) = self.fill_mut().blocked.swap_remove(at);
        let step = if errand.blocked < BLOCKED_MAX {
            task.again(&errand.job)
        } else if self.bites(Mutant::BlockedForgotten) {
            keyfold_core::retrofit::TaskStep::Done(TaskResult::Unchanged)
        } else {
            task.park(&errand.job)
        };
        errand.blocked += 1;
        self.step(task, errand, step);
    }

    /// Once a batch's tasks have all ended, the shard's checkpoint moves to the first failure.
    fn invocation_over(&mut self, id: u64) {
        if self.fill().invocations.get(&id).is_none_or(|invocation| invocation.open > 0) {
            return;
        }
        let Some(invocation) = self.fill_mut().invocations.remove(&id) else { return };
        // A batch has its records in their order; numbers of different keys have none here.
        let failed = invocation.batch.borrow().failed().into_iter().min();
        let hidden = failed.is_some() && self.bites(Mutant::FailuresHidden);
        let place = self.doubted(&invocation, failed).filter(|_| !hidden);
        self.note(|| format!("  invocation {id} over, failed from {place:?}"));
        let Some(shard) = invocation.shard else { return };
        let mut passed = invocation.records[..place.unwrap_or(invocation.records.len())].to_vec();
        let halved = self.fill_mut().shard(shard).halved.take();
        if let Some((_, whole)) = halved.filter(|(half, whole)| place.is_none() && half < whole)
            && self.bites(Mutant::HalfLost)
        {
            passed = self.left_in(shard).take(whole).collect();
        }
        self.pass_records(&passed);
        self.fill_mut().shard(shard).busy = false;
        if place.is_some() {
            self.batch_failed(shard, invocation.records.len());
        }
    }

    /// A cached row lets nothing be dropped: if the row is another one by now, the whole batch comes again.
    fn doubted(&mut self, invocation: &Invocation, failed: Option<usize>) -> Option<usize> {
        let Some(row) = invocation.remembered else { return failed };
        if failed.is_none() && !invocation.drops {
            return None;
        }
        self.looks.iter_mut().for_each(|look| drop(look.take_if(|look| look.version == row)));
        if invocation.drops && self.head.version != row { Some(0) } else { failed }
    }

    /// A batch of a shard has failed: it may be split.
    fn batch_failed(&mut self, shard: usize, records: usize) {
        let splits = records > 1 && self.strikes(Fault::Resplit, 70);
        self.fill_mut().shard(shard).halved = splits.then_some((records.div_ceil(2), records));
    }

    /// Ends the batch or segment that waits for a task, with all its other tasks.
    pub(super) fn crashed(&mut self, waiter: Waiter) {
        self.note(|| format!("  crash of {waiter:?}"));
        match waiter {
            Waiter::Batch(id, _) => {
                self.works.retain(|work| !matches!(work.errand.waiter, Waiter::Batch(same, _) if same == id));
                let fill = self.fill_mut();
                fill.blocked
                    .retain(|(_, errand)| !matches!(errand.waiter, Waiter::Batch(same, _) if same == id));
                let Some(invocation) = fill.invocations.remove(&id) else { return };
                let Some(shard) = invocation.shard else { return };
                fill.shard(shard).busy = false;
                match self.bites(Mutant::CrashForgotten) {
                    true => self.pass_records(&invocation.records),
                    false => self.batch_failed(shard, invocation.records.len()),
                }
            }
            Waiter::Page(id, _) => self.restart_segment(id),
            Waiter::Note(record) => self.fill_mut().notes.push(record),
            Waiter::Nobody => {}
        }
    }

    /// A task was throttled too often.
    pub(super) fn gives_up(&mut self, waiter: Waiter) {
        self.note(|| format!("  {waiter:?} gives up"));
        let is_note = matches!(waiter, Waiter::Note(_) | Waiter::Nobody);
        let settled = !is_note && self.bites(Mutant::GivenUpIsSettled);
        match waiter {
            Waiter::Batch(id, at) => self.record_ended(id, at, settled.then_some(&TaskResult::Written)),
            Waiter::Page(id, page) if settled => {
                let Some(run) = self.fill_mut().runs.get_mut(&id) else { return };
                run.open -= 1;
                run.slice.item_done(page, &TaskResult::Written);
            }
            waiter => self.crashed(waiter),
        }
    }
}
