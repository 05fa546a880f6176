//! The verifier at work while everything goes on: it must not call a write under way a difference, nor miss one that
//! stands still, and what it repairs must do no harm.

use std::rc::Rc;

use keyfold_core::retrofit::attributes::OWN_ATTRIBUTES;
use keyfold_core::retrofit::control::Direction;
use keyfold_core::retrofit::verify::{Check, CheckOptions, CheckResult, CheckStep, Class};
use keyfold_core::retrofit::{Pass, Request, Response, TableRole};
use keyfold_core::value::Item;

use super::super::fault::Fault;
use super::super::mutant::Mutant;
use super::super::work::TaskOrigin;
use super::fill::Looking;
use super::states::{KeyState, Wanted};
use super::world::{Published, World, number_of};

/// The pauses between two looks, in turns: production's, eight times faster. A shard may stand still for longer than all of
/// them, so a comparison can meet more lag than it was given.
pub(super) const PAUSE_TURNS: [u64; 4] = [1, 2, 6, 27];
/// Steps of one check.
const CHECK_STEPS_MAX: usize = 64;

impl World {
    /// One step of a comparison.
    pub(super) fn advance_check(&mut self, id: u64) {
        let Some(run) = self.fill().runs.get(&id) else { return };
        // A pause lasts as long as it does, whatever is under way meanwhile.
        let pauses = |looking: &Looking| looking.step == CheckStep::Pause && self.turns < looking.due;
        match &run.looking {
            None if run.slice.next().is_none() => {}
            None => self.scan_next(id),
            Some(looking) if pauses(looking) => {}
            Some(_) => match self.strikes(Fault::CrashBefore, 1) {
                true => {
                    self.note(|| "  the verifier crashes, and starts again".to_owned());
                    self.restart_segment(id);
                }
                false => self.look(id),
            },
        }
    }

    fn scan_next(&mut self, id: u64) {
        let throttled = self.is_scan_throttled();
        if throttled && !self.bites(Mutant::VerifyErrorIsEnd) {
            return;
        }
        let Some(run) = self.fill().runs.get(&id) else { return };
        let (is_source, job, looks_again) =
            (run.pass == Pass::VerifySource, Rc::clone(&run.job), run.looks_again as u32);
        let side = if is_source { Direction::Forward } else { Direction::Reverse };
        let next = self.table(side).after(&run.after).filter(|_| !throttled);
        let Some((place, item)) = next.map(|(place, item)| (place.to_owned(), item.clone())) else {
            if let Some(run) = self.fill_mut().runs.get_mut(&id) {
                run.slice.page(0, None);
            }
            return;
        };
        let looks_again = if self.bites(Mutant::HastyVerifier) { 0 } else { looks_again };
        let options = CheckOptions { looks_again, ..CheckOptions::default() };
        let (check, step) = match is_source {
            true => Check::of_source(&job, item.clone(), options),
            false => Check::of_target(&job, item.clone(), options),
        };
        let number = if is_source { Some(number_of(&item)) } else { self.owner_of(&item) };
        let scanned = number.filter(|_| self.is_in_place() && !self.fill().is_quiet);
        let mut looking = Box::new(Looking {
            check,
            step,
            number,
            writes: number.map_or(0, |number| self.fill().writes[number]),
            records: self.streams[0].len(),
            paused: 0,
            due: 0,
            right: scanned.and_then(|number| self.is_right(number)),
            steps: 0,
        });
        self.pause(&mut looking);
        if let Some(run) = self.fill_mut().runs.get_mut(&id) {
            (run.after, run.looking) = (place, Some(looking));
        }
    }

    fn look(&mut self, id: u64) {
        let Some(run) = self.fill_mut().runs.get_mut(&id) else { return };
        let Some(mut looking) = run.looking.take() else { return };
        let job = Rc::clone(&run.job);
        looking.steps += 1;
        if looking.steps > CHECK_STEPS_MAX {
            return self.fail("a check never ends");
        }
        let step = std::mem::replace(&mut looking.step, CheckStep::Pause);
        looking.step = match step {
            CheckStep::Done(finding) => return self.found(id, &looking, finding),
            CheckStep::Pause => looking.check.paused(&job),
            CheckStep::Send(request) => {
                if self.is_scan_throttled() {
                    CheckStep::Send(request)
                } else {
                    let outcome = self.looked(&mut looking, &request);
                    looking.check.respond(&job, outcome)
                }
            }
        };
        self.pause(&mut looking);
        if let Some(run) = self.fill_mut().runs.get_mut(&id) {
            run.looking = Some(looking);
        }
    }

