//! A stream poller: reads a table's stream of the embedded DynamoDB and invokes a handler with its records, as an event
//! source mapping of Lambda does.
//!
//! As in Lambda: records come in the stream's order and at least once; the handler's answer can name the record to
//! continue from (`batchItemFailures`); a failed batch is split in half until the failing record is found; records that
//! keep failing go to a file and are skipped. Unlike Lambda: there is one shard, no record is skipped for its age, and
//! retries are always bounded. <https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html>
//!
//! Start with [`StreamPoller::start`]; `batch` builds a batch's event, `delivery` chooses the next delivery, `stream`
//! is the reader.

mod batch;
mod batch_result;
mod delivery;
mod destination;
mod options;
mod progress;
mod stream;
mod work;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dynoxide::Database;
use keyfold_core::retrofit::SequenceNumber;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use options::{BATCH_RECORDS_MAX, PAYLOAD_BYTES_MAX, PollerOptions, Start};
pub use progress::{PollerCounts, PollerError};
pub use work::Handler;

use progress::{Progress, locked};
use stream::Stream;

/// How often [`StreamPoller::drained`] checks.
const DRAINED_LOOK: Duration = Duration::from_millis(20);

/// A running poller. Dropping it stops it at once, even during an invocation.
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
        // Earlier records count as processed.
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

    /// Its counts so far.
    pub fn counts(&self) -> PollerCounts {
        locked(&self.progress).counts
    }

    /// The ARN of its stream.
    pub fn stream_arn(&self) -> &str {
        self.stream.arn()
    }

    /// Waits until all records of the stream are processed. Meaningful only if no program except the handler writes to
    /// the table meanwhile.
    pub async fn drained(&self, wait_max: Duration) -> Result<(), PollerError> {
        let started = Instant::now();
        loop {
            // The end is read first: records written later need not be awaited.
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
            if started.elapsed() >= wait_max {
                let table = self.stream.table().to_owned();
                return Err(PollerError::NotDrained { table, seconds: wait_max.as_secs() });
            }
            tokio::time::sleep(DRAINED_LOOK).await;
        }
    }

    /// Stops it after the invocations in flight, and returns its counts and its position, from which another can
    /// continue: [`Start::After`].
    pub async fn stop(mut self) -> Result<(PollerCounts, Option<SequenceNumber>), PollerError> {
        self.stop.send_replace(true);
        // The task reported its panic itself.
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
