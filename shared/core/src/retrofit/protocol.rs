//! One item under its protocol: the three protocols behind one interface, and the second way of the one with fences.
//!
//! A protocol is a state machine for one item. It is started by a record of the stream ([`apply`](ItemMachine::apply)), a scanned
//! item ([`backfill`](ItemMachine::backfill)) or a repair; it says what it wants sent, and gets the response. It sees no table
//! and no clock. The simulator runs the same machines through every order of events.

mod fenced;
mod freeing;
mod goal;
mod in_place;
mod late;
mod ledger;
mod mover;
mod paired;
mod place;
mod row;
mod rowed;
mod turn;

use std::borrow::Cow;
use std::sync::Arc;

use super::fence::{Epoch, Fence};
use super::job::{Job, Tracking};
use super::protocol_choice::Protocol;
use super::record::ChangeRecord;
use super::request::Response;
use super::result::TaskResult;
use super::source_key::SourceKey;
use crate::value::Item;

use fenced::Fenced;
use in_place::InPlace;
use late::Late;
use ledger::Move;
use paired::Paired;
use rowed::Rowed;

pub use row::LedgerRow;
pub(super) use turn::Turn;

/// One item on its way, by the protocol of its retrofit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ItemMachine {
    InPlace(InPlace),
    Fenced(Fenced),
    Rowed(Box<Rowed>),
    Ledger(Box<Move>),
    Paired(Box<Paired>),
    Late(Box<Late>),
}

impl ItemMachine {
    /// Carries over the state in a record; `new` is `None` where the item was deleted.
    pub(super) fn apply(
        job: &Job,
        source: &SourceKey,
        key: &Arc<Item>,
        old: Option<&Item>,
        new: Option<Cow<'_, Item>>,
        fence: Fence,
    ) -> (ItemMachine, Turn) {
        match job.mapping().protocol() {
            Protocol::InPlace => in_place(InPlace::of_item(job, key, old, new, fence)),
            Protocol::Fenced if has_rows(job) => rowed(Rowed::apply(job, source, key, fence)),
            Protocol::Fenced => fenced(Fenced::apply(job, key, new, fence)),
            Protocol::Ledger if has_rows(job) => paired(Paired::apply(job, source, key, fence)),
            Protocol::Ledger => ledger(Move::to_state(job, source, key, new.as_deref(), fence)),
        }
    }

    /// Carries a scanned item over, unless something newer is there. `careful` looks before it writes.
    pub(super) fn backfill(job: &Job, key: &Arc<Item>, item: Item, careful: bool) -> (ItemMachine, Turn) {
        let fence = Fence::of_scan(job.epoch());
        // Most items need no text of their key.
        let source = || {
            let source = SourceKey::of(job.mapping().source(), key);
            source.unwrap_or_else(|| unreachable!("a key of the table is whole"))
        };
        match job.mapping().protocol() {
            Protocol::InPlace => in_place(InPlace::of_item(job, key, None, Some(Cow::Owned(item)), fence)),
            Protocol::Fenced if has_rows(job) => rowed(Rowed::backfill(job, &source(), key)),
            Protocol::Fenced => fenced(Fenced::backfill(job, key, item, fence, careful)),
            Protocol::Ledger if has_rows(job) => paired(Paired::backfill(job, &source(), key)),
            Protocol::Ledger => ledger(Move::of_scanned(job, &source(), key, &item, fence, careful)),
        }
    }

    /// Reads the source item again and makes the target what it should be. `failed` is the newest change of the item that
    /// could not be carried over, if one is known.
    pub(super) fn repair(
        job: &Job,
        source: &SourceKey,
        key: &Arc<Item>,
        failed: Option<Fence>,
    ) -> (ItemMachine, Turn) {
        match job.mapping().protocol() {
            Protocol::InPlace => in_place(InPlace::repair(job, key)),
            Protocol::Fenced if has_rows(job) => rowed(Rowed::repair(job, source, key, failed)),
            Protocol::Fenced => fenced(Fenced::repair(job, source, key, failed)),
            Protocol::Ledger if has_rows(job) => paired(Paired::repair(job, source, key, failed)),
            Protocol::Ledger => ledger(Move::repair(job, source, key, failed)),
        }
    }

    /// Makes the target's item what it should be, by a write even if it is; only where each change has a row.
    pub(super) fn rewrite(job: &Job, source: &SourceKey, key: &Item) -> (ItemMachine, Turn) {
        match job.mapping().protocol() {
            Protocol::Ledger => paired(Paired::rewrite(job, source, key)),
            Protocol::InPlace | Protocol::Fenced => rowed(Rowed::rewrite(job, source, key)),
        }
    }

    /// Looks at a change of the table that is written to, whose stream has this epoch. `open` is the item's key in the other one, where
    /// each key fixes the other.
    pub(super) fn late(
        job: &Job,
        open: Option<(SourceKey, Item)>,
        record: &ChangeRecord,
        epoch: Epoch,
    ) -> (ItemMachine, Turn) {
        let (late, turn) = Late::change(job, open, record, epoch);
        (ItemMachine::Late(Box::new(late)), turn)
    }

    /// The next turn, after the response to the previous request.
    pub(super) fn respond(&mut self, job: &Job, response: Response) -> Turn {
        match self {
            ItemMachine::InPlace(machine) => machine.respond(job, response),
            ItemMachine::Fenced(machine) => machine.respond(job, response),
            ItemMachine::Rowed(machine) => machine.respond(job, response),
            ItemMachine::Ledger(machine) => machine.respond(job, response),
            ItemMachine::Paired(machine) => machine.respond(job, response),
            ItemMachine::Late(machine) => machine.respond(job, response),
        }
    }

    /// Tries a blocked item once more. Only in a ledger can one item be in the way of another.
    pub(super) fn again(&mut self, job: &Job) -> Turn {
        match self {
            ItemMachine::Ledger(machine) => machine.again(job),
            ItemMachine::Paired(machine) => machine.again(job),
            ItemMachine::Late(machine) => machine.again(job),
            _ => Turn::Done(TaskResult::Unchanged),
        }
    }

    /// Gives a blocked item up.
    pub(super) fn park(&mut self, job: &Job) -> Turn {
        match self {
            ItemMachine::Ledger(machine) => machine.park(job),
            ItemMachine::Paired(machine) => machine.park(job),
            ItemMachine::Late(machine) => machine.park(job),
            _ => Turn::Done(TaskResult::Unchanged),
        }
    }
}

fn in_place((machine, turn): (InPlace, Turn)) -> (ItemMachine, Turn) {
    (ItemMachine::InPlace(machine), turn)
}

fn fenced((machine, turn): (Fenced, Turn)) -> (ItemMachine, Turn) {
    (ItemMachine::Fenced(machine), turn)
}

fn rowed((machine, turn): (Rowed, Turn)) -> (ItemMachine, Turn) {
    (ItemMachine::Rowed(Box::new(machine)), turn)
}

fn paired((machine, turn): (Paired, Turn)) -> (ItemMachine, Turn) {
    (ItemMachine::Paired(Box::new(machine)), turn)
}

fn ledger((machine, turn): (Move, Turn)) -> (ItemMachine, Turn) {
    (ItemMachine::Ledger(Box::new(machine)), turn)
}

/// Does each changed item have a row in the control table, in addition to its fence?
fn has_rows(job: &Job) -> bool {
    job.tracking() != Tracking::Tombstones
}
