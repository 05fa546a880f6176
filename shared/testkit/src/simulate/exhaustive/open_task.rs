//! A task of the core that is under way, and whose it is.

use keyfold_core::retrofit::{ItemTask, Request, TableRole};

use super::super::work::TaskOrigin;

/// A blocked task is tried again so often before it is parked.
pub(super) const BLOCKED_MAX: u8 = 2;

/// Whose task it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// A batch of a key's shard.
    Record { key: usize, count: usize },
    /// A record that came once more.
    Duplicate { key: usize },
    /// The backfill's.
    Scan { key: usize },
    /// A note that this record was given up.
    Note { key: usize, record: usize },
}

impl Role {
    /// The source key that it is of.
    pub(super) fn key(self) -> usize {
        match self {
            Role::Record { key, .. }
            | Role::Duplicate { key }
            | Role::Scan { key }
            | Role::Note { key, .. } => key,
        }
    }

    /// The simulator's name of such a task.
    pub(super) fn kind(self) -> TaskOrigin {
        match self {
            Role::Record { .. } | Role::Duplicate { .. } => TaskOrigin::Record,
            Role::Scan { .. } => TaskOrigin::Scan,
            Role::Note { .. } => TaskOrigin::Discard,
        }
    }
}

/// A task under way.
#[derive(Clone)]
pub(super) struct OpenTask {
    pub(super) role: Role,
    pub(super) task: ItemTask,
    /// `None`: it is blocked.
    pub(super) request: Option<Request>,
    pub(super) blocked: u8,
    /// The rows that its request touches.
    pub(super) touches: Vec<usize>,
    /// Of what it began with.
    pub(super) began: u64,
    /// Of that and of every response since its last restart: together they decide what it does next.
    pub(super) hash: u64,
}

impl OpenTask {
    /// Does it read its row of the ledger? Then no earlier response matters to it. How often it may still restart
    /// is left out: here is not enough to disturb it that often, and a task that must not restart is delivered again.
    pub(super) fn begins_anew(&self) -> bool {
        matches!(self.request, Some(Request::Get { role: TableRole::Control, .. }))
            && self.blocked <= BLOCKED_MAX
    }

    /// Is what it sends next a read?
    pub(super) fn reads(&self) -> bool {
        matches!(self.request, Some(Request::Get { .. }))
    }
}
