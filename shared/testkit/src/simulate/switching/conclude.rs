//! The end of a history that fills: once everything has drained, an operator compares and corrects amid faults, then in quiet until nothing
//! changes; after each, all is checked.

use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::operate::End;
use keyfold_core::retrofit::verify::{CheckResult, Class};

use super::super::Violation;
use super::super::fault::Fault;
use super::super::mutant::Mutant;
use super::super::work::TaskOrigin;
use super::fill::Stage;
use super::scene::KEYS;
use super::states::KeyState;
use super::work::Errand;
use super::world::{SwitchFaults, World, number_of};

/// Rounds of repairs.
const ROUNDS_MAX: usize = 6;
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

impl World {
    /// Checks and repairs.
    pub(super) fn conclude_filling(&mut self) -> Result<(), Violation> {
        self.replay_given_up()?;
        let is_mended = self.is_mended() && !self.bites(Mutant::RevisionForgotten);
        // Items carried over by the former manifest, or not at all while the retrofit was abandoned, are compared and corrected.
        if is_mended || self.fill().restarted {
            let on = (self.fill().faults.on, self.faults);
            self.calm();
            self.repair_until_still(Nameless::Stay)?;
            (self.fill_mut().faults.on, self.faults) = on;
        }
        // Records handled before the retrofit was abandoned come again when everything is right.
        if self.fill().restarted && self.is_on(Fault::Duplicate) {
            (0..DUPLICATES).for_each(|_| self.redeliver());
            self.drain(Stage::Draining)?;
        }
        self.check_drained()?;
        if self.fill().faults.on != 0 {
            self.repair_amid_faults()?;
        }
        self.calm();
        self.repair_until_still(Nameless::Go)?;
        self.check_repaired()?;
        if self.is_in_place() { self.end_in_place() } else { self.check_foreign() }
    }

    /// From now on only throttling happens.
    fn calm(&mut self) {
        self.fill_mut().faults.calm();
        self.faults = SwitchFaults::default();
    }

    /// How a weakened protocol handles records that were given up.
    fn replay_given_up(&mut self) -> Result<(), Violation> {
        for at in std::mem::take(&mut self.fill_mut().given_up) {
            let (record, job) = (self.streams[0][at].record.clone(), self.job(false));
            self.start(job.apply(&record), Errand::by(job, TaskOrigin::Replay));
            self.drain(Stage::Draining)?;
        }
        Ok(())
    }

    /// Both sides are compared and repaired while requests are lost, come late and again: that must do no harm.
    fn repair_amid_faults(&mut self) -> Result<(), Violation> {
        for _ in 0..self.random.below(4).saturating_sub(1) {
            (0..self.random.below(4)).for_each(|_| self.disturb_quietly());
            let repair = self.random.chance(60);
            self.drain(Stage::Comparing { repair })?;
            self.check_drained()?;
        }
        Ok(())
    }

    /// An operator compares and repairs until nothing changes.
    fn repair_until_still(&mut self, nameless: Nameless) -> Result<(), Violation> {
        // Earlier work may still be under way.
        self.drain(Stage::Draining)?;
        self.fill_mut().is_quiet = true;
        let ended = self.repair_in_quiet(nameless);
        self.fill_mut().is_quiet = false;
        ended
    }

    fn repair_in_quiet(&mut self, nameless: Nameless) -> Result<(), Violation> {
        for _ in 0..ROUNDS_MAX {
            let before = (self.fill().changes, self.entry_rows());
            self.drain(Stage::Comparing { repair: true })?;
            let findings = self.fill().findings.clone();
            self.note(|| format!("found: {:?}", findings.iter().map(|f| f.class).collect::<Vec<_>>()));
            self.agree(&findings)?;
            self.dismiss_nameless(&findings, nameless)?;
            if before == (self.fill().changes, self.entry_rows()) {
                return Ok(());
            }
        }
        Err(Violation::new("repairs never end"))
    }

    fn entry_rows(&self) -> Vec<String> {
        self.entries().into_iter().map(|entry| entry.row).collect()
    }
    /// The verifier finds the same items as the checker, and every item of another program.
    fn agree(&self, findings: &[CheckResult]) -> Result<(), Violation> {
        let mut found = [false; KEYS];
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
        if nobodys != self.fill().foreign.len() && !self.has(Mutant::OneSided) {
            return Err(Violation::new("the verifier does not name another program's item"));
        }
        Ok(())
    }

    /// A person reads the entries of the quarantine that name no item.
    fn dismiss_nameless(&mut self, findings: &[CheckResult], nameless: Nameless) -> Result<(), Violation> {
        let clean = findings.iter().all(|finding| finding.class == Class::Same);
        for entry in self.entries().into_iter().filter(|entry| entry.key.is_none()) {
            let job = self.job(false);
            // The item of a record that was set aside goes into quarantine, and is read again in the next round.
            if let Some(record) = entry.place().and_then(|place| place.strip_prefix("set-aside-")) {
                let Ok(record) = record.parse::<usize>() else { continue };
                let record = self.streams[0][record].record.clone();
                if !record.key.is_empty() {
                    self.start(job.discard(&record), Errand::by(job.clone(), TaskOrigin::Discard));
                }
            } else if nameless == Nameless::Stay
                || !(clean || self.is_done())
                || self.bites(Mutant::NoRelease)
            {
                continue;
            }
            self.start(job.dismiss(&entry), Errand::by(job, TaskOrigin::Repair));
            self.drain(Stage::Draining)?;
        }
        Ok(())
    }

    /// In place the indexes are opened for queries if all is well, and the retrofit ends: neither changes an item.
    fn end_in_place(&mut self) -> Result<(), Violation> {
        let changes = self.fill().changes;
        let is_right =
            self.entries().is_empty() && self.states().iter().all(|state| *state == KeyState::Right);
        self.drain(Stage::Last)?;
        if is_right != (self.head.phase == Phase::CutOver) {
            return Err(Violation::new(format!(
                "the items are {:?}, and the indexes are not",
                self.states()
            )));
        }
        if is_right {
            self.drain(Stage::Last)?;
            if self.head.phase != Phase::Finalised || self.fill().ended != Some(End::Done) {
                return Err(Violation::new("a retrofit in place does not end"));
            }
        }
        if self.fill().changes == changes {
            return Ok(());
        }
        Err(Violation::new("the end of a retrofit in place changes items"))
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
