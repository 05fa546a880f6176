//! A stream poller: reads a table's stream of the embedded DynamoDB and invokes a handler with its records, as an event source
//! mapping of Lambda does.
//!
//! As in Lambda: records come in the stream's order and at least once; the handler's answer can name the record to go on from
//! (`batchItemFailures`); a batch that fails is halved until the record is found that fails; what fails to the last goes to a
//! file and is passed over. Otherwise than in Lambda: there is one shard, nothing is passed over for its age, and retries are
//! always bounded. <https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html>
//!
//! Start with [`StreamPoller::start`]; `batch` is a batch's text, `delivery` what is delivered next, `stream` the reader.

mod batch;
mod batch_result;
mod delivery;
mod destination;
mod options;
mod stream;
mod work;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dynoxide::Database;
use keyfold_core::retrofit::SequenceNumber;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use options::{BATCH_RECORDS_MAX, PAYLOAD_BYTES_MAX, PollerOptions, Start};
use stream::Stream;

use crate::runtime_api::InvocationResult;

/// How often [`StreamPoller::drained`] looks.
const DRAINED_LOOK: Duration = Duration::from_millis(20);

/// What takes a batch's event and says what became of it: a closure in this process, or a
/// [`LocalFunction`](crate::LocalFunction).
pub trait Handler: Send + Sync + 'static {
    /// Takes one event.
    fn invoke(&self, event: String) -> impl Future<Output = InvocationResult> + Send;
}

impl<F, R> Handler for F
where
    F: Fn(String) -> R + Send + Sync + 'static,
    R: Future<Output = InvocationResult> + Send,
{
    fn invoke(&self, event: String) -> impl Future<Output = InvocationResult> + Send {
        self(event)
    }
}

impl Handler for crate::LocalFunction {
    fn invoke(&self, event: String) -> impl Future<Output = InvocationResult> + Send {
        crate::LocalFunction::invoke(self, event)
    }
}

/// Why a poller ended, or did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PollerError {
    /// The table has no stream, or it is off.
    #[error("table `{table}` has no stream")]
    NoStream {
        /// The table.
        table: String,
    },
    /// The stream cannot be read.
    #[error("the stream of table `{table}` cannot be read: {reason}")]
    Unreadable {
        /// The table.
        table: String,
        /// What the database says.
        reason: String,
    },
    /// What the handler would not take could not be written down: nothing is passed over then.
    #[error("cannot write to `{path}`: {reason}")]
    Destination {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
    },
    /// There are records left.
    #[error("the stream of table `{table}` was not drained in {seconds} s")]
    NotDrained {
        /// The table.
        table: String,
        /// How long it was waited for.
        seconds: u64,
    },
}

/// What a poller did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PollerCounts {
    /// Records that are dealt with, in whatever way.
    pub records: u64,
    /// Times that the handler was invoked.
    pub invocations: u64,
    /// Invocations that failed as a whole.
    pub failed: u64,
    /// Invocations that named a record to go on from.
    pub partly: u64,
    /// Records that went to the file.
    pub given_up: u64,
}

/// How far a poller is.
#[derive(Debug, Default)]
struct Progress {
    counts: PollerCounts,
    /// The last record that is dealt with, and all before it.
    position: Option<SequenceNumber>,
    error: Option<PollerError>,
}

/// A running poller. It stops when it is dropped: at once, in the middle of an invocation.
#[derive(Debug)]
pub struct StreamPoller {
    stream: Arc<Stream>,
    progress: Arc<Mutex<Progress>>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl StreamPoller {
    /// Feeds a handler with this table's stream, until it is stopped.
    pub async fn start<H: Handler>(
        database: &Database,
        table: &str,
        handler: Arc<H>,
        options: PollerOptions,
    ) -> Result<StreamPoller, PollerError> {
        let stream = Arc::new(Stream::open(database.clone(), table.to_owned()).await?);
        let reader = stream.reader(&options.start).await?;
        // What was there before counts as dealt with.
        let position = match &options.start {
            Start::Oldest => None,
            Start::Latest => stream.end().await?,
            Start::After(sequence) => Some(sequence.clone()),
        };
        let progress = Arc::new(Mutex::new(Progress { position, ..Progress::default() }));
        let (stop, stopped) = watch::channel(false);
        let work = work::Work {
            handler,
            options,
            progress: Arc::clone(&progress),
            stopped,
            stream: Arc::clone(&stream),
        };
        let task = tokio::spawn(work.run(reader));
        Ok(StreamPoller { stream, progress, stop, task })
    }

    /// What it did so far.
    pub fn counts(&self) -> PollerCounts {
        locked(&self.progress).counts
    }

    /// The ARN of its stream.
    pub fn stream_arn(&self) -> &str {
        self.stream.arn()
    }

    /// Waits until every record is dealt with that the stream has. Says something only if nobody writes to the table
    /// meanwhile, except for the handler itself.
    pub async fn drained(&self, wait_max: Duration) -> Result<(), PollerError> {
        let begun = Instant::now();
        loop {
            // The end first: a record that comes later is not missed then, it was not there.
            let end = self.stream.end().await?;
            {
                let progress = locked(&self.progress);
                if let Some(error) = &progress.error {
                    return Err(error.clone());
                }
                if end <= progress.position {
                    return Ok(());
                }
            }
            if begun.elapsed() >= wait_max {
                let table = self.stream.table().to_owned();
                return Err(PollerError::NotDrained { table, seconds: wait_max.as_secs() });
            }
            tokio::time::sleep(DRAINED_LOOK).await;
        }
    }

    /// Stops it after the invocations that are under way, and says what it did. Where it stopped, another can go on:
    /// [`Start::After`].
    pub async fn stop(mut self) -> Result<(PollerCounts, Option<SequenceNumber>), PollerError> {
        self.stop.send_replace(true);
        // A panic over there was reported there.
        let _ = (&mut self.task).await;
        let progress = locked(&self.progress);
        match &progress.error {
            Some(error) => Err(error.clone()),
            None => Ok((progress.counts, progress.position.clone())),
        }
    }
}

impl Drop for StreamPoller {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn locked(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}
