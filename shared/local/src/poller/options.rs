//! The settings of a poller, as of an event source mapping.

use std::path::PathBuf;
use std::time::Duration;

use keyfold_core::retrofit::SequenceNumber;

/// Maximum records of a batch here: one read of the stream.
pub const BATCH_RECORDS_MAX: usize = 1000;
/// Maximum bytes of an event; a batch is closed before it exceeds them.
pub const PAYLOAD_BYTES_MAX: usize = 6 * 1024 * 1024;
/// Maximum parts of a shard processed concurrently.
pub(super) const PARALLEL_MAX: usize = 10;

/// Maximum pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The number of doublings after which the pause stays constant.
const DOUBLINGS_MAX: u32 = 10;

/// The start position.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Start {
    /// The oldest record: `TRIM_HORIZON`.
    #[default]
    Oldest,
    /// The next record to be written: `LATEST`.
    Latest,
    /// After this record.
    After(SequenceNumber),
}

/// The settings of a poller.
#[derive(Debug, Clone)]
pub struct PollerOptions {
    /// The start position.
    pub start: Start,
    /// Maximum records of a batch, up to [`BATCH_RECORDS_MAX`].
    pub batch_records: usize,
    /// Batches in flight, up to 10: the `ParallelizationFactor`. Records of one item stay in order.
    pub parallel: usize,
    /// Maximum redeliveries before a batch is skipped: the `MaximumRetryAttempts`.
    pub retries_max: u32,
    /// Is a failed batch split in half? `BisectBatchOnFunctionError`.
    pub bisect: bool,
    /// Is the answer read? `ReportBatchItemFailures`.
    pub partial: bool,
    /// The pause before the first retry; it doubles up to 5 s.
    pub retry_pause: Duration,
    /// The pause after an empty read.
    pub poll: Duration,
    /// The file for skipped records, as JSON lines. Without one they are only counted.
    pub on_failure: Option<PathBuf>,
}

impl Default for PollerOptions {
    fn default() -> PollerOptions {
        PollerOptions {
            start: Start::Oldest,
            batch_records: 100,
            parallel: 1,
            retries_max: 10,
            bisect: true,
            partial: true,
            retry_pause: Duration::from_millis(100),
            poll: Duration::from_millis(20),
            on_failure: None,
        }
    }
}

impl PollerOptions {
    pub(super) fn batch_records(&self) -> usize {
        self.batch_records.clamp(1, BATCH_RECORDS_MAX)
    }

    pub(super) fn parallel(&self) -> usize {
        self.parallel.clamp(1, PARALLEL_MAX)
    }

    /// The pause before this retry, counted from 1.
    pub(super) fn pause(&self, retry: u32) -> Duration {
        let doublings = retry.saturating_sub(1).min(DOUBLINGS_MAX);
        self.retry_pause.saturating_mul(1 << doublings).min(PAUSE_MAX)
    }
}
