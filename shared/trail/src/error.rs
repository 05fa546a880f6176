//! Why a trail cannot be read. Problems within a readable trail are findings, not errors.

use std::path::PathBuf;

use keyfold_core::format::UnknownFormat;
use keyfold_dynamo::DynamoError;

/// Why a trail cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum TrailError {
    /// A call failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// Neither the journal nor an anchor contains the time when the journal began.
    #[error(
        "the journal `{journal}` does not say when it began\nhint: nothing was written to it, or its row was removed: give anchors, or the first day with --from"
    )]
    NoBeginning { journal: String },
    /// An invalid day.
    #[error("`{day}` is not a date: write it as 2026-11-23")]
    Day { day: String },
    /// A first day after the last.
    #[error("the first day, {from}, is after the last, {to}")]
    DaysReversed { from: String, to: String },
    /// More days than the limit.
    #[error("from {from} to {to} are more than {max} days")]
    Days { from: String, to: String, max: usize },
    /// A file cannot be read or written.
    #[error("`{}` cannot be read or written", path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// Another version of Keyfold wrote a part of the trail.
    #[error("`{place}` cannot be read: {source}\nhint: {}", source.hint())]
    Format { place: String, source: UnknownFormat },
    /// An invalid anchor file.
    #[error("`{}` is not an anchor", path.display())]
    Anchor { path: PathBuf },
    /// A temporary file cannot be written or read.
    #[error("the temporary files cannot be used")]
    Temporary(#[from] std::io::Error),
    /// A line of a temporary file cannot be parsed.
    #[error("the temporary files cannot be read again")]
    Unreadable(#[from] serde_json::Error),
}
