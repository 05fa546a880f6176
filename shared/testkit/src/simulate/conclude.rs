//! After everything has drained: check, verify and repair while faults go on, check, verify and repair in quiet until
//! nothing changes, check.

use keyfold_core::retrofit::verify::{CheckResult, Class};
use keyfold_core::retrofit::{Pass, Quarantined};

use super::check::KeyState;
use super::fault::Fault;
use super::mutant::Mutant;
use super::scenario::{KEYS_MAX, number_of};
use super::state::{SimulationState, Verification};
use super::truth::Violation;
use super::work::{TaskOrigin, Waiter};

/// Rounds of repairs.
const ROUNDS_MAX: usize = 6;
/// Turns of one verification.
const VERIFY_TURNS_MAX: usize = 2_000;
/// Records that come again after a restart.
const DUPLICATES: usize = 4;

/// What becomes of entries of the quarantine that name no item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nameless {
    /// They stay: while a comparison finds differences, they may not be released.
    Stay,
    /// They are dismissed once nothing else is the matter.
    Go,
}

impl SimulationState<'_> {
    /// Checks and repairs.
    pub(super) fn conclude(&mut self) -> Result<(), Violation> {
        self.replay_given_up()?;
        let revised = self.revised && !self.bites(Mutant::RevisionForgotten);
        if revised || self.restarted {
            self.wait_for_looks();
            self.carry_over_again()?;
        }
        // Records handled before the retrofit was abandoned come again when everything is right.
        if self.restarted && self.faults.is_on(Fault::Duplicate) && !self.stream.records.is_empty() {
            (0..DUPLICATES).for_each(|_| self.duplicate());
            self.drain()?;
        }
        self.check_drained()?;
        if self.faults.are_on() {
            self.repair_amid_faults()?;
        }
        self.faults.calm();
        self.repair_until_still(Nameless::Go)?;
        self.check_repaired()?;
        if self.scenario.is_in_place() { Ok(()) } else { self.check_foreign() }
    }

    /// A mended manifest: items carried over by the previous one are compared with the new mapping, and corrected.
    fn carry_over_again(&mut self) -> Result<(), Violation> {
        let on = self.faults.calm();
        self.repair_until_still(Nameless::Stay)?;
        self.faults.restore(on);
        Ok(())
    }

    /// How a weakened protocol handles records that were given up.
    fn replay_given_up(&mut self) -> Result<(), Violation> {
        for record in std::mem::take(&mut self.given_up) {
            let of = &self.stream.records[record];
            let version = self.version_of(of.epoch, false);
            let task = self.job_of(version).apply(&of.record);
            self.start(task, TaskOrigin::Replay, Waiter::Nobody, version);
            self.drain()?;
        }
        Ok(())
    }

    /// Both sides are compared and repaired while requests are lost, come late and again: that must do no harm.
    fn repair_amid_faults(&mut self) -> Result<(), Violation> {
        for _ in 0..self.random.below(4).saturating_sub(1) {
            self.verify_under_way();
            for _ in 0..self.random.between(10, 40) {
                if self.random.chance(10) {
                    self.disturb_quietly();
                }
                self.take_turn();
            }
            self.drain()?;
            self.check_drained()?;
        }
        Ok(())
    }

    /// Verifies and repairs until nothing changes.
    fn repair_until_still(&mut self, nameless: Nameless) -> Result<(), Violation> {
        for _ in 0..ROUNDS_MAX {
            let findings = self.verify()?;
            self.note(|| format!("found: {:?}", findings.iter().map(|f| f.class).collect::<Vec<_>>()));
            self.agree(&findings)?;
            let before = (self.changes, self.quarantined_rows());
            self.repair(&findings, nameless)?;
            if before == (self.changes, self.quarantined_rows()) {
                return Ok(());
            }
        }
        Err(Violation::new("repairs never end"))
    }

    fn quarantined_rows(&self) -> Vec<String> {
        self.quarantine().into_iter().map(|entry| entry.row).collect()
    }

    /// Verifies both ways.
    fn verify(&mut self) -> Result<Vec<CheckResult>, Violation> {
        let mut findings = Vec::new();
        let both = !self.scenario.is_in_place() && !self.bites(Mutant::OneSided);
        for pass in [Some(Pass::VerifySource), both.then_some(Pass::VerifyTarget)].into_iter().flatten() {
            let mut verification = Verification::alone(pass);
            let mut turns = 0;
            while self.step(&mut verification) {
                (turns, self.turns) = (turns + 1, self.turns + 1);
                if turns > VERIFY_TURNS_MAX {
                    return Err(Violation::new("a verification never ends"));
                }
            }
            findings.append(&mut verification.findings);
        }
        self.wrong.take().map_or(Ok(findings), Err)
    }

    /// The verifier finds the same items as the checker, and every item of another program.
    fn agree(&self, findings: &[CheckResult]) -> Result<(), Violation> {
        let mut found = [false; KEYS_MAX];
        let mut nobodys = 0;
        let states = self.states();
        for finding in findings.iter().filter(|finding| finding.class != Class::Same) {
            let Some(number) = finding.key.as_ref().map(number_of) else {
                nobodys += 1;
                continue;
            };
            found[number] = true;
            if !is_named(states[number], finding.class) {
                let (state, class) = (states[number], finding.class.name());
                return Err(Violation::new(format!(
                    "the verifier calls k{number} {class}, and it is {state:?}"
                )));
            }
        }
        let known = states.map(|state| state != KeyState::Right);
        if found != known {
            let text = format!("the verifier finds {found:?}, and the items are {states:?}");
            return Err(Violation::new(text));
        }
        if nobodys != self.foreign.len() && !self.has(Mutant::OneSided) {
            return Err(Violation::new("the verifier does not name another program's item"));
        }
        Ok(())
    }

    /// Repairs what can be, and releases what is in quarantine.
    fn repair(&mut self, findings: &[CheckResult], nameless: Nameless) -> Result<(), Violation> {
        let clean = findings.iter().all(|finding| finding.class == Class::Same);
        for entry in self.quarantine() {
            if self.bites(Mutant::NoRelease) {
                continue;
            }
            let job = self.job();
            let task = match job.release(&entry) {
                Some(task) => task,
                // Its item goes into quarantine by itself, and is read again in the next round.
                None if entry.place().is_some() => {
                    self.redrive_record(&entry)?;
                    job.dismiss(&entry)
                }
                None if nameless == Nameless::Stay => continue,
                // An entry without an item can be released once nothing else is wrong.
                None if clean || self.is_done() => job.dismiss(&entry),
                None => continue,
            };
            self.start(task, TaskOrigin::Repair, Waiter::Nobody, self.version());
            self.drain()?;
        }
        for finding in findings {
            let Some(key) = finding.key.as_ref().filter(|_| finding.class.is_repairable()) else { continue };
            if finding.class != Class::Quarantined {
                self.repair_one(key, self.version());
                self.drain()?;
            }
        }
        Ok(())
    }

    /// Enters the item of a record that was set aside.
    fn redrive_record(&mut self, entry: &Quarantined) -> Result<(), Violation> {
        let Some(record) = entry.place().and_then(Self::set_aside_at) else { return Ok(()) };
        let of = &self.stream.records[record];
        if of.record.key.is_empty() {
            return Ok(());
        }
        let version = self.version_of(of.epoch, false);
        let task = self.job_of(version).discard(&of.record);
        self.start(task, TaskOrigin::Discard, Waiter::Nobody, version);
        self.drain()
    }

    /// Is everything right that can be?
    fn is_done(&self) -> bool {
        let fixed =
            |state: &KeyState| matches!(state, KeyState::Right | KeyState::Unmappable | KeyState::Occupied);
        self.states().iter().all(fixed)
    }
}

/// May a verifier call an item that stands so by this name?
fn is_named(state: KeyState, class: Class) -> bool {
    match state {
        KeyState::Right | KeyState::Lost => false,
        KeyState::Occupied => matches!(class, Class::Collision | Class::Quarantined | Class::Extra),
        KeyState::Ghost => {
            matches!(class, Class::Extra | Class::Missing | Class::Quarantined | Class::Collision)
        }
        KeyState::Stale | KeyState::Unmappable => class != Class::InFlight,
    }
}
