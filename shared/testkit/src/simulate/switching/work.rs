//! Who is at work: the tasks of functions, their late requests, what they remember of the row.

use std::rc::Rc;

use keyfold_core::retrofit::control::Direction;
use keyfold_core::retrofit::segment::PageNumber;
use keyfold_core::retrofit::{ItemTask, Job, Request, Tracking};

use super::super::work::TaskOrigin;

/// The turns for which the row is cached.
pub(super) const LOOK_TURNS: u64 = 40;

/// A task that has a request to send.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) task: ItemTask,
    pub(super) errand: Errand,
    pub(super) request: Request,
    /// How often the request was throttled.
    pub(super) attempts: u8,
}

/// Who waits for a task of a history that fills.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Waiter {
    #[default]
    Nobody,
    /// An invocation, for its record at this place.
    Batch(u64, usize),
    /// A run of a segment, for an item of a page.
    Page(u64, PageNumber),
    /// If it dies, this record's note is made again.
    Note(usize),
}

impl Work {
    pub(super) fn is_asleep(&self, turns: u64) -> bool {
        self.errand.sleeps_until > turns
    }

    /// Is its process about to write an item, or the row of one, for the first time since it slept?
    pub(super) fn wakes_to_write(&self) -> bool {
        self.errand.sleeps_until > 0 && self.request.writes_items()
    }
}

/// A request that is under way for long.
#[derive(Clone)]
pub(super) struct Zombie {
    pub(super) lead: Direction,
    pub(super) request: Request,
    pub(super) job: Rc<Job>,
    pub(super) origin: TaskOrigin,
    /// Where its sender kept versions, if it asks for a seal.
    pub(super) tracking: Option<Tracking>,
    /// Its sender used a cached row.
    pub(super) by_cache: bool,
    /// It is under way until this turn at least.
    pub(super) until: u64,
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
    /// It is an operator's: such a process can stand still for longer than another operator waits.
    pub(super) by_operator: bool,
    pub(super) origin: TaskOrigin,
    pub(super) waiter: Waiter,
    /// Its process sleeps until this turn; 0 once it has read the row again.
    pub(super) sleeps_until: u64,
}

impl Errand {
    pub(super) fn of(job: Rc<Job>, lead: Direction) -> Errand {
        Errand {
            job,
            remembered: None,
            lead,
            records: None,
            late: None,
            blocked: 0,
            by_operator: false,
            origin: TaskOrigin::Record,
            waiter: Waiter::Nobody,
            sleeps_until: 0,
        }
    }

    /// Of a history that fills.
    pub(super) fn by(job: Rc<Job>, origin: TaskOrigin) -> Errand {
        Errand { origin, ..Errand::of(job, Direction::Forward) }
    }
}
