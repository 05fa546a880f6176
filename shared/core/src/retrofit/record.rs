//! A change of one item from the source's stream, or the readable part of a damaged record.

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

/// A record that cannot be read: what could be had of it all the same.
#[derive(Debug, Clone, PartialEq)]
pub struct UnreadableRecord {
    /// Its sequence number.
    pub sequence: Option<SequenceNumber>,
    /// The item's primary key.
    pub key: Option<Item>,
    /// A name for it where neither is known: the same one each time the record is delivered.
    pub name: String,
}

/// A record of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    /// A change.
    Change(ChangeRecord),
    /// A record that cannot be read. It goes into quarantine.
    Unreadable(UnreadableRecord),
}

impl Received {
    /// Its sequence number, if it is known.
    pub fn sequence(&self) -> Option<&SequenceNumber> {
        match self {
            Received::Change(record) => Some(&record.sequence),
            Received::Unreadable(record) => record.sequence.as_ref(),
        }
    }
}

impl Received {
    /// Is its key unknown? Then some item may be stale, and it is unknown which: comparisons that started before it
    /// came say nothing.
    pub fn names_no_item(&self) -> bool {
        matches!(self, Received::Unreadable(UnreadableRecord { key: None, .. }))
    }
}

impl From<ChangeRecord> for Received {
    fn from(record: ChangeRecord) -> Received {
        Received::Change(record)
    }
}
