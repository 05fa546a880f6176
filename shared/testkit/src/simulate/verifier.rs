//! The verifier at work while everything goes on: it must not call a write under way a difference, nor miss one that
//! stands still, and what it repairs must do no harm.

use keyfold_core::retrofit::attributes::OWN_ATTRIBUTES;
use keyfold_core::retrofit::verify::{Check, CheckOptions, CheckResult, CheckStep, Class, LOOKS_AGAIN_MIN};
use keyfold_core::retrofit::{Pass, Request, Response, TableRole};

use super::check::KeyState;
use super::fault::Fault;
use super::mutant::Mutant;
use super::scenario::number_of;
use super::state::{Looking, SimulationState, Verification};
use super::truth::{Violation, Wanted};
use super::work::TaskOrigin;

/// The pauses between two looks, in turns: production's, eight times faster. A shard may stand still for longer than all of
/// them, so a comparison can meet more lag than it was given.
const PAUSE_TURNS: [u64; 4] = [1, 2, 6, 27];
/// Steps of one check.
const CHECK_STEPS_MAX: usize = 64;

impl Verification {
    fn new(pass: Pass, repairs: bool, looks_again: usize) -> Verification {
        Verification {
            pass,
            repairs,
            looks_again,
            after: String::new(),
            looking: None,
            alone: false,
            findings: Vec::new(),
        }
    }

    /// Its findings so far are void: it crashed, or another manifest counts.
    fn begins_anew(&mut self) {
        self.looking = None;
        self.findings.clear();
        self.after.clear();
    }

    /// One that runs while nothing else goes on.
    pub(super) fn alone(pass: Pass) -> Verification {
        Verification { alone: true, ..Verification::new(pass, false, PAUSE_TURNS.len()) }
    }
}

