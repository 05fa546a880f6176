//! What a verification found.

use serde::Serialize;

use super::row::Key;

/// What is wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// An event is there, but not as it was written.
    #[default]
    Changed,
    /// An event that was written is not there.
    Removed,
    /// An event is there that the journal does not know.
    Inserted,
    /// An event, or a row of the journal, has a time that does not fit the row or the chain that names it.
    BackDated,
    /// A folded key of an event is not what its other attributes make: the event is not found where it belongs, or is found elsewhere.
    KeyChanged,
    /// An event has an attribute that digests left out as a folded key, and the manifest has no such key: nothing proves its value.
    KeyUnknown,
    /// An item without a readable `received`, which the journal does not know: the audit writer has not written it.
    Unstamped,
    /// A row of the journal does not have the hash that it should have.
    RowChanged,
    /// A row of the journal was written by another version of Keyfold: its events are not known.
    UnknownFormat,
    /// A row is not where it was written.
    RowMoved,
    /// Rows are missing in a chain.
    RowMissing,
    /// A row does not follow the one before it: one of them was replaced.
    ChainBroken,
    /// A chain is shorter than its anchor says, or ends otherwise.
    ChainTruncated,
    /// A chain that the anchor has is not there.
    ChainMissing,
    /// A chain, or rows of one, came after the anchor of a day that was over.
    ChainAdded,
    /// An anchor does not follow the one before it.
    AnchorBroken,
    /// A day that is over has no anchor that was made after its end; or there is no anchor at all.
    AnchorMissing,
    /// A file in the folder of the anchors was not read: its name does not end in `.json`.
    FileUnread,
}

impl FindingKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Changed => "changed",
            FindingKind::Removed => "removed",
            FindingKind::Inserted => "inserted",
            FindingKind::BackDated => "back-dated",
            FindingKind::KeyChanged => "key-changed",
            FindingKind::KeyUnknown => "key-unknown",
            FindingKind::Unstamped => "unstamped",
            FindingKind::RowChanged => "row-changed",
            FindingKind::UnknownFormat => "unknown-format",
            FindingKind::RowMoved => "row-moved",
            FindingKind::RowMissing => "row-missing",
            FindingKind::ChainBroken => "chain-broken",
            FindingKind::ChainTruncated => "chain-truncated",
            FindingKind::ChainMissing => "chain-missing",
            FindingKind::ChainAdded => "chain-added",
            FindingKind::AnchorBroken => "anchor-broken",
            FindingKind::AnchorMissing => "anchor-missing",
            FindingKind::FileUnread => "file-unread",
        }
    }
}

/// Something that is wrong, and where. It names events by their keys, and never shows what else they hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The event's natural key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// The day of the chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// The chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// The row in the chain; the first of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// The event's folded key that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// The name of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl Finding {
    pub(super) fn of_event(kind: FindingKind, key: &Key) -> Finding {
        Finding { kind, key: Some(key.clone()), ..Finding::default() }
    }

    /// A folded key of an event is wrong.
    pub fn of_key(kind: FindingKind, key: &Key, attribute: &str) -> Finding {
        Finding { attribute: Some(attribute.to_owned()), ..Finding::of_event(kind, key) }
    }

    /// A file that was not read.
    pub fn unread(file: &str) -> Finding {
        Finding { kind: FindingKind::FileUnread, file: Some(file.to_owned()), ..Finding::default() }
    }

    /// Something is wrong with what there is of a day.
    pub fn of_day(kind: FindingKind, day: &str) -> Finding {
        Finding { kind, day: Some(day.to_owned()), ..Finding::default() }
    }

    pub(super) fn of_chain(kind: FindingKind, day: &str, chain: &str, row: Option<u64>) -> Finding {
        Finding { chain: Some(chain.to_owned()), row, ..Finding::of_day(kind, day) }
    }

    /// A chain that an anchor has and the journal has not.
    pub fn missing_chain(day: &str, chain: &str) -> Finding {
        Finding::of_chain(FindingKind::ChainMissing, day, chain, None)
    }
}
