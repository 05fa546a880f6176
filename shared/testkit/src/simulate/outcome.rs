//! The outcome of a history.

use super::fault::{Hits, WriterActions};

/// The violation of a history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Violation {
    what: String,
}

impl Violation {
    /// This.
    pub(super) fn new(what: impl Into<String>) -> Violation {
        Violation { what: what.into() }
    }
}

/// The outcome of a history.
pub struct History {
    /// The violation, if any.
    pub wrong: Option<Violation>,
    /// How often each fault was hit.
    pub hits: Hits,
    /// How often writers did what.
    pub writer_actions: WriterActions,
    /// How often writers were moved, how many late writes there were, and how many of them are noted.
    pub moves: [u64; 3],
    /// How often the weakened protocol made a difference.
    pub bites: u64,
    /// What happened, if it was asked for.
    pub trace: Vec<String>,
}
