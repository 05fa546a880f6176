//! A retrofit at work: its mapping, and the epoch of the stream that it follows.

use std::sync::Arc;

use super::fence::Epoch;
use super::generation::Generation;
use super::mapping::Mapping;
use super::protocol_choice::Protocol;

/// Where a retrofit with fences keeps the versions of deleted items, so that a late write of one does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tracking {
    /// A tombstone of each deleted item, in the target.
    Tombstones,
    /// Tombstones, and a row in the control table for each item that changes.
    TombstonesAndRows,
    /// Rows alone: a delete leaves nothing in the target.
    Rows,
}

/// One retrofit that is run: what all work on its items has in common. `begin` has what it makes of an item.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    mapping: Mapping,
    epoch: Epoch,
    tracking: Tracking,
    generation: Option<Generation>,
    rows_decide: bool,
    /// Where keys can move and rows decide: the other direction, by which an item says which source item it is of.
    other: Option<Arc<Mapping>>,
}

impl Job {
    /// The retrofit, following the stream of this epoch.
    pub fn new(mapping: Mapping, epoch: Epoch) -> Job {
        let tracking = Tracking::Tombstones;
        Job { mapping, epoch, tracking, generation: None, rows_decide: false, other: None }
    }

    /// The same, with versions kept there.
    #[must_use]
    pub fn tracked_by(self, tracking: Tracking) -> Job {
        Job { tracking, ..self }
    }

    /// The same, whose writes ask whether this generation is over.
    #[must_use]
    pub fn sealed_by(self, generation: Option<Generation>) -> Job {
        Job { generation, ..self }
    }

    /// Which writes these are, if they can be sealed.
    pub fn generation(&self) -> Option<Generation> {
        self.generation
    }

    /// The same, where rows alone say how new something is. So it is once both tables had writers of their own: what they wrote
    /// has no fence, or an obsolete one.
    #[must_use]
    pub fn by_rows_alone(self) -> Job {
        let other = match self.mapping.protocol() {
            Protocol::Ledger if self.mapping.is_reverse() => Some(self.mapping.forward().clone()),
            Protocol::Ledger => self.mapping.reverse().ok(),
            Protocol::InPlace | Protocol::Fenced => None,
        };
        Job { rows_decide: true, other: other.map(Arc::new), ..self }
    }

    /// Where keys can move and rows decide: the other direction.
    pub(super) fn other(&self) -> Option<&Mapping> {
        self.other.as_deref()
    }

    pub(super) fn rows_decide(&self) -> bool {
        self.rows_decide
    }

    /// Where a retrofit with fences keeps versions.
    pub fn tracking(&self) -> Tracking {
        self.tracking
    }

    /// The mapping.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Which stream is followed.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }
}
