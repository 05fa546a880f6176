//! A retrofit at work: its mapping, and the epoch of the stream that it follows.

use super::fence::Epoch;
use super::mapping::{Mapping, MappingHash};

/// What a retrofit with fences keeps, so that a late write of an item does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kept {
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
    /// The digest that checkpoints of the same mapping may hold too: that of the first release.
    former: Option<MappingHash>,
    kept: Kept,
}

impl Job {
    /// The retrofit, following the stream of this epoch.
    pub fn new(mapping: Mapping, epoch: Epoch) -> Job {
        Job { mapping, epoch, former: None, kept: Kept::Tombstones }
    }

    /// The same of a retrofit that was started under this digest.
    pub(super) fn started(mapping: Mapping, epoch: Epoch, hash: &MappingHash) -> Job {
        let former = hash.is_of_first_release().then(|| hash.clone());
        Job { mapping, epoch, former, kept: Kept::Tombstones }
    }

    /// The same, where this is kept.
    #[must_use]
    pub fn keeping(self, kept: Kept) -> Job {
        Job { kept, ..self }
    }

    /// What is kept, by a retrofit with fences.
    pub fn kept(&self) -> Kept {
        self.kept
    }

    /// Is this the digest of the job's mapping, in one form or the other?
    pub(super) fn is_of(&self, hash: &str) -> bool {
        self.mapping.hash().as_str() == hash
            || self.former.as_ref().is_some_and(|former| former.as_str() == hash)
    }

    /// What is mapped to what.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Which stream is followed.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }
}
