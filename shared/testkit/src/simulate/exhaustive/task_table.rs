//! The tasks that were met so far, each kept once and known by its number. The outcome of a task's next step is computed
//! by the core once for each state of the rows that it touches.

use std::collections::HashMap;
use std::rc::Rc;

use keyfold_core::retrofit::{ItemTask, Protocol, TaskResult, TaskStep};

use super::super::Mutant;
use super::hash::{mix, of_outcome};
use super::open_task::{BLOCKED_MAX, OpenTask, Role};
use super::tables::{ItemId, NOTHING, Rows, Tables};

/// The most rows that a request touches.
const TOUCHED: usize = 4;

/// Which orders are walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orders {
    /// Of those that come to the same, one.
    Distinct,
    /// Every one, to see that none is missing above.
    All,
}

/// The number of a task under way.
pub(super) type OpenTaskId = u32;

/// The result of a step of a task.
#[derive(Debug, Clone, Copy)]
pub(super) enum After {
    /// It goes on.
    Goes(OpenTaskId),
    /// It has ended.
    Ended { settled: bool },
}

/// A step of a task: what it leaves in rows, and what comes after it.
pub(super) struct Effect {
    pub(super) sets: Vec<(usize, ItemId)>,
    pub(super) after: After,
}

impl Effect {
    /// Does it leave anything in a row?
    pub(super) fn writes(&self) -> bool {
        !self.sets.is_empty()
    }
}

/// All tasks that were met so far, and the tables that they work on.
pub(super) struct TaskTable {
    pub(super) tables: Tables,
    pub(super) walked: Orders,
    open_tasks: Vec<Rc<OpenTask>>,
    ids: HashMap<u64, OpenTaskId>,
    started: HashMap<u64, After>,
    effects: HashMap<(OpenTaskId, [ItemId; TOUCHED]), Rc<Effect>>,
}

impl TaskTable {
    pub(super) fn new(protocol: Protocol, mutant: Option<Mutant>, walked: Orders) -> TaskTable {
        TaskTable {
            tables: Tables::new(protocol, mutant),
            walked,
            open_tasks: Vec::new(),
            ids: HashMap::new(),
            started: HashMap::new(),
            effects: HashMap::new(),
        }
    }

    pub(super) fn open_task(&self, id: OpenTaskId) -> &OpenTask {
        &self.open_tasks[id as usize]
    }

    /// A task that begins.
    pub(super) fn started(&mut self, role: Role, hash: u64, task: impl FnOnce(&Tables) -> ItemTask) -> After {
        let began = mix(hash, role);
        if let Some(after) = self.started.get(&began) {
            return *after;
        }
        let mut task = task(&self.tables);
        let next = task.start(&self.tables.job);
        let open_task =
            OpenTask { role, task, request: None, blocked: 0, touches: Vec::new(), began, hash: began };
        let after = self.after(open_task, next);
        self.started.insert(began, after);
        after
    }

    /// The result of this step of the task.
    fn after(&mut self, mut open_task: OpenTask, next: TaskStep) -> After {
        match next {
            TaskStep::Send(request) => open_task.request = Some(request),
            TaskStep::Done(TaskResult::Blocked) => open_task.request = None,
            TaskStep::Done(verdict) => return After::Ended { settled: verdict.is_done() },
        }
        if self.walked == Orders::Distinct && open_task.begins_anew() {
            open_task.hash = mix(open_task.began, open_task.blocked);
        }
        if let Some(id) = self.ids.get(&open_task.hash) {
            return After::Goes(*id);
        }
        open_task.touches =
            open_task.request.as_ref().map(|sent| self.tables.touched(sent)).unwrap_or_default();
        assert!(open_task.touches.len() <= TOUCHED, "there is room for {TOUCHED} rows in what is remembered");
        let id = self.open_tasks.len() as OpenTaskId;
        self.ids.insert(open_task.hash, id);
        self.open_tasks.push(Rc::new(open_task));
        After::Goes(id)
    }

    /// The result of this task's next step, over these rows.
    pub(super) fn effect(&mut self, id: OpenTaskId, rows: &Rows) -> Rc<Effect> {
        let open_task = &self.open_tasks[id as usize];
        let mut touched = [NOTHING; TOUCHED];
        open_task.touches.iter().zip(&mut touched).for_each(|(row, held)| *held = rows[*row]);
        if let Some(effect) = self.effects.get(&(id, touched)) {
            return Rc::clone(effect);
        }
        let open_task = OpenTask::clone(open_task);
        let effect = Rc::new(self.work_out(open_task, *rows));
        self.effects.insert((id, touched), Rc::clone(&effect));
        effect
    }

    /// Carries the request of a task out; a blocked one is tried again or parked.
    fn work_out(&mut self, mut open_task: OpenTask, before: Rows) -> Effect {
        let mut rows = before;
        let (next, outcome_hash) = match open_task.request.take() {
            Some(request) => {
                let outcome = self.tables.send(&request, open_task.role, &mut rows);
                let outcome_hash = of_outcome(&outcome);
                (open_task.task.respond(&self.tables.job, outcome), outcome_hash)
            }
            None => {
                let (job, again) = (&self.tables.job, open_task.blocked < BLOCKED_MAX);
                open_task.blocked += 1;
                (if again { open_task.task.again(job) } else { open_task.task.park(job) }, 8)
            }
        };
        open_task.hash = mix(open_task.hash, outcome_hash);
        let changed = open_task.touches.iter().filter(|row| rows[**row] != before[**row]);
        let sets = changed.map(|row| (*row, rows[*row])).collect();
        Effect { sets, after: self.after(open_task, next) }
    }
}
