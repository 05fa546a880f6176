//! Tasks step by step, and what their ends mean for the invocation or the run that waits for them.

use keyfold_core::retrofit::segment::PageNumber;
use keyfold_core::retrofit::{Batch, ChangeKind, Checkpoint, Disposition, Pass, Slice, Step, Task, Verdict};

use super::mutant::Mutant;
use super::work::{Invocation, Kind, Owner, Run, Work};
use super::world::{Exchange, World};

/// A blocked task is tried again so often, then the batch fails or the item is parked.
const BLOCKED_MAX: usize = 2;
/// A batch that fails so often has its blocked items parked.
const ATTEMPTS_MAX: usize = 2;

impl World<'_> {
    /// Starts a task.
    pub(super) fn start(&mut self, mut task: Task, kind: Kind, owner: Owner, epoch: usize) {
        let step = task.start(self.job_of(epoch));
        self.stepped(task, kind, owner, epoch, step, 0);
    }

    /// Moves the task at this place on by one request.
    pub(super) fn advance(&mut self, at: usize) {
        match self.exchange(at) {
            Exchange::Again => {}
            Exchange::Crashed => self.crash(at),
            Exchange::Heard(outcome) => {
                let Work { mut task, kind, owner, epoch, blocked, .. } = self.works.swap_remove(at);
                let step = task.told(self.job_of(epoch), outcome);
                self.stepped(task, kind, owner, epoch, step, blocked);
            }
        }
    }

    fn stepped(&mut self, task: Task, kind: Kind, owner: Owner, epoch: usize, step: Step, blocked: usize) {
        match step {
            Step::Send(request) => {
                self.works.push(Work { task, kind, owner, epoch, request, blocked });
            }
            Step::Done(verdict) => {
                self.note(|| format!("  {kind:?} {owner:?} of {:?}: {verdict:?}", key_text(&task)));
                self.ended(task, kind, owner, epoch, verdict, blocked);
            }
        }
    }

    fn ended(
        &mut self,
        task: Task,
        kind: Kind,
        owner: Owner,
        epoch: usize,
        verdict: Verdict,
        blocked: usize,
    ) {
        match owner {
            Owner::Invocation(id, at) => {
                let Some(invocation) = self.invocations.get_mut(&id) else { return };
                invocation.open -= 1;
                match verdict {
                    Verdict::Blocked => invocation.blocked.push((at, task, blocked)),
                    verdict => {
                        let settled = verdict.is_settled();
                        let ended = if settled { Disposition::Settled(verdict) } else { Disposition::Failed };
                        invocation.batch.ended(at, ended);
                    }
                }
                self.invocation_over(id);
            }
            Owner::Run(id, page) => {
                let Some(run) = self.runs.get_mut(&id) else { return };
                run.open -= 1;
                match verdict {
                    Verdict::Blocked => run.blocked.push((page, task, blocked)),
                    // The item changed under our hands: it is tried again, as if it were blocked.
                    Verdict::Busy => run.blocked.push((page, task, 0)),
                    verdict => run.slice.settled(page, &verdict),
                }
            }
            Owner::Nobody if verdict == Verdict::Blocked && kind == Kind::Repair => {
                self.try_again(task, kind, owner, epoch, blocked);
            }
            Owner::Note(_) | Owner::Nobody => {}
        }
    }

    /// Again, or, after some times, into the quarantine.
    fn try_again(&mut self, mut task: Task, kind: Kind, owner: Owner, epoch: usize, blocked: usize) {
        let job = self.job_of(epoch);
        let step = if blocked < BLOCKED_MAX {
            task.again(job)
        } else if self.has(Mutant::BlockedForgotten) {
            Step::Done(Verdict::Unchanged)
        } else {
            task.park(job)
        };
        self.stepped(task, kind, owner, epoch, step, blocked + 1);
    }

    /// When a batch's tasks have all ended: blocked ones go on, or the checkpoint moves.
    fn invocation_over(&mut self, id: u64) {
        let Some(invocation) = self.invocations.get_mut(&id) else { return };
        if invocation.open > 0 {
            return;
        }
        let waiting = std::mem::take(&mut invocation.blocked);
        let epoch = invocation.epoch;
        let attempts = invocation.shard.map_or(ATTEMPTS_MAX, |shard| self.stream.shards[shard].attempts);
        invocation.open += waiting.len();
        let mut again = Vec::new();
        for (at, task, blocked) in waiting {
            if blocked >= BLOCKED_MAX && attempts < ATTEMPTS_MAX {
                invocation.open -= 1;
                invocation.batch.ended(at, Disposition::Failed);
            } else {
                again.push((at, task, blocked));
            }
        }
        if !again.is_empty() {
            for (at, task, blocked) in again {
                self.try_again(task, Kind::Record, Owner::Invocation(id, at), epoch, blocked);
            }
            return;
        }
        let Some(invocation) = self.invocations.remove(&id) else { return };
        self.report(&invocation);
    }

    /// Moves the shard's checkpoint to the first failure.
    fn report(&mut self, invocation: &Invocation) {
        let failed = invocation.batch.failures().into_iter().min().cloned();
        let failed = if self.has(Mutant::FailuresHidden) { None } else { failed };
        let place = failed.as_ref().and_then(|sequence| {
            let same = |at: &usize| self.stream.records[*at].record.sequence == *sequence;
            invocation.records.iter().position(same)
        });
        self.note(|| format!("  invocation {} over, failed from {place:?}", invocation.id));
        let Some(shard) = invocation.shard.map(|shard| &mut self.stream.shards[shard]) else { return };
        shard.busy = false;
        shard.attempts = if place.is_some() { shard.attempts + 1 } else { 0 };
        shard.at += place.unwrap_or(invocation.records.len());
    }

    /// Ends whoever waits for the task at this place, with all its other tasks.
    fn crash(&mut self, at: usize) {
        let work = self.works.swap_remove(at);
        self.note(|| format!("  crash of {:?}", work.owner));
        match work.owner {
            Owner::Invocation(id, _) => {
                self.works.retain(|other| !matches!(other.owner, Owner::Invocation(same, _) if same == id));
                let Some(invocation) = self.invocations.remove(&id) else { return };
                let skip = if self.has(Mutant::CrashForgotten) { invocation.records.len() } else { 0 };
                if let Some(shard) = invocation.shard {
                    self.stream.shards[shard].busy = false;
                    self.stream.shards[shard].at += skip;
                }
            }
            Owner::Run(id, _) => self.crash_run(id),
            Owner::Note(record) => self.notes.push(record),
            Owner::Nobody => {}
        }
    }

    /// Goes on from the last checkpoint that was given back.
    pub(super) fn crash_run(&mut self, id: u64) {
        self.works.retain(|other| !matches!(other.owner, Owner::Run(same, _) if same == id));
        let Some(mut run) = self.runs.remove(&id) else { return };
        let job = self.job_of(run.epoch);
        let json = run.returned.json();
        let Ok(read) = Checkpoint::resume(&json, job, Pass::Backfill, run.returned.segment()) else {
            unreachable!("it was made by this job")
        };
        run.slice = Slice::from(if self.has(Mutant::CheckpointFirst) {
            run.slice.checkpoint().clone()
        } else {
            read
        });
        (run.id, run.open) = (self.id(), 0);
        run.blocked.clear();
        self.runs.insert(run.id, run);
    }

    /// Tries the blocked items of a run once more.
    pub(super) fn unblock_run(&mut self, id: u64) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        let (waiting, epoch) = (std::mem::take(&mut run.blocked), run.epoch);
        run.open += waiting.len();
        for (page, task, blocked) in waiting {
            self.try_again(task, Kind::Scan, Owner::Run(id, page), epoch, blocked);
        }
    }

    /// Starts a batch of these records.
    pub(super) fn invoke(&mut self, shard: Option<usize>, records: Vec<usize>, epoch: usize) {
        let job = self.job_of(epoch);
        let id = self.id();
        self.note(|| format!("invocation {id} of shard {shard:?}: records {records:?}"));
        let of = |at: &usize| self.stream.records[*at].record.clone();
        let mut batch = Batch::new(job, records.iter().map(of).collect());
        let tasks = batch.tasks(job);
        let last = tasks.len().saturating_sub(1);
        let mut kept = Vec::new();
        for (number, (at, task)) in tasks.into_iter().enumerate() {
            let record = &self.stream.records[records[at]].record;
            let skipped = match self.mutant {
                Some(Mutant::FirstOnly) => number > 0,
                Some(Mutant::LastOnly) => number < last,
                Some(Mutant::NoEcho) => true,
                Some(Mutant::RemoveSkipped) => matches!(record.kind, ChangeKind::Remove { .. }),
                Some(Mutant::ExpirySkipped) => record.kind == ChangeKind::Remove { expired: true },
                Some(Mutant::PoisonSkipped) => {
                    record.new.as_ref().is_some_and(|item| job.mapping().target_item(item).is_err())
                }
                _ => false,
            };
            if skipped {
                batch.ended(at, Disposition::Settled(Verdict::Unchanged));
            } else {
                kept.push((at, task));
            }
        }
        if let Some(shard) = shard {
            self.stream.shards[shard].busy = true;
        }
        let invocation =
            Invocation { id, shard, batch, records, open: kept.len() + 1, blocked: Vec::new(), epoch };
        self.invocations.insert(id, invocation);
        for (at, task) in kept {
            self.start(task, Kind::Record, Owner::Invocation(id, at), epoch);
        }
        if let Some(invocation) = self.invocations.get_mut(&id) {
            invocation.open -= 1;
        }
        self.invocation_over(id);
    }

    /// Begins a run of a segment.
    pub(super) fn begin_run(&mut self, segment: keyfold_core::retrofit::SegmentId) {
        let returned = Checkpoint::start(self.job(), Pass::Backfill, segment);
        let id = self.id();
        let (slice, epoch) = (Slice::from(returned.clone()), self.epoch);
        self.runs.insert(id, Run { id, slice, returned, open: 0, blocked: Vec::new(), epoch });
    }

    /// Starts the tasks of a page.
    pub(super) fn begin_page(
        &mut self,
        id: u64,
        items: &[keyfold_core::value::Item],
        end: Option<keyfold_core::value::Item>,
    ) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        let (page, epoch): (PageNumber, usize) = (run.slice.page(items.len(), end), run.epoch);
        let careful = run.slice.is_careful(page);
        run.open += items.len();
        if self.mutant == Some(Mutant::CheckpointFirst) {
            for _ in items {
                run.slice.settled(page, &Verdict::Written);
            }
        }
        let job = self.job_of(epoch);
        for item in items {
            self.start(job.backfill(item, careful), Kind::Scan, Owner::Run(id, page), epoch);
        }
    }
}

fn key_text(task: &Task) -> Option<String> {
    task.key().get("id").map(|id| format!("{id:?}"))
}