    /// If it pauses, until when?
    fn pause(&mut self, looking: &mut Looking) {
        if looking.step != CheckStep::Pause {
            return;
        }
        let at_once = self.fill().is_quiet || self.bites(Mutant::ShortPauses);
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
    fn looked(&mut self, looking: &mut Looking, request: &Request) -> Response {
        let Request::Get { role, .. } = request else { unreachable!("a check only reads") };
        let is_target = *role == TableRole::Target;
        let is_last = if self.is_in_place() { *role == TableRole::Source } else { is_target };
        if !self.fill().is_quiet && is_last {
            looking.right = looking.number.and_then(|number| self.is_right(number));
        }
        self.origin = TaskOrigin::Verify;
        let mut outcome = self.carry_out(Direction::Forward, request);
        if is_target && self.has(Mutant::ExtraIgnored) {
            self.ignore_extra(&mut outcome);
        }
        outcome
    }

    /// Takes off what the source's item does not have.
    fn ignore_extra(&mut self, outcome: &mut Response) {
        let Response::Item(Some(item)) = outcome else { return };
        let Some(number) = self.owner_of(item) else { return };
        let Wanted::Item(wanted) = self.wanted_of(number) else { return };
        let before = item.len();
        item.retain(|name, _| wanted.contains_key(name) || OWN_ATTRIBUTES.contains(&name.as_str()));
        self.bites += u64::from(item.len() < before);
    }

    fn found(&mut self, id: u64, looking: &Looking, mut finding: CheckResult) {
        if finding.class == Class::InFlight && self.bites(Mutant::MovingIsSame) {
            finding.class = Class::Same;
        }
        self.note(|| format!("  verifier: k{:?} is {}", looking.number, finding.class.name()));
        let Some(run) = self.fill().runs.get(&id) else { return };
        let (pass, repair, looks_again, job) = (run.pass, run.repair, run.looks_again, Rc::clone(&run.job));
        if let Some(number) = looking.number {
            self.judge(pass, looks_again, number, looking, finding.class);
        }
        let wanted = repair && finding.class.is_repairable() && finding.class != Class::Quarantined;
        let key = finding.key.clone().filter(|_| wanted);
        let Some(run) = self.fill_mut().runs.get_mut(&id) else { return };
        // Where the scan goes on is known by the item's place.
        let page = run.slice.page(1, Some(Item::default()));
        let name = finding.class.name();
        run.findings.push(finding);
        let Some(key) = key else { return run.slice.counted(page, name) };
        run.open += 1;
        self.hit(Fault::Repair);
        self.start_for(id, page, job.repair(&key), &job, TaskOrigin::Repair);
    }

    /// Is the finding true?
    fn judge(&mut self, pass: Pass, looks_again: usize, number: usize, looking: &Looking, class: Class) {
        let patience: u64 = PAUSE_TURNS[..looks_again].iter().sum();
        let differs = matches!(class, Class::Missing | Class::Extra | Class::Different);
        let still = self.fill().writes[number] == looking.writes;
        let name = class.name();
        let waits = |record: &&Published| record.number == number && !record.dealt_with;
        let since =
            self.streams[0][..looking.records].iter().filter(waits).map(|record| record.written_at).min();
        if differs && since.is_some_and(|second| self.seconds() < second + patience) {
            self.fail(format!("k{number} is called {name} while its change is under way"));
        } else if differs && class != Class::Extra && still && looking.right == Some(true) {
            self.fail(format!("k{number} is called {name} and is right"));
        } else if class == Class::Same && pass == Pass::VerifySource && still && looking.right == Some(false)
        {
            self.fail(format!("k{number} is called the same and is not"));
        }
    }
}
