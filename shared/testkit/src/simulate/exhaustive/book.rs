//! The tasks that were met so far, each kept once and known by its number. What a task's next step comes to is worked out
//! by the core once for each state of the rows that it touches.

use std::collections::HashMap;
use std::rc::Rc;

use keyfold_core::retrofit::{Step, Task, Verdict};

use super::super::{Mutant, Scene};
use super::Orders;
use super::errand::{BLOCKED_MAX, Errand, Role};
use super::hash::{mix, of_outcome};
use super::tables::{ItemId, NOTHING, Rows, Tables};

/// The most rows that a request touches.
const TOUCHED: usize = 4;

/// The number of a task under way.
pub(super) type ErrandId = u32;

/// What comes after a step of a task.
#[derive(Debug, Clone, Copy)]
pub(super) enum After {
    /// It goes on.
    Goes(ErrandId),
    /// It has ended.
    Ended { settled: bool },
}

/// A step of a task: what it leaves in rows, and what comes after it.
pub(super) struct Deed {
    pub(super) sets: Vec<(usize, ItemId)>,
    pub(super) after: After,
}

impl Deed {
    /// Does it leave anything in a row?
    pub(super) fn writes(&self) -> bool {
        !self.sets.is_empty()
    }
}

/// All tasks that were met so far, and the tables that they work on.
pub(super) struct Book<'s> {
    pub(super) tables: Tables<'s>,
    pub(super) walked: Orders,
    errands: Vec<Rc<Errand>>,
    ids: HashMap<u64, ErrandId>,
    begun: HashMap<u64, After>,
    deeds: HashMap<(ErrandId, [ItemId; TOUCHED]), Rc<Deed>>,
}

impl<'s> Book<'s> {
    pub(super) fn new(scene: &'s Scene, mutant: Option<Mutant>, walked: Orders) -> Book<'s> {
        Book {
            tables: Tables::new(scene, mutant),
            walked,
            errands: Vec::new(),
            ids: HashMap::new(),
            begun: HashMap::new(),
            deeds: HashMap::new(),
        }
    }

    pub(super) fn errand(&self, id: ErrandId) -> &Errand {
        &self.errands[id as usize]
    }

    /// A task that begins.
    pub(super) fn begun(&mut self, role: Role, hash: u64, task: impl FnOnce(&Tables<'s>) -> Task) -> After {
        let began = mix(hash, role);
        if let Some(after) = self.begun.get(&began) {
            return *after;
        }
        let mut task = task(&self.tables);
        let next = task.start(&self.tables.scene.jobs[0]);
        let errand =
            Errand { role, task, request: None, blocked: 0, touches: Vec::new(), began, hash: began };
        let after = self.after(errand, next);
        self.begun.insert(began, after);
        after
    }

    /// What comes after this step of the task.
    fn after(&mut self, mut errand: Errand, next: Step) -> After {
        match next {
            Step::Send(request) => errand.request = Some(request),
            Step::Done(Verdict::Blocked) => errand.request = None,
            Step::Done(verdict) => return After::Ended { settled: verdict.is_settled() },
        }
        if self.walked == Orders::Distinct && errand.begins_anew() {
            errand.hash = mix(errand.began, errand.blocked);
        }
        if let Some(id) = self.ids.get(&errand.hash) {
            return After::Goes(*id);
        }
        errand.touches = errand.request.as_ref().map(|sent| self.tables.touched(sent)).unwrap_or_default();
        assert!(errand.touches.len() <= TOUCHED, "there is room for {TOUCHED} rows in what is remembered");
        let id = self.errands.len() as ErrandId;
        self.ids.insert(errand.hash, id);
        self.errands.push(Rc::new(errand));
        After::Goes(id)
    }

    /// What the next step of this task comes to, over these rows.
    pub(super) fn deed(&mut self, id: ErrandId, rows: &Rows) -> Rc<Deed> {
        let errand = &self.errands[id as usize];
        let mut touched = [NOTHING; TOUCHED];
        errand.touches.iter().zip(&mut touched).for_each(|(row, held)| *held = rows[*row]);
        if let Some(deed) = self.deeds.get(&(id, touched)) {
            return Rc::clone(deed);
        }
        let errand = Errand::clone(errand);
        let deed = Rc::new(self.work_out(errand, *rows));
        self.deeds.insert((id, touched), Rc::clone(&deed));
        deed
    }

    /// Carries the request of a task out; a blocked one is tried again or parked.
    fn work_out(&mut self, mut errand: Errand, before: Rows) -> Deed {
        let job = &self.tables.scene.jobs[0];
        let mut rows = before;
        let (next, told) = match errand.request.take() {
            Some(request) => {
                let outcome = self.tables.send(&request, errand.role, &mut rows);
                let told = of_outcome(&outcome);
                (errand.task.told(job, outcome), told)
            }
            None => {
                let again = errand.blocked < BLOCKED_MAX;
                errand.blocked += 1;
                (if again { errand.task.again(job) } else { errand.task.park(job) }, 8)
            }
        };
        errand.hash = mix(errand.hash, told);
        let changed = errand.touches.iter().filter(|row| rows[**row] != before[**row]);
        let sets = changed.map(|row| (*row, rows[*row])).collect();
        Deed { sets, after: self.after(errand, next) }
    }
}
