//! Tasks step by step, and what their ends mean for those who wait for them.

use keyfold_core::retrofit::{Disposition, Step, Task, Verdict};

use super::fault::Fault;
use super::mutant::Mutant;
use super::send::Exchange;
use super::work::{Errand, Kind, Owner, Waiting, Work, short};
use super::world::{Version, World};

/// A blocked task is tried again so often, then the batch fails or the item is parked.
pub(super) const BLOCKED_MAX: usize = 2;

impl World<'_> {
    /// Starts a task.
    pub(super) fn start(&mut self, mut task: Task, kind: Kind, owner: Owner, version: Version) {
        let step = task.start(self.job_of(version));
        self.stepped(Errand { task, kind, owner, version, blocked: 0 }, step);
    }

    /// Moves the task at this place on by one request.
    pub(super) fn advance(&mut self, at: usize) {
        let mut work = self.works.swap_remove(at);
        match self.exchange(&mut work) {
            Exchange::Again => self.works.push(work),
            Exchange::GaveUp => self.gave_up(&work.errand.owner),
            Exchange::Crashed => self.crash(&work.errand.owner),
            Exchange::Heard(outcome) => {
                let mut errand = work.errand;
                let step = errand.task.told(self.job_of(errand.version), outcome);
                self.stepped(errand, step);
            }
        }
    }

    fn stepped(&mut self, errand: Errand, step: Step) {
        match step {
            Step::Send(request) => self.works.push(Work { errand, request, attempts: 0 }),
            Step::Done(verdict) => {
                self.note(|| {
                    let key = short(errand.task.key());
                    format!("  {:?} {:?} of {key}: {verdict:?}", errand.kind, errand.owner)
                });
                self.ended(errand, verdict);
            }
        }
    }

    fn ended(&mut self, errand: Errand, verdict: Verdict) {
        if verdict == Verdict::Blocked {
            self.faults.hit(Fault::Collision);
        }
        match errand.owner {
            Owner::Invocation(id, at) => {
                let Some(invocation) = self.invocations.get_mut(&id) else { return };
                invocation.open -= 1;
                match verdict {
                    Verdict::Blocked => {
                        let (task, blocked) = (errand.task, errand.blocked);
                        invocation.blocked.push(Waiting { at, task, blocked });
                    }
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
                let blocked = match verdict {
                    Verdict::Blocked => errand.blocked,
                    // The item changed under our hands: it is tried again, as if it were blocked.
                    Verdict::Busy => 0,
                    verdict => return run.slice.settled(page, &verdict),
                };
                run.blocked.push(Waiting { at: page, task: errand.task, blocked });
            }
            Owner::Nobody if verdict == Verdict::Blocked && errand.kind == Kind::Repair => {
                self.try_again(errand);
            }
            Owner::Note(_) | Owner::Nobody => {}
        }
    }

    /// Again, or, after some times, into the quarantine.
    pub(super) fn try_again(&mut self, mut errand: Errand) {
        let job = self.job_of(errand.version);
        let step = if errand.blocked < BLOCKED_MAX {
            errand.task.again(job)
        } else if self.bites(Mutant::BlockedForgotten) {
            Step::Done(Verdict::Unchanged)
        } else {
            errand.task.park(job)
        };
        errand.blocked += 1;
        self.stepped(errand, step);
    }

    /// A task was throttled too often: whoever waits for it goes on from what is durable.
    fn gave_up(&mut self, owner: &Owner) {
        self.note(|| format!("  {owner:?} gives up"));
        match *owner {
            Owner::Invocation(id, at) => {
                let settled = self.bites(Mutant::GivenUpIsSettled);
                let Some(invocation) = self.invocations.get_mut(&id) else { return };
                invocation.open -= 1;
                let end = if settled { Disposition::Settled(Verdict::Written) } else { Disposition::Failed };
                invocation.batch.ended(at, end);
                self.invocation_over(id);
            }
            Owner::Run(id, page) => {
                let settled = self.bites(Mutant::GivenUpIsSettled);
                let Some(run) = self.runs.get_mut(&id) else { return };
                if settled {
                    run.open -= 1;
                    return run.slice.settled(page, &Verdict::Written);
                }
                run.returned = run.slice.checkpoint().clone();
                self.restart_run(id);
            }
            Owner::Note(record) => self.notes.push(record),
            Owner::Nobody => {}
        }
    }

    /// Ends whoever waits for a task, with all its other tasks.
    fn crash(&mut self, owner: &Owner) {
        self.note(|| format!("  crash of {owner:?}"));
        match *owner {
            Owner::Invocation(id, _) => self.crash_invocation(id),
            Owner::Run(id, _) => self.restart_run(id),
            Owner::Note(record) => self.notes.push(record),
            Owner::Nobody => {}
        }
    }
}
