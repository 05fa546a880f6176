//! Sends a task's requests, and gives it their outcomes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_sdk_dynamodb::Client;
use futures_util::future::BoxFuture;
use keyfold_core::model::Table;
use keyfold_core::retrofit::control::{self, ControlError};
use keyfold_core::retrofit::operate::{Failure, FailureKind};
use keyfold_core::retrofit::stop::PolicyError;
use keyfold_core::retrofit::{
    CheckpointError, ItemSeen, ItemTask, Job, Request, Response, TableRole, TaskResult, TaskStep, Write,
};
use keyfold_core::value::Item;

use super::clock::now_ms;
use super::pace::Pace;
use crate::BatchGet;
use crate::backoff::{BACKOFF_ATTEMPTS_MAX, pause};
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError};
use crate::guarded::{self, ResponseOptions};
use crate::read::batch_get_watched;

/// Why a part of a retrofit ended early. Earlier writes stay, and can be repeated.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum RetrofitError {
    /// A call failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The control table says no.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The checkpoint does not belong here.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Another process changed the retrofit's row meanwhile.
    #[error("retrofit `{retrofit}` was changed by another process at the same time")]
    Raced { retrofit: String },
    /// The retrofit is in another phase than when the work was started: its writes are written in another way now.
    #[error("retrofit `{retrofit}` was moved to another phase since this work was started")]
    PhaseChanged { retrofit: String },
    /// An item could not be dealt with for now.
    #[error("an item of table `{table}` could not be carried over (`{verdict}`)")]
    NotDone { table: String, verdict: &'static str },
    /// The source has no stream, or it is off.
    #[error("table `{table}` has no stream")]
    NoStream { table: String },
    /// The source's stream does not carry both images.
    #[error("the stream of table `{table}` has view type `{view}`")]
    StreamViewType { table: String, view: String },
    /// The target is not what the manifest says.
    #[error("table `{table}` differs from the manifest: {differences}")]
    WrongTable { table: String, differences: String },
    /// Another worker has the segment.
    #[error("segment {segment} of retrofit `{retrofit}` is leased by another worker")]
    LeaseTaken { retrofit: String, segment: String },
    /// Another worker has taken the segment over.
    #[error("segment {segment} of retrofit `{retrofit}` was taken over by another worker")]
    LeaseLost { retrofit: String, segment: String },
    /// Not one page was done in the time there was.
    #[error("time ran out before a page was finished")]
    OutOfTime,
    /// The table's policy cannot say that its writers are stopped.
    #[error("a policy cannot stop the writers of table `{table}`: {source}")]
    Policy { table: String, source: PolicyError },
    /// A table's write was refused for a reason that no condition explains.
    #[error("a write to table `{table}` was refused (`{code}`)")]
    Refused { table: String, code: String },
}

/// As an operation knows it.
impl From<RetrofitError> for Failure {
    fn from(error: RetrofitError) -> Failure {
        let kind = match &error {
            RetrofitError::Dynamo(error) if error.is_retryable() => FailureKind::Passing,
            RetrofitError::Dynamo(DynamoError::Denied { .. }) => FailureKind::Denied,
            RetrofitError::Dynamo(DynamoError::NotFound { .. }) => FailureKind::Gone,
            RetrofitError::NotDone { .. } | RetrofitError::PhaseChanged { .. } => FailureKind::Passing,
            _ => FailureKind::Other,
        };
        let mut message = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            message += &format!(": {error}");
            cause = error.source();
        }
        Failure { kind, code: error.code().to_owned(), message, hint: error.hint().map(str::to_owned) }
    }
}

