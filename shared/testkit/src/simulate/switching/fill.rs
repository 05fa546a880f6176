//! The state of a history that fills a target, or keys in place: what functions and operators have under way, and what only these histories have.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use keyfold_core::retrofit::verify::{Check, CheckResult, CheckStep};
use keyfold_core::retrofit::{Batch, ItemTask, Job, Pass, Slice};
use keyfold_core::value::Item;

use super::super::fault::Faults;
use super::scene::KEYS;
use super::work::Errand;
use crate::generate::Random;

/// How many turns an eventually consistent read may be stale.
const STALE_TURNS: u64 = 12;

/// A batch at work.
#[derive(Clone)]
pub(super) struct Invocation {
    /// Its shard; `None` if its result moves no checkpoint.
    pub(super) shard: Option<usize>,
    pub(super) batch: Rc<RefCell<Batch>>,
    /// The records' places in the stream.
    pub(super) records: Vec<usize>,
    /// Tasks under way.
    pub(super) open: usize,
    /// The version of the retrofit's row, if it was cached.
    pub(super) remembered: Option<u64>,
    /// Was a record dealt with, and nothing written for it?
    pub(super) drops: bool,
}

/// The state of a shard as its function has it.
#[derive(Clone, Copy, Default)]
pub(super) struct ShardState {
    /// An invocation has it.
    pub(super) busy: bool,
    /// The most records of the next batch, after a failure; and how many the failed one had.
    pub(super) halved: Option<(usize, usize)>,
    /// It stands still until this turn.
    pub(super) lags_until: u64,
}

/// A segment of a pass at work.
#[derive(Clone)]
pub(super) struct SegmentRun {
    pub(super) pass: Pass,
    pub(super) repair: bool,
    pub(super) job: Rc<Job>,
    pub(super) slice: Slice,
    /// The page that is being read.
    pub(super) reading: Option<PageRead>,
    /// Tasks under way.
    pub(super) open: usize,
    /// How often a comparison pauses before it calls something a difference.
    pub(super) looks_again: usize,
    /// The item that is being compared.
    pub(super) looking: Option<Box<Looking>>,
    /// The place of the last item that was compared.
    pub(super) after: String,
    pub(super) findings: Vec<CheckResult>,
}

/// A page of a scan, read item by item: between two of them, anything may be written.
#[derive(Clone)]
pub(super) struct PageRead {
    pub(super) items: Vec<Item>,
    /// The number of the next item.
    pub(super) at: usize,
    /// The most items.
    pub(super) limit: usize,
}

/// An item that is being compared.
#[derive(Clone)]
pub(super) struct Looking {
    pub(super) check: Check,
    pub(super) step: CheckStep,
    pub(super) number: Option<usize>,
    /// What there was when the check began: writes of the item, and records.
    pub(super) writes: u32,
    pub(super) records: usize,
    /// How often it has paused, and the turn in which its pause ends.
    pub(super) paused: usize,
    pub(super) due: u64,
    /// Was the item right when its target was last read?
    pub(super) right: Option<bool>,
    pub(super) steps: usize,
}

/// The current throttling.
#[derive(Clone, Default)]
pub(super) struct Throttles {
    pub(super) account_until: u64,
    pub(super) index_until: u64,
    pub(super) key_until: u64,
    pub(super) key: usize,
}

/// The purpose of the turns.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// Writers write.
    #[default]
    Open,
    /// All that is under way ends, and the backfill.
    Draining,
    /// An operator compares both sides, and corrects them if it is asked to.
    Comparing { repair: bool },
    /// Nothing but one command.
    Last,
}

/// A history that fills.
#[derive(Clone, Default)]
pub(super) struct Fill {
    pub(super) faults: Faults,
    pub(super) throttles: Throttles,
    pub(super) stage: Stage,
    /// Nothing else goes on while an operator compares.
    pub(super) is_quiet: bool,
    pub(super) invocations: BTreeMap<u64, Invocation>,
    pub(super) shards: BTreeMap<usize, ShardState>,
    pub(super) runs: BTreeMap<u64, SegmentRun>,
    /// Tasks that wait for other items to move.
    pub(super) blocked: Vec<(ItemTask, Errand)>,
    /// Records given up, whose note is not yet made.
    pub(super) notes: Vec<usize>,
    /// Records given up, by a protocol that replays them.
    pub(super) given_up: Vec<usize>,
    /// The next number of an invocation or a run.
    pub(super) next_id: u64,
    /// Another program's items in the target.
    pub(super) foreign: Vec<Item>,
    /// The items at whose place another program's item has been.
    pub(super) obstructed: [bool; KEYS],
    /// The items of which a stream took records with it when it was disabled.
    pub(super) unseen: [bool; KEYS],
    /// Records that were given up for good while the retrofit was abandoned.
    pub(super) gone: BTreeSet<usize>,
    /// Records that are read again: they were dealt with before.
    pub(super) read_again: BTreeSet<usize>,
    /// Records that do not tell their item: its number, and the row that they have in quarantine.
    pub(super) unreadable: Vec<(usize, String)>,
    /// The source has no stream now.
    pub(super) off: bool,
    /// No stream is followed, and every writer folds.
    pub(super) unfollowed: bool,
    /// Was it abandoned and started again?
    pub(super) restarted: bool,
    /// The jobs by the version of the mapping and the epoch.
    pub(super) jobs: BTreeMap<(bool, u16), Rc<Job>>,
    /// How often writers wrote each item, and whether it was ever there.
    pub(super) writes: [u32; KEYS],
    pub(super) known: [bool; KEYS],
    /// The source's item before its last change, and when that was.
    before: [Option<(u64, Option<Item>)>; KEYS],
    /// How often an item of the source or the target changed.
    pub(super) changes: u64,
    /// The findings of the last comparison.
    pub(super) findings: Vec<CheckResult>,
    /// How the last command ended.
    pub(super) ended: Option<keyfold_core::retrofit::operate::End>,
}

impl Fill {
    pub(super) fn new(random: &mut Random) -> Fill {
        Fill { faults: Faults::drawn(random), off: true, ..Fill::default() }
    }

    /// A number for an invocation or a run.
    pub(super) fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn shard(&mut self, shard: usize) -> &mut ShardState {
        self.shards.entry(shard).or_default()
    }

    /// The source's item changes.
    pub(super) fn replaced(&mut self, number: usize, turn: u64, old: Option<&Item>) {
        self.before[number] = Some((turn, old.cloned()));
    }

    /// The stale result of an eventually consistent read, if it differs.
    pub(super) fn stale(&self, number: usize, turn: u64) -> Option<&Option<Item>> {
        let (since, item) = self.before[number].as_ref()?;
        (turn < since + STALE_TURNS).then_some(item)
    }
}