impl SimulationState<'_> {
    /// Both sides are compared while everything goes on.
    pub(super) fn verify_under_way(&mut self) {
        if !self.verifications.is_empty() {
            return;
        }
        self.faults.hit(Fault::Verify);
        let repairs = self.random.chance(60);
        self.note(|| format!("a verification begins, repairs: {repairs}"));
        // It may be given little lag.
        let looks = *self.random.pick(&[LOOKS_AGAIN_MIN as usize, PAUSE_TURNS.len()]);
        self.verifications.push(Verification::new(Pass::VerifySource, repairs, looks));
        if !self.scenario.is_in_place() {
            self.verifications.push(Verification::new(Pass::VerifyTarget, repairs, looks));
        }
    }

    /// A comparison by the previous manifest is one of another mapping.
    pub(super) fn verify_anew(&mut self) {
        self.verifications.iter_mut().for_each(Verification::begins_anew);
    }

    /// How many verifications do not pause.
    pub(super) fn ready_verifications(&self) -> usize {
        self.verifications.iter().filter(|verification| !self.pauses(verification)).count()
    }

    /// A pause lasts as long as it does, whatever is under way meanwhile.
    fn pauses(&self, verification: &Verification) -> bool {
        let looking = verification.looking.as_ref();
        looking.is_some_and(|looking| looking.step == CheckStep::Pause && self.turns < looking.due)
    }

    /// Paused checks continue at once.
    pub(super) fn end_pauses(&mut self) {
        for looking in self.verifications.iter_mut().filter_map(|one| one.looking.as_mut()) {
            looking.due = 0;
        }
    }

    /// One turn of the verification with this number, of those that do not pause.
    pub(super) fn advance_verification(&mut self, nth: usize) {
        let ready = |at: &usize| !self.pauses(&self.verifications[*at]);
        let Some(at) = (0..self.verifications.len()).filter(ready).nth(nth) else { return };
        let mut verification = self.verifications.swap_remove(at);
        if self.step(&mut verification) {
            self.verifications.push(verification);
        }
    }

    /// Moves it on; false if it is over.
    pub(super) fn step(&mut self, verification: &mut Verification) -> bool {
        let Some(looking) = verification.looking.take() else { return self.scan_next(verification) };
        if self.faults.strikes(Fault::CrashBefore, &mut self.random, 1) {
            self.note(|| "  the verifier crashes, and starts again".to_owned());
            verification.begins_anew();
            return true;
        }
        self.look(verification, looking);
        true
    }

    fn scan_next(&mut self, verification: &mut Verification) -> bool {
        if self.is_scan_throttled() {
            return !self.bites(Mutant::VerifyErrorIsEnd);
        }
        let is_source = verification.pass == Pass::VerifySource;
        let store = if is_source { &self.source } else { &self.target };
        let Some((place, item)) = store.after(&verification.after) else { return false };
        let job = self.job();
        let options =
            CheckOptions { looks_again: verification.looks_again as u32, ..CheckOptions::default() };
        let (check, step) = match is_source {
            true => Check::of_source(job, item.clone(), options),
            false => Check::of_target(job, item.clone(), options),
        };
        let number = if is_source { Some(number_of(item)) } else { self.owner_of(item) };
        let remembered = self.has(Mutant::HastyVerifier).then(|| item.clone());
        let (source, target) = if is_source { (remembered, None) } else { (None, remembered) };
        verification.after = place.to_owned();
        let writes = number.map_or(0, |number| self.truth.writes(number));
        let records = self.stream.records.len();
        let scanned = number.filter(|_| self.scenario.is_in_place() && !verification.alone);
        let right = scanned.and_then(|number| self.is_right(number));
        let mut looking = Looking {
            check,
            step,
            number,
            writes,
            records,
            paused: 0,
            due: 0,
            right,
            steps: 0,
            source,
            target,
        };
        self.pause(&mut looking);
        verification.looking = Some(looking);
        true
    }

    fn look(&mut self, verification: &mut Verification, mut looking: Looking) {
        looking.steps += 1;
        if looking.steps > CHECK_STEPS_MAX {
            return self.fail(Violation::new("a check never ends"));
        }
        let job = self.job();
        let step = std::mem::replace(&mut looking.step, CheckStep::Pause);
        looking.step = match step {
            CheckStep::Done(finding) => return self.found(verification, &looking, finding),
            CheckStep::Pause => looking.check.paused(job),
            CheckStep::Send(request) => {
                if self.is_scan_throttled() {
                    CheckStep::Send(request)
                } else {
                    let outcome = self.looked(&mut looking, &request, verification.alone);
                    looking.check.respond(job, outcome)
                }
            }
        };
        self.pause(&mut looking);
        verification.looking = Some(looking);
    }

    /// If it pauses, until when?
    fn pause(&mut self, looking: &mut Looking) {
        if looking.step != CheckStep::Pause {
            return;
        }
        let at_once = self.bites(Mutant::HastyVerifier) || self.bites(Mutant::ShortPauses);
        let pause = PAUSE_TURNS.get(looking.paused).copied().unwrap_or_default();
        looking.due = if at_once { 0 } else { self.turns + pause };
        looking.paused += 1;
    }

    /// Is the item right now, as far as a comparison of the two sides can see?
    fn is_right(&self, number: usize) -> Option<bool> {
        match self.state_of(number) {
            KeyState::Right => Some(true),
            KeyState::Unmappable | KeyState::Occupied | KeyState::Stale => Some(false),
            KeyState::Ghost | KeyState::Lost => None,
        }
    }

    /// Reads one side of the item.
    fn looked(&mut self, looking: &mut Looking, request: &Request, alone: bool) -> Response {
        let Request::Get { role, .. } = request else { unreachable!("a check only reads") };
        let is_target = *role == TableRole::Target;
        let is_last = if self.scenario.is_in_place() { *role == TableRole::Source } else { is_target };
        if !alone && is_last {
            looking.right = looking.number.and_then(|number| self.is_right(number));
        }
        let mut outcome = self.send(request, TaskOrigin::Verify);
        if is_target && self.has(Mutant::ExtraIgnored) {
            self.ignore_extra(&mut outcome);
        }
        if !self.has(Mutant::HastyVerifier) {
            return outcome;
        }
        let again = looking.steps > 1;
        let Response::Item(item) = &outcome else { return outcome };
        match role {
            TableRole::Source if again && looking.source.is_some() => Response::Item(looking.source.clone()),
            TableRole::Target if again && looking.target.is_some() => Response::Item(looking.target.clone()),
            TableRole::Source => {
                looking.source.clone_from(item);
                outcome
            }
            TableRole::Target => {
                looking.target.clone_from(item);
                outcome
            }
            TableRole::Control => outcome,
        }
    }

    /// Takes off what the source's item does not have.
    fn ignore_extra(&mut self, outcome: &mut Response) {
        let Response::Item(Some(item)) = outcome else { return };
        let Some(number) = self.owner_of(item) else { return };
        let Wanted::Item(wanted) = self.truth.wanted(number) else { return };
        let before = item.len();
        item.retain(|name, _| wanted.contains_key(name) || OWN_ATTRIBUTES.contains(&name.as_str()));
        if item.len() < before {
            self.bitten();
        }
    }

    fn found(&mut self, verification: &mut Verification, looking: &Looking, mut finding: CheckResult) {
        if finding.class == Class::InFlight && self.bites(Mutant::MovingIsSame) {
            finding.class = Class::Same;
        }
        self.note(|| format!("  verifier: k{:?} is {}", looking.number, finding.class.name()));
        if let Some(number) = looking.number {
            self.judge(verification, number, looking, finding.class);
        }
        let wanted = finding.class.is_repairable() && finding.class != Class::Quarantined;
        if let Some(key) = finding.key.as_ref().filter(|_| verification.repairs && wanted) {
            self.repair_one(key, self.version());
        }
        verification.findings.push(finding);
    }

    /// Is the finding true?
    fn judge(&mut self, verification: &Verification, number: usize, looking: &Looking, class: Class) {
        let pass = verification.pass;
        let patience: u64 = PAUSE_TURNS[..verification.looks_again].iter().sum();
        let differs = matches!(class, Class::Missing | Class::Extra | Class::Different);
        let still = self.truth.writes(number) == looking.writes;
        let name = class.name();
        let since = self.stream.under_way_since(number, looking.records);
        if differs && since.is_some_and(|turn| self.turns < turn + patience) {
            self.fail(Violation::new(format!("k{number} is called {name} while its change is under way")));
        } else if differs && class != Class::Extra && still && looking.right == Some(true) {
            self.fail(Violation::new(format!("k{number} is called {name} and is right")));
        } else if class == Class::Same && pass == Pass::VerifySource && still && looking.right == Some(false)
        {
            self.fail(Violation::new(format!("k{number} is called the same and is not")));
        }
    }
}
