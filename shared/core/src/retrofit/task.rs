//! One item on its way: what to send next, until it is done.

use std::sync::Arc;

use super::job::Job;
use super::protocol::{ItemMachine, Turn};
use super::quarantine::{self, Quarantined};
use super::request::{Request, Response};
use super::result::TaskResult;
use super::source_key::SourceKey;
use crate::value::Item;

/// One source item that is being brought up to date.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemTask {
    key: Arc<Item>,
    state: TaskState,
    /// The first step, until it is requested.
    first: Option<Turn>,
    /// The quarantine entry that a success takes out.
    entry: Option<Box<Quarantined>>,
}

/// The next step.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskStep {
    /// Send this, and tell what came of it.
    Send(Request),
    /// Nothing: the task is over.
    Done(TaskResult),
}

/// Where a task is.
#[derive(Debug, Clone, PartialEq)]
enum TaskState {
    /// The item's protocol is at work.
    Protocol(ItemMachine),
    /// Enters the quarantine.
    Entering(Box<Quarantined>),
    /// Takes an entry out of the quarantine, then ends with this result.
    Leaving(TaskResult),
    Over(TaskResult),
}

impl ItemTask {
    pub(super) fn new(key: Arc<Item>, (machine, first): (ItemMachine, Turn)) -> ItemTask {
        let state = TaskState::Protocol(machine);
        ItemTask { key, state, first: Some(first), entry: None }
    }

    /// Enters something in the quarantine and does nothing else.
    pub(super) fn entering(job: &Job, entry: Quarantined) -> ItemTask {
        let first = Some(Turn::Send(Request::Write(entry.enter(job.mapping()))));
        let key = Arc::new(entry.key.clone().unwrap_or_default());
        ItemTask { key, state: TaskState::Entering(Box::new(entry)), first, entry: None }
    }

    /// Takes an entry out of the quarantine and does nothing else.
    pub(super) fn leaving(job: &Job, entry: &Quarantined) -> ItemTask {
        let first = Some(Turn::Send(Request::Write(entry.leave(job.mapping()))));
        let key = Arc::new(entry.key.clone().unwrap_or_default());
        ItemTask { key, state: TaskState::Leaving(TaskResult::Written), first, entry: None }
    }

    /// A task with nothing to do.
    pub(super) fn over(key: Item, result: TaskResult) -> ItemTask {
        let state = TaskState::Over(result.clone());
        ItemTask { key: Arc::new(key), state, first: Some(Turn::Done(result)), entry: None }
    }

    /// The same task; its success takes this entry out of the quarantine.
    pub(super) fn freeing(self, entry: Option<Quarantined>) -> ItemTask {
        ItemTask { entry: entry.map(Box::new), ..self }
    }

    /// The source item's key.
    pub fn key(&self) -> &Item {
        &self.key
    }

    /// The first step. Call it once; after that the task is [`respond`](Self::respond).
    pub fn start(&mut self, job: &Job) -> TaskStep {
        let turn = self.first.take().unwrap_or(Turn::Done(TaskResult::Unchanged));
        self.turn(job, turn)
    }

    /// The next step, after the outcome of the previous one.
    pub fn respond(&mut self, job: &Job, response: Response) -> TaskStep {
        if response == Response::Outdated {
            return TaskStep::Done(TaskResult::Busy);
        }
        let turn = match &mut self.state {
            TaskState::Protocol(machine) => machine.respond(job, response),
            TaskState::Entering(entry) => Turn::Done(quarantine::entered(entry, response)),
            // A refusal means that a newer failure of the same item is there by now, which stays.
            TaskState::Leaving(result) | TaskState::Over(result) => Turn::Done(result.clone()),
        };
        self.turn(job, turn)
    }

    /// Tries a [`Blocked`](TaskResult::Blocked) task once more, now that others may have moved.
    pub fn again(&mut self, job: &Job) -> TaskStep {
        let turn = match &mut self.state {
            TaskState::Protocol(machine) => machine.again(job),
            _ => Turn::Done(TaskResult::Unchanged),
        };
        self.turn(job, turn)
    }

    /// Gives a [`Blocked`](TaskResult::Blocked) task up: the source item is nowhere in the target, and in the quarantine.
    pub fn park(&mut self, job: &Job) -> TaskStep {
        let turn = match &mut self.state {
            TaskState::Protocol(machine) => machine.park(job),
            _ => Turn::Done(TaskResult::Unchanged),
        };
        self.turn(job, turn)
    }

    fn turn(&mut self, job: &Job, turn: Turn) -> TaskStep {
        match turn {
            Turn::Send(request) => TaskStep::Send(request),
            Turn::Enter(reason, fence) => {
                let Some(source) = SourceKey::of(job.mapping().source(), &self.key) else {
                    return TaskStep::Done(TaskResult::Unchanged);
                };
                let entry = Quarantined::item(&self.key, &source, &reason, fence);
                let write = entry.enter(job.mapping());
                self.state = TaskState::Entering(Box::new(entry));
                TaskStep::Send(Request::Write(write))
            }
            Turn::Done(result) => match self.entry.take() {
                Some(entry) if result.is_repaired() => {
                    self.state = TaskState::Leaving(result);
                    TaskStep::Send(Request::Write(entry.leave(job.mapping())))
                }
                entry => {
                    self.entry = entry;
                    TaskStep::Done(result)
                }
            },
        }
    }
}