impl RetrofitError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            RetrofitError::Dynamo(error) => error.code(),
            RetrofitError::Control(error) => error.code(),
            RetrofitError::Checkpoint(error) => error.code(),
            RetrofitError::Raced { .. } => "retrofit-raced",
            RetrofitError::PhaseChanged { .. } => "phase-changed",
            RetrofitError::NotDone { .. } => "item-not-settled",
            RetrofitError::Refused { .. } => "write-refused",
            RetrofitError::LeaseTaken { .. } => "segment-leased",
            RetrofitError::LeaseLost { .. } => "lease-lost",
            RetrofitError::OutOfTime => "out-of-time",
            RetrofitError::Policy { .. } => "policy-unusable",
            RetrofitError::NoStream { .. } => "source-without-stream",
            RetrofitError::StreamViewType { .. } => "stream-view-type",
            RetrofitError::WrongTable { .. } => "table-differs",
        }
    }

    /// A hint for the reader.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            RetrofitError::Dynamo(error) => error.hint(),
            RetrofitError::Control(error) => error.hint(),
            RetrofitError::Raced { .. }
            | RetrofitError::PhaseChanged { .. }
            | RetrofitError::NotDone { .. } => Some("run the command again"),
            RetrofitError::LeaseTaken { .. } | RetrofitError::LeaseLost { .. } => {
                Some("wait: a lease that is not renewed expires after half a minute")
            }
            RetrofitError::Policy { .. } => {
                Some("shorten or correct the policy, or stop the writers yourself: `--writers attested`")
            }
            RetrofitError::OutOfTime => Some("give the function more time, or a higher rate"),
            RetrofitError::NoStream { .. } => Some(
                "say --enable-stream to switch it on; in place, if every writer folds keys itself, say --no-stream instead",
            ),
            RetrofitError::StreamViewType { .. } => Some(
                "a stream's view type cannot be changed: disable the stream, then enable it with NEW_AND_OLD_IMAGES",
            ),
            RetrofitError::Checkpoint(error) => Some(error.hint()),
            RetrofitError::Refused { .. } | RetrofitError::WrongTable { .. } => None,
        }
    }
}

/// The consumed units, and the number of repeated requests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConsumedTotals {
    /// Read units.
    pub read: Consumed,
    /// Write units of items.
    pub write: Consumed,
    /// Write units of the control table: checkpoints, ledger, quarantine.
    pub control: Consumed,
    /// Requests that were throttled, met another write or got no answer, each time counted.
    pub resent: u64,
    /// Those of them that were throttled.
    pub throttles: u64,
}

impl ConsumedTotals {
    /// Units of all kinds.
    pub fn units(&self) -> f64 {
        self.read.units + self.write.units + self.control.units
    }

    /// Adds what another sender has consumed.
    pub fn add(&mut self, other: &ConsumedTotals) {
        self.read.add(&other.read);
        self.write.add(&other.write);
        self.control.add(&other.control);
        self.resent += other.resent;
        self.throttles += other.throttles;
    }
}

/// The three tables of a retrofit, and a client for them.
#[derive(Debug)]
pub struct RequestSender {
    client: Client,
    job: Job,
    pub(super) control: Table,
    pub(super) pace: Option<Pace>,
    attempts_max: u32,
    /// When the retrofit's row said last that items are written as the job says, in milliseconds since 1970.
    known_ms: tokio::sync::Mutex<u64>,
    spent: Mutex<ConsumedTotals>,
}

impl RequestSender {
    /// Carries out this job, with the control table of this name.
    pub fn new(client: Client, job: Job, control_table: &str) -> RequestSender {
        RequestSender {
            client,
            job,
            control: control::table(control_table),
            pace: None,
            attempts_max: BACKOFF_ATTEMPTS_MAX,
            known_ms: tokio::sync::Mutex::new(now_ms()),
            spent: Mutex::default(),
        }
    }

    /// The same at a rate: it begins at `most` capacity units in a second, reads and writes together, and never exceeds
    /// them; without `most` it finds its own. It yields to throttling, and recovers slowly.
    #[must_use]
    pub fn paced(self, most: Option<f64>) -> RequestSender {
        RequestSender { pace: Some(Pace::new(most)), ..self }
    }

    /// The same, giving up a request after this number of attempts.
    #[must_use]
    pub(super) fn trying(self, attempts_max: u32) -> RequestSender {
        RequestSender { attempts_max, ..self }
    }

    /// The same for a job whose row was read some time ago: it is read again before the first write.
    #[must_use]
    pub(super) fn of_former_row(self) -> RequestSender {
        RequestSender { known_ms: tokio::sync::Mutex::default(), ..self }
    }

    /// The job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The units consumed so far.
    pub fn spent(&self) -> ConsumedTotals {
        self.spending().clone()
    }

    pub(super) fn spending(&self) -> MutexGuard<'_, ConsumedTotals> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table at this place.
    pub fn table(&self, role: TableRole) -> &Table {
        match role {
            TableRole::Source => self.job.mapping().source(),
            TableRole::Target => self.job.mapping().target(),
            TableRole::Control => &self.control,
        }
    }

    /// Carries one task out to its end. Every request is conditional, so one whose answer was lost is sent again.
    pub async fn carry(&self, task: &mut ItemTask) -> Result<TaskResult, DynamoError> {
        let step = task.start(&self.job);
        self.resume(task, step).await
    }

    /// Carries a task on from a step that it asked for.
    pub(super) async fn resume(
        &self,
        task: &mut ItemTask,
        mut step: TaskStep,
    ) -> Result<TaskResult, DynamoError> {
        loop {
            match step {
                TaskStep::Done(verdict) => return Ok(verdict),
                TaskStep::Send(request) => step = task.respond(&self.job, self.send(&request).await?),
            }
        }
    }

