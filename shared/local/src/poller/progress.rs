//! The progress of a poller, and its errors.

use std::sync::{Mutex, MutexGuard, PoisonError};

use keyfold_core::retrofit::SequenceNumber;

/// Why a poller ended or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum PollerError {
    /// The table has no enabled stream.
    #[error("table `{table}` has no stream")]
    NoStream { table: String },
    /// The stream cannot be read.
    #[error("the stream of table `{table}` cannot be read: {reason}")]
    Unreadable { table: String, reason: String },
    /// Failed records could not be written to the file, so they are not skipped.
    #[error("cannot write to `{path}`: {reason}")]
    Destination { path: String, reason: String },
    /// Unprocessed records remain.
    #[error("the stream of table `{table}` was not drained in {seconds} s")]
    NotDrained { table: String, seconds: u64 },
}

/// The counts of a poller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PollerCounts {
    /// Processed and skipped records.
    pub records: u64,
    /// Invocations of the handler.
    pub invocations: u64,
    /// Invocations that failed as a whole.
    pub failed: u64,
    /// Invocations that named a record to continue from.
    pub partly: u64,
    /// Records that went to the file.
    pub given_up: u64,
}

/// The progress of a poller.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) counts: PollerCounts,
    /// The last record up to which all are processed.
    pub(super) position: Option<SequenceNumber>,
    pub(super) error: Option<PollerError>,
}

pub(super) fn locked(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}
