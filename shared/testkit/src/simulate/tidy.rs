//! The operator who tidies the target while everything goes on: rows, a wait, deletes without tombstones, a wait, the sweep. From then
//! on readers of the target must meet no tombstone, at any step.

use keyfold_core::retrofit::attributes::TOMBSTONE_ATTRIBUTE;
use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::{Request, Response, TableRole, Write, finalise};

use super::fault::Fault;
use super::mutant::Mutant;
use super::state::{SimulationState, Sweep};
use super::truth::Violation;
use super::work::{LateRequest, TaskOrigin};

/// Turns until the target must be tidy, once everything has drained.
const TIDY_TURNS_MAX: usize = 2_000;

impl SimulationState<'_> {
    /// One turn of the operator. False if there was nothing to do, or others must come first.
    pub(super) fn tidy_on(&mut self) -> bool {
        match self.head.phase {
            Phase::Running => self.tidying.may_begin && self.enter(Phase::Tidying),
            Phase::Tidying => self.is_wait_over(Mutant::NoWaitForRows) && self.enter(Phase::Tidy),
            _ if self.tidying.swept => false,
            Phase::Tidy => match self.tidying.sweep.take() {
                Some(sweep) => self.sweep_on(sweep),
                None => {
                    let over = self.is_wait_over(Mutant::NoWaitForSweep);
                    self.tidying.sweep = over.then(Sweep::default);
                    over
                }
            },
            _ => false,
        }
    }

    /// Goes on until the target is tidy.
    pub(super) fn tidy_to_the_end(&mut self) -> Result<(), Violation> {
        for turn in 0..TIDY_TURNS_MAX {
            if turn == TIDY_TURNS_MAX / 2 {
                self.faults.end();
            }
            if self.tidying.swept {
                return self.drain();
            }
            if !self.tidy_on() {
                self.drain()?;
            }
        }
        Err(Violation::new("the target is never tidy"))
    }

    fn enter(&mut self, phase: Phase) -> bool {
        self.note(|| format!("the retrofit is {}", phase.name()));
        match self.head.to(phase) {
            Ok(head) => self.head = head,
            Err(error) => self.fail(Violation::new(error.to_string())),
        }
        true
    }

    /// Has all work of the previous phase ended: workers, and abandoned requests?
    fn is_wait_over(&mut self, without: Mutant) -> bool {
        let now = self.head.tracking();
        let over = self.works.iter().all(|work| work.pending.version.kept == now)
            && self.invocations.values().all(|invocation| invocation.version.kept == now)
            && self.runs.values().all(|run| run.version.kept == now)
            && self.late.iter().all(|late| late.kept == now);
        if over && self.is_former_phase_remembered() {
            return self.bites(Mutant::NoFloor);
        }
        over || self.bites(without)
    }

    /// Reads the next item, or writes for the item that was read. The last step declares the target tidy.
    fn sweep_on(&mut self, mut sweep: Sweep) -> bool {
        match sweep.write.take() {
            Some(write) => self.sweep_one(&mut sweep, write),
            None => {
                let Some((place, item)) = self.target.after(&sweep.after) else {
                    self.note(|| "the target is swept".to_owned());
                    self.head = self.head.swept();
                    self.tidying.swept = true;
                    return true;
                };
                sweep.write = finalise::sweep(self.mapping().target(), item);
                sweep.after = place.to_owned();
            }
        }
        if sweep.write.is_none() && self.random.chance(40) {
            sweep.stored.clone_from(&sweep.after);
        }
        self.tidying.sweep = Some(sweep);
        true
    }

    /// Sends the write for an item, with all that can go wrong. Refused, the item is read again.
    fn sweep_one(&mut self, sweep: &mut Sweep, write: Write) {
        let request = Request::Write(write);
        if self.faults.strikes(Fault::CrashBefore, &mut self.random, 3) {
            return sweep.after.clone_from(&sweep.stored);
        }
        if self.faults.strikes(Fault::Zombie, &mut self.random, 6) {
            let kept = self.head.tracking();
            self.late.push(LateRequest { request, kind: TaskOrigin::Sweep, kept });
            return sweep.after.clone_from(&sweep.stored);
        }
        let mut response = self.send(&request, TaskOrigin::Sweep);
        if self.faults.strikes(Fault::LostResponse, &mut self.random, 6) {
            response = self.send(&request, TaskOrigin::Sweep);
        }
        if self.faults.strikes(Fault::CrashAfter, &mut self.random, 3) {
            return sweep.after.clone_from(&sweep.stored);
        }
        if let (Response::Refused(_), Request::Write(write)) = (response, request) {
            let there = self.get(TableRole::Target, super::store::key_in(&write.action));
            sweep.write = there.and_then(|item| finalise::sweep(self.mapping().target(), item));
        }
    }

    /// Readers read the whole target, at every step.
    pub(super) fn check_readers(&mut self) {
        if !self.tidying.swept {
            return;
        }
        let met = self.target.iter().find(|(_, item)| item.contains_key(TOMBSTONE_ATTRIBUTE));
        if let Some(place) = met.map(|(place, _)| place.to_owned()) {
            self.fail(Violation::new(format!("tidy, and a reader meets a tombstone at {place}")));
        }
    }
}
