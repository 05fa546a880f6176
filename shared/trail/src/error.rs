//! Why a trail cannot be read. What is wrong with a trail that can be read is no error, but a finding.

use std::path::PathBuf;

use keyfold_core::format::UnknownFormat;
use keyfold_dynamo::DynamoError;

/// Why a trail cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TrailError {
    /// A call failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The journal does not say when it began, and no anchor does.
    #[error(
        "the journal `{journal}` does not say since when there is one\nhint: nothing was written to it, or its row was removed: give anchors, or the first day with --from"
    )]
    NoBeginning {
        /// The journal's table.
        journal: String,
    },
    /// A day that is none.
    #[error("`{day}` is no day: write it as 2026-11-23")]
    Day {
        /// What was given.
        day: String,
    },
    /// A first day after the last.
    #[error("the first day, {from}, is after the last, {to}")]
    DaysReversed {
        /// The first.
        from: String,
        /// The last.
        to: String,
    },
    /// More days than are read at once.
    #[error("from {from} to {to} are more than {max} days")]
    Days {
        /// The first.
        from: String,
        /// The last.
        to: String,
        /// The most.
        max: usize,
    },
    /// A file cannot be read or written.
    #[error("`{}` cannot be read or written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Another version of Keyfold wrote a part of the trail.
    #[error("`{place}` cannot be read: {source}\nhint: {}", source.hint())]
    Format {
        /// The journal's table, or the file of an anchor.
        place: String,
        /// Which version.
        source: UnknownFormat,
    },
    /// A file of an anchor is none.
    #[error("`{}` is no anchor", path.display())]
    Anchor {
        /// The file.
        path: PathBuf,
    },
    /// What was laid on disk cannot be written or read again.
    #[error("the temporary files cannot be used")]
    Temporary(#[from] std::io::Error),
    /// The same.
    #[error("the temporary files cannot be read again")]
    Unreadable(#[from] serde_json::Error),
}
