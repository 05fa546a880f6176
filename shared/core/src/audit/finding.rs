//! The findings of a verification.

use serde::Serialize;

use super::row::Key;

/// The kind of a finding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// A stored event differs from what was written.
    #[default]
    Changed,
    /// A written event is missing.
    Removed,
    /// A stored event that the journal does not contain.
    Inserted,
    /// An event, or a row of the journal, has a time that does not fit its row or chain.
    BackDated,
    /// A folded key of an event does not match its other attributes, so queries by that key miss the event or return it
    /// wrongly.
    KeyChanged,
    /// An attribute that the digest excluded as a folded key, but the manifest has no such key: nothing proves its
    /// value.
    KeyUnknown,
    /// An item without a valid `received` that the journal does not contain: the audit writer did not write it.
    Unstamped,
    /// A row of the journal has a wrong hash.
    RowChanged,
    /// A row of the journal in an unknown version: its events are unknown.
    UnknownFormat,
    /// A row is not at its position.
    RowMoved,
    /// Rows are missing in a chain.
    RowMissing,
    /// A row does not refer to the previous row: one of them was replaced.
    ChainBroken,
    /// A chain is shorter than in its anchor, or ends with another row.
    ChainTruncated,
    /// A chain in the anchor is missing.
    ChainMissing,
    /// A chain, or rows of one, were added after the anchor of a past day.
    ChainAdded,
    /// An anchor does not refer to the previous one.
    AnchorBroken,
    /// A past day has no anchor made after its end; or there is no anchor at all.
    AnchorMissing,
    /// A file in the folder of anchors was ignored, because its name does not end in `.json`.
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

/// A problem and its place. It names events by their keys, and shows nothing else of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Finding {
    /// The kind.
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
    /// The event's wrong folded key.
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

    /// An ignored file.
    pub fn unread(file: &str) -> Finding {
        Finding { kind: FindingKind::FileUnread, file: Some(file.to_owned()), ..Finding::default() }
    }

    /// A finding about a day.
    pub fn of_day(kind: FindingKind, day: &str) -> Finding {
        Finding { kind, day: Some(day.to_owned()), ..Finding::default() }
    }

    pub(super) fn of_chain(kind: FindingKind, day: &str, chain: &str, row: Option<u64>) -> Finding {
        Finding { chain: Some(chain.to_owned()), row, ..Finding::of_day(kind, day) }
    }

    /// A chain in an anchor that the journal does not contain.
    pub fn missing_chain(day: &str, chain: &str) -> Finding {
        Finding::of_chain(FindingKind::ChainMissing, day, chain, None)
    }
}
