//! After everything has drained: check, verify, repair until nothing changes, check again, finalise, check.

use std::collections::BTreeSet;

use keyfold_core::retrofit::{Quarantined, Request, finalise};
use keyfold_core::value::Item;
use keyfold_core::verify::{Check, CheckStep, Class, Finding};

use super::check::{State, Wrong, is_foreign};
use super::mutant::Mutant;
use super::work::{Kind, Owner};
use super::world::World;

/// Rounds of repairs.
const ROUNDS_MAX: usize = 6;
/// Steps of one check.
const CHECK_STEPS_MAX: usize = 64;

impl World<'_> {
    /// Checks, repairs and finalises.
    pub(super) fn conclude(&mut self) -> Result<(), Wrong> {
        self.faults.end();
        let foreign: Vec<Item> = self.target.items().into_iter().filter(is_foreign).collect();
        self.replay_given_up()?;
        self.check_drained()?;
        for round in 0..ROUNDS_MAX {
            let findings = self.verify()?;
            self.agree(&findings)?;
            let before = (self.source.clone(), self.target.clone(), self.quarantined());
            self.note(|| {
                format!(
                    "round {round} of repairs: {:?}",
                    findings.iter().map(|f| f.class).collect::<Vec<_>>()
                )
            });
            self.repair(&findings)?;
            if before == (self.source.clone(), self.target.clone(), self.quarantined()) {
                break;
            }
            if round + 1 == ROUNDS_MAX {
                return Err(Wrong::new("repairs never end"));
            }
        }
        self.check_repaired()?;
        if self.scene.is_in_place() {
            return Ok(());
        }
        for item in self.target.items() {
            if let Some(write) = finalise::clean(self.scene.mapping().target(), &item) {
                self.send(&Request::Write(write), Kind::Scan);
            }
        }
        self.forget_ledger();
        self.check_finalised(&foreign)
    }

    /// What a weakened protocol does with records that were given up.
    fn replay_given_up(&mut self) -> Result<(), Wrong> {
        for record in std::mem::take(&mut self.given_up) {
            let (of, epoch) = (self.stream.records[record].record.clone(), self.stream.records[record].epoch);
            let task = self.job_of(epoch).apply(&of);
            self.start(task, Kind::Replay, Owner::Nobody, epoch);
            self.finish()?;
        }
        Ok(())
    }

    /// Carries tasks out until none is left.
    fn finish(&mut self) -> Result<(), Wrong> {
        self.drain()
    }

    /// Verifies both ways.
    fn verify(&mut self) -> Result<Vec<Finding>, Wrong> {
        let mut findings = Vec::new();
        for item in self.source.items() {
            let (check, step) = Check::of_source(self.job(), &item);
            findings.push(self.check(check, step)?);
        }
        if self.scene.is_in_place() || self.has(Mutant::OneSided) {
            return Ok(findings);
        }
        for item in self.target.items() {
            let (check, step) = Check::of_target(self.job(), &item);
            findings.push(self.check(check, step)?);
        }
        Ok(findings)
    }

    fn check(&mut self, mut check: Check, mut step: CheckStep) -> Result<Finding, Wrong> {
        for _ in 0..CHECK_STEPS_MAX {
            step = match step {
                CheckStep::Done(finding) => return Ok(finding),
                CheckStep::Pause => check.paused(),
                CheckStep::Send(request) => {
                    let outcome = self.send(&request, Kind::Repair);
                    check.told(self.job(), outcome)
                }
            };
        }
        Err(Wrong::new("a check never ends"))
    }

    /// The verifier finds the same items as the checker.
    fn agree(&self, findings: &[Finding]) -> Result<(), Wrong> {
        let table = self.scene.mapping().source();
        let text = |finding: &Finding| Some(super::store::place(table, finding.key.as_ref()?));
        let differs = |finding: &&Finding| finding.class != Class::Same;
        let found: BTreeSet<String> = findings.iter().filter(differs).filter_map(text).collect();
        let states = self.states();
        let wrong = |state: &State| *state != State::Right;
        let known: BTreeSet<String> =
            states.iter().filter(|(_, state)| wrong(state)).map(|(key, _)| key.clone()).collect();
        // A refused item with its former version still there is a difference to both; one that was never there too.
        if found != known {
            return Err(Wrong::new(format!("the verifier finds {found:?}, and {known:?} are not right")));
        }
        Ok(())
    }

    /// Repairs what can be, and releases what is in quarantine.
    fn repair(&mut self, findings: &[Finding]) -> Result<(), Wrong> {
        if self.has(Mutant::NoRelease) {
            return Ok(());
        }
        for entry in self.quarantine() {
            self.release(&entry)?;
        }
        for finding in findings {
            let Some(key) = finding.key.as_ref().filter(|_| finding.class.is_repairable()) else { continue };
            if finding.class != Class::Quarantined {
                self.start(self.job().repair(key), Kind::Repair, Owner::Nobody, self.epoch);
                self.finish()?;
            }
        }
        Ok(())
    }

    fn release(&mut self, entry: &Quarantined) -> Result<(), Wrong> {
        let Some(task) = self.job().release(entry) else { return Ok(()) };
        self.start(task, Kind::Repair, Owner::Nobody, self.epoch);
        self.finish()
    }
}
