//! Who is at work: the tasks of functions, their late requests, what they remember of the row, and operators.

use std::collections::BTreeSet;
use std::rc::Rc;

use keyfold_core::retrofit::control::{Direction, RetrofitState};
use keyfold_core::retrofit::{ItemTask, Job, Request};

/// For so many turns a look at the row is remembered.
const LOOK_TURNS: u64 = 12;

/// A task that has a request to send.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) task: ItemTask,
    pub(super) errand: Errand,
    pub(super) request: Request,
    /// A digest of what it began with and has heard: two tasks with the same go on the same way.
    pub(super) heard: u64,
    /// It sleeps until this turn.
    pub(super) sleeps_until: u64,
}

impl Work {
    /// What tells it from others.
    pub(super) fn hash(&self) -> u64 {
        self.heard
    }
}

/// A request that is under way for long.
#[derive(Clone)]
pub(super) struct Zombie {
    pub(super) lead: Direction,
    pub(super) request: Request,
    /// What tells it from others.
    pub(super) sent: u64,
    /// Does it ask for no seal?
    pub(super) is_unsealed: bool,
}

/// A look at the row that said yes, as a function remembers it.
#[derive(Clone)]
pub(super) struct Look {
    pub(super) side: Direction,
    pub(super) job: Rc<Job>,
    pub(super) version: u64,
    pub(super) turn: u64,
}

impl Look {
    pub(super) fn is_remembered(&self, turns: u64) -> bool {
        turns <= self.turn + LOOK_TURNS
    }
}

/// On whose behalf a task runs.
#[derive(Clone)]
pub(super) struct Errand {
    pub(super) job: Rc<Job>,
    /// The version of the row that was remembered; `None` if it was read.
    pub(super) remembered: Option<u64>,
    /// Which way the job carries.
    pub(super) lead: Direction,
    /// The records that it deals with; none if they were dealt with before.
    pub(super) records: Option<(Direction, Vec<usize>)>,
    /// The record of the closed table that it looks at.
    pub(super) late: Option<(Direction, usize)>,
    /// How often it was in another item's way.
    pub(super) blocked: u8,
}

impl Errand {
    pub(super) fn of(job: Rc<Job>, lead: Direction) -> Errand {
        Errand { job, remembered: None, lead, records: None, late: None, blocked: 0 }
    }
}

/// Somebody at a terminal.
#[derive(Clone)]
pub(super) struct Operator {
    /// The retrofit's row, as it was last read.
    pub(super) known: Option<RetrofitState>,
    /// All has arrived, as far as was seen.
    pub(super) drained: bool,
    /// How many seals were written.
    pub(super) sealed: usize,
    /// After the seals, all was still as it must be: when that was seen.
    pub(super) settled: Option<u64>,
    /// Since when the writers are stopped.
    pub(super) since: u64,
    /// The records of the closed table that were looked at.
    pub(super) examined: BTreeSet<usize>,
    /// The items of which one of them was somebody else's: the retrofit may have written over more of that.
    pub(super) late: BTreeSet<usize>,
}

impl std::hash::Hash for Operator {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        let Operator { known, drained, sealed, settled, examined, late, .. } = self;
        let version = known.as_ref().map(|head| head.version);
        (version, drained, sealed, settled, examined, late).hash(hasher);
    }
}

impl Operator {
    pub(super) fn new() -> Operator {
        Operator {
            known: None,
            drained: false,
            sealed: 0,
            settled: None,
            since: 0,
            examined: BTreeSet::new(),
            late: BTreeSet::new(),
        }
    }
}
