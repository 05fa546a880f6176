//! One item on its way: what to send next, until it is done.

use super::fence::Fence;
use super::fenced::Fenced;
use super::in_place::InPlace;
use super::job::Job;
use super::ledger::Move;
use super::quarantine::{self, Quarantined, Reason};
use super::request::{Outcome, Request};
use super::source_key::SourceKey;
use crate::value::Item;

/// One source item that is being brought up to date.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    key: Item,
    source: Option<SourceKey>,
    machine: Machine,
    /// What comes first, until it is asked for.
    first: Option<Turn>,
    /// The quarantine entry that a success takes out.
    entry: Option<Quarantined>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a step lives only until it is sent")]
pub enum Step {
    /// Send this, and tell what came of it.
    Send(Request),
    /// Nothing: the task is over.
    Done(Verdict),
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Something was written.
    Written,
    /// Everything was as it should be.
    Unchanged,
    /// Something newer is there.
    Superseded,
    /// The retrofit does not take this item, and nothing of it is in the target.
    NotSelected,
    /// It cannot be written, and is entered in the quarantine under this code.
    Quarantined(String),
    /// Another source item has the target key. Try again when other items have moved; [`Task::park`] ends it.
    Blocked,
    /// The item changed under our hands too often. Nothing is lost; try again later.
    Busy,
    /// The control table does not take the quarantine's entry: with DynamoDB's code. The item is not dealt with.
    Unrecorded(String),
}

impl Verdict {
    /// Is the item dealt with, so that a checkpoint may pass it?
    pub fn is_settled(&self) -> bool {
        !matches!(self, Verdict::Blocked | Verdict::Busy | Verdict::Unrecorded(_))
    }

    /// Its name in counts and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Written => "written",
            Verdict::Unchanged => "unchanged",
            Verdict::Superseded => "superseded",
            Verdict::NotSelected => "not-selected",
            Verdict::Quarantined(_) => "quarantined",
            Verdict::Blocked => "blocked",
            Verdict::Busy => "busy",
            Verdict::Unrecorded(_) => "unrecorded",
        }
    }

    /// After a repair: is the target what it should be?
    fn is_repaired(&self) -> bool {
        matches!(self, Verdict::Written | Verdict::Unchanged | Verdict::NotSelected)
    }
}

/// What moves a task on.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Machine {
    InPlace(InPlace),
    Fenced(Box<Fenced>),
    Ledger(Box<Move>),
    /// Enters the quarantine.
    Entering(Box<Quarantined>),
    /// Takes an entry out of the quarantine, then ends with this verdict.
    Leaving(Verdict),
    Over(Verdict),
}

/// What a protocol wants next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Turn {
    Send(Request),
    Done(Verdict),
    /// The item goes into quarantine, with the change that failed.
    Enter(Reason, Fence),
}

impl Task {
    pub(super) fn new(key: Item, source: SourceKey, machine: Machine, first: Turn) -> Task {
        Task { key, source: Some(source), machine, first: Some(first), entry: None }
    }

    /// Enters something in the quarantine and does nothing else.
    pub(super) fn entering(job: &Job, entry: Quarantined) -> Task {
        let first = Some(Turn::Send(Request::Write(entry.enter(job.mapping()))));
        let key = entry.key.clone().unwrap_or_default();
        Task { key, source: None, machine: Machine::Entering(Box::new(entry)), first, entry: None }
    }

    /// Takes an entry out of the quarantine and does nothing else.
    pub(super) fn leaving(job: &Job, entry: &Quarantined) -> Task {
        let first = Some(Turn::Send(Request::Write(entry.leave(job.mapping()))));
        let key = entry.key.clone().unwrap_or_default();
        Task { key, source: None, machine: Machine::Leaving(Verdict::Written), first, entry: None }
    }

    /// A task with nothing to do.
    pub(super) fn over(key: Item, verdict: Verdict) -> Task {
        let machine = Machine::Over(verdict.clone());
        Task { key, source: None, machine, first: Some(Turn::Done(verdict)), entry: None }
    }

    /// The same task; its success takes this entry out of the quarantine.
    pub(super) fn freeing(self, entry: Option<Quarantined>) -> Task {
        Task { entry, ..self }
    }

    /// The source item's key.
    pub fn key(&self) -> &Item {
        &self.key
    }

    /// The first step. Call it once; after that the task is [`told`](Self::told).
    pub fn start(&mut self, job: &Job) -> Step {
        let turn = self.first.take().unwrap_or(Turn::Done(Verdict::Unchanged));
        self.turn(job, turn)
    }

    /// The next step, after what came of the one before.
    pub fn told(&mut self, job: &Job, outcome: Outcome) -> Step {
        let turn = match &mut self.machine {
            Machine::InPlace(machine) => machine.told(job, outcome),
            Machine::Fenced(machine) => machine.told(job, outcome),
            Machine::Ledger(machine) => machine.told(job, outcome),
            Machine::Entering(entry) => Turn::Done(quarantine::entered(entry, outcome)),
            // A refusal means that a newer failure of the same item is there by now, which stays.
            Machine::Leaving(verdict) | Machine::Over(verdict) => Turn::Done(verdict.clone()),
        };
        self.turn(job, turn)
    }

    /// Tries a [`Blocked`](Verdict::Blocked) task once more, now that others may have moved.
    pub fn again(&mut self, job: &Job) -> Step {
        match &mut self.machine {
            Machine::Ledger(machine) => {
                let turn = machine.again(job);
                self.turn(job, turn)
            }
            _ => Step::Done(Verdict::Unchanged),
        }
    }

    /// Gives a [`Blocked`](Verdict::Blocked) task up: the source item is nowhere in the target, and in the quarantine.
    pub fn park(&mut self, job: &Job) -> Step {
        match &mut self.machine {
            Machine::Ledger(machine) => {
                let turn = machine.park(job);
                self.turn(job, turn)
            }
            _ => Step::Done(Verdict::Unchanged),
        }
    }

    fn turn(&mut self, job: &Job, turn: Turn) -> Step {
        match turn {
            Turn::Send(request) => Step::Send(request),
            Turn::Enter(reason, fence) => {
                let Some(source) = &self.source else { return Step::Done(Verdict::Unchanged) };
                let entry = Quarantined::item(&self.key, source, &reason, fence);
                let write = entry.enter(job.mapping());
                self.machine = Machine::Entering(Box::new(entry));
                Step::Send(Request::Write(write))
            }
            Turn::Done(verdict) => match self.entry.take() {
                Some(entry) if verdict.is_repaired() => {
                    self.machine = Machine::Leaving(verdict);
                    Step::Send(Request::Write(entry.leave(job.mapping())))
                }
                entry => {
                    self.entry = entry;
                    Step::Done(verdict)
                }
            },
        }
    }
}
