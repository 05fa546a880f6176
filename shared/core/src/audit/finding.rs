//! What a verification found.

use serde::Serialize;

use super::row::Key;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// An event is there, but not as it was written.
    Changed,
    /// An event that was written is not there.
    Removed,
    /// An event is there that the journal does not know.
    Inserted,
    /// An event, or a row of the journal, has a time that does not fit the row or the chain that names it.
    BackDated,
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
}

impl FindingKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Changed => "changed",
            FindingKind::Removed => "removed",
            FindingKind::Inserted => "inserted",
            FindingKind::BackDated => "back-dated",
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
        }
    }
}

/// Something that is wrong, and where. It names events by their keys, and never shows what else they hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
}

impl Finding {
    pub(super) fn of_event(kind: FindingKind, key: &Key) -> Finding {
        Finding { kind, key: Some(key.clone()), day: None, chain: None, row: None }
    }

    pub(super) fn of_day(kind: FindingKind, day: &str) -> Finding {
        Finding { kind, key: None, day: Some(day.to_owned()), chain: None, row: None }
    }

    pub(super) fn of_chain(kind: FindingKind, day: &str, chain: &str, row: Option<u64>) -> Finding {
        Finding { chain: Some(chain.to_owned()), row, ..Finding::of_day(kind, day) }
    }

    /// A chain that an anchor has and the journal has not.
    pub fn missing_chain(day: &str, chain: &str) -> Finding {
        Finding::of_chain(FindingKind::ChainMissing, day, chain, None)
    }
}