    /// Sends a request until it is answered, or the attempts are used up.
    pub async fn send(&self, request: &Request) -> Result<Response, DynamoError> {
        let mut attempt = 0;
        loop {
            if request.writes_items() && self.is_outdated().await? {
                return Ok(Response::Outdated);
            }
            let error = match self.send_once(request).await {
                Ok(outcome) => return Ok(outcome),
                // A batch of reads has its own attempts.
                Err(error) if !request.writes() => return Err(error),
                Err(error) => error,
            };
            match error {
                // Whatever is there, DynamoDB will not take this write: the item's task knows what to do.
                DynamoError::Invalid { .. } | DynamoError::CollectionFull { .. } => {
                    return Ok(Response::Rejected(error.code().to_owned()));
                }
                error => self.wait_after(error, &mut attempt).await?,
            }
        }
    }

    /// Are items written in another way than this sender's by now? The row is read again once what is known of it is too old.
    pub(super) async fn is_outdated(&self) -> Result<bool, DynamoError> {
        let mut known_ms = self.known_ms.lock().await;
        let now_ms = now_ms();
        if now_ms.saturating_sub(*known_ms) <= control::STATE_CACHE_MS_MAX {
            return Ok(false);
        }
        match self.check_tracking().await {
            Ok(()) => *known_ms = now_ms,
            Err(RetrofitError::Dynamo(error)) => return Err(error),
            Err(_) => return Ok(true),
        }
        Ok(false)
    }

    /// Calls until there is an answer, or an error that does not pass, or the attempts are used up.
    ///
    /// The calls are boxed: with an async closure the compiler cannot tell that a task of this may go to another thread.
    pub(super) async fn with_retries<'c, T>(
        &self,
        call: impl Fn() -> BoxFuture<'c, Result<T, DynamoError>>,
    ) -> Result<T, DynamoError> {
        let mut attempt = 0;
        loop {
            match call().await {
                Ok(answer) => return Ok(answer),
                Err(error) => self.wait_after(error, &mut attempt).await?,
            }
        }
    }

    /// Waits before the next attempt; the error itself, if it does not pass or was the last one.
    async fn wait_after(&self, error: DynamoError, attempt: &mut u32) -> Result<(), DynamoError> {
        if !error.is_retryable() {
            return Err(error);
        }
        self.failed(&error);
        *attempt += 1;
        if *attempt >= self.attempts_max {
            return Err(error);
        }
        pause(*attempt - 1).await;
        Ok(())
    }

    async fn send_once(&self, request: &Request) -> Result<Response, DynamoError> {
        match request {
            Request::Get { role, key } => {
                let got = self.read(*role, vec![key.clone()]).await?;
                Ok(Response::Item(got.into_iter().next()))
            }
            Request::Write(write) => self.write(write).await,
            Request::Transact(writes) => self.transact(writes).await,
        }
    }

    /// Sends one write; what a refused one met comes with the refusal.
    async fn write(&self, write: &Write) -> Result<Response, DynamoError> {
        let table = self.table(write.role);
        let tell = ResponseOptions { refused_by: true, ..ResponseOptions::default() };
        match guarded::send(self.client(), table, &write.action, Some(&write.guard), tell).await {
            Ok(sent) => {
                self.wrote(&table.name, &sent.consumed);
                Ok(Response::Written)
            }
            Err(DynamoError::ConditionFailed { item, .. }) => {
                let seen = item.into_revealed().map_or(ItemSeen::Nothing, ItemSeen::Item);
                Ok(Response::Refused(seen))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads items by their keys, strongly consistent.
    pub(super) async fn read(&self, role: TableRole, keys: Vec<Item>) -> Result<Vec<Item>, DynamoError> {
        let table = self.table(role).name.clone();
        let batch = BatchGet { table, keys, consistent: true, ..BatchGet::default() };
        let got = batch_get_watched(&self.client, &batch, &|error| self.failed(error)).await?;
        self.has_read(&got.consumed);
        if role == TableRole::Control {
            self.check_format("BatchGetItem", &got.items)?;
        }
        Ok(got.items)
    }

    /// Refuses rows of the control table that another version of Keyfold wrote.
    pub(super) fn check_format(&self, operation: &'static str, rows: &[Item]) -> Result<(), DynamoError> {
        rows.iter().try_for_each(control::check_format).map_err(|source| DynamoError::UnknownFormat {
            call: Call::new(operation, &self.control.name),
            source,
        })
    }
}
