//! A change of one item, as the source's stream tells it.

use super::fence::SequenceNumber;
use crate::value::Item;

/// A record of a DynamoDB stream with both images.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeRecord {
    /// Rises with every change of the item.
    pub sequence: SequenceNumber,
    /// The item's primary key.
    pub key: Item,
    /// What happened.
    pub kind: ChangeKind,
    /// The item as it was.
    pub old: Option<Item>,
    /// The item as it is now; `None` if it is gone.
    pub new: Option<Item>,
}

/// What happened to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Insert,
    /// It has changed.
    Modify,
    /// It is gone.
    Remove {
        /// Because its time to live was over.
        expired: bool,
    },
}
