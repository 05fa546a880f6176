//! Tasks step by step, and what their ends mean for those who wait for them.

use keyfold_core::retrofit::{Disposition, ItemTask, TaskResult, TaskStep};

use super::fault::Fault;
use super::mutant::Mutant;
use super::send::Exchange;
use super::state::SimulationState;
use super::work::{BlockedTask, PendingRequest, PendingTask, TaskOrigin, Version, Waiter, short};

/// A blocked task is tried again so often, then the batch fails or the item is parked.
pub(super) const BLOCKED_MAX: usize = 2;

impl SimulationState<'_> {
    /// Starts a task.
    pub(super) fn start(&mut self, mut task: ItemTask, kind: TaskOrigin, owner: Waiter, version: Version) {
        let step = task.start(self.job_of(version));
        self.stepped(PendingTask { task, kind, owner, version, blocked: 0 }, step);
    }

    /// Moves the task at this place on by one request.
    pub(super) fn advance(&mut self, at: usize) {
        let mut work = self.works.swap_remove(at);
        match self.exchange(&mut work) {
            Exchange::Again => self.works.push(work),
            Exchange::GaveUp => self.gave_up(&work.pending.owner),
            Exchange::Crashed => self.crash(&work.pending.owner),
            Exchange::Heard(outcome) => {
                let mut pending = work.pending;
                let step = pending.task.respond(self.job_of(pending.version), outcome);
                self.stepped(pending, step);
            }
        }
    }

    fn stepped(&mut self, pending: PendingTask, step: TaskStep) {
        match step {
            TaskStep::Send(request) => self.works.push(PendingRequest { pending, request, attempts: 0 }),
            TaskStep::Done(verdict) => {
                self.note(|| {
                    let key = short(pending.task.key());
                    format!("  {:?} {:?} of {key}: {verdict:?}", pending.kind, pending.owner)
                });
                self.ended(pending, verdict);
            }
        }
    }

    fn ended(&mut self, pending: PendingTask, verdict: TaskResult) {
        if verdict == TaskResult::Blocked {
            self.faults.hit(Fault::Collision);
        }
        match pending.owner {
            Waiter::Invocation(id, at) => {
                let Some(invocation) = self.invocations.get_mut(&id) else { return };
                invocation.open -= 1;
                match verdict {
                    TaskResult::Blocked => {
                        let (task, blocked) = (pending.task, pending.blocked);
                        invocation.blocked.push(BlockedTask { at, task, blocked });
                    }
                    verdict => {
                        let settled = verdict.is_done();
                        invocation.drops |= settled && verdict != TaskResult::Written;
                        let ended = if settled { Disposition::Done(verdict) } else { Disposition::Failed };
                        invocation.batch.ended(at, ended);
                    }
                }
                self.invocation_over(id);
            }
            Waiter::SegmentRun(id, page) => {
                let Some(run) = self.runs.get_mut(&id) else { return };
                run.open -= 1;
                let blocked = match verdict {
                    TaskResult::Blocked => pending.blocked,
                    // The item changed under our hands: it is tried again, as if it were blocked.
                    TaskResult::Busy => 0,
                    verdict => return run.slice.item_done(page, &verdict),
                };
                run.blocked.push(BlockedTask { at: page, task: pending.task, blocked });
            }
            Waiter::Nobody if verdict == TaskResult::Blocked && pending.kind == TaskOrigin::Repair => {
                self.try_again(pending);
            }
            Waiter::Note(_) | Waiter::Nobody => {}
        }
    }

    /// Again, or, after some times, into the quarantine.
    pub(super) fn try_again(&mut self, mut pending: PendingTask) {
        let job = self.job_of(pending.version);
        let step = if pending.blocked < BLOCKED_MAX {
            pending.task.again(job)
        } else if self.bites(Mutant::BlockedForgotten) {
            TaskStep::Done(TaskResult::Unchanged)
        } else {
            pending.task.park(job)
        };
        pending.blocked += 1;
        self.stepped(pending, step);
    }

    /// A task was throttled too often: its batch or segment starts again from its last checkpoint.
    fn gave_up(&mut self, owner: &Waiter) {
        self.note(|| format!("  {owner:?} gives up"));
        match *owner {
            Waiter::Invocation(id, at) => {
                let settled = self.bites(Mutant::GivenUpIsSettled);
                let Some(invocation) = self.invocations.get_mut(&id) else { return };
                invocation.open -= 1;
                let end = if settled { Disposition::Done(TaskResult::Written) } else { Disposition::Failed };
                invocation.batch.ended(at, end);
                self.invocation_over(id);
            }
            Waiter::SegmentRun(id, page) => {
                let settled = self.bites(Mutant::GivenUpIsSettled);
                let Some(run) = self.runs.get_mut(&id) else { return };
                if settled {
                    run.open -= 1;
                    return run.slice.item_done(page, &TaskResult::Written);
                }
                run.returned = run.slice.checkpoint().clone();
                self.restart_run(id);
            }
            Waiter::Note(record) => self.notes.push(record),
            Waiter::Nobody => {}
        }
    }

    /// Ends the batch or segment that waits for a task, with all its other tasks.
    fn crash(&mut self, owner: &Waiter) {
        self.note(|| format!("  crash of {owner:?}"));
        match *owner {
            Waiter::Invocation(id, _) => self.crash_invocation(id),
            Waiter::SegmentRun(id, _) => self.restart_run(id),
            Waiter::Note(record) => self.notes.push(record),
            Waiter::Nobody => {}
        }
    }
}
