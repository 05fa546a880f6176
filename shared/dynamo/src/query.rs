//! Executes a query plan: sends the requests of `keyfold_core::execute`, several concurrently, and passes it the
//! responses.
//!
//! The future spawns no tasks: dropping it stops it.

use aws_sdk_dynamodb::Client;
use futures_util::stream::{FuturesUnordered, StreamExt};
use keyfold_core::execute::{Execution, Next, PageSource, Read, ReadRequest, ReadResponse};
use keyfold_core::model::Table;
use keyfold_core::query::QueryPlan;
use keyfold_core::value::Item;

use crate::backoff::pause;
use crate::error::DynamoError;
use crate::read::{batch_get, query_from, scan_from};

pub use keyfold_core::execute::{
    Answer, AnswerError, CONCURRENCY_DEFAULT, Position, REQUESTS_MAX, RunOptions, cap_overrun,
};

/// Maximum attempts for a page, in addition to the SDK's, while DynamoDB throttles or is unreachable.
pub const READ_ATTEMPTS_MAX: u32 = 5;

/// Answers a plan: the first page, or the page at `from`. The pages together are the complete answer, without
/// duplicates.
///
/// `plan` is a plan for `table`, and `from` comes from an answer to the same plan.
pub async fn run(
    client: &Client,
    table: &Table,
    plan: &QueryPlan,
    from: Option<&Position>,
    options: &RunOptions,
) -> Result<Answer, QueryError> {
    run_counting(client, table, plan, from, options, &mut 0.0).await
}

/// [`run`], with `units` set to the consumed read units, plus the maximum of the requests in flight: also after an
/// error, and if the future is dropped.
pub async fn run_counting(
    client: &Client,
    table: &Table,
    plan: &QueryPlan,
    from: Option<&Position>,
    options: &RunOptions,
    units: &mut f64,
) -> Result<Answer, QueryError> {
    let mut execution = Execution::new(table, plan, from, options)?;
    let mut under_way = None;
    loop {
        let next = execution.step();
        *units = execution.read_units_at_most();
        let mut requests = match next? {
            Next::Answer(answer) => return Ok(answer),
            Next::Send(requests) => requests,
        };
        let done = match requests.pop() {
            // Most plans read one page after another and need no queue.
            Some(request) if under_way.is_none() && requests.is_empty() => read(client, request).await,
            last => {
                let under_way = under_way.get_or_insert_with(FuturesUnordered::new);
                under_way.extend(requests.into_iter().chain(last).map(|request| read(client, request)));
                let Some(done) = under_way.next().await else {
                    unreachable!("a run that waits has sent something")
                };
                done
            }
        };
        let (access, brought) = done;
        let arrived = match brought {
            Ok(brought) => execution.arrived(access, brought).map_err(QueryError::from),
            Err(ReadFailure { error, is_free }) => {
                if is_free {
                    execution.refused(access);
                }
                Err(error.into())
            }
        };
        *units = execution.read_units_at_most();
        arrived?;
    }
}

/// Why a read failed.
struct ReadFailure {
    error: DynamoError,
    /// DynamoDB refused every call, so the read consumed nothing.
    is_free: bool,
}

async fn read(client: &Client, request: ReadRequest) -> (usize, Result<ReadResponse, ReadFailure>) {
    let brought = match request.read {
        Read::Page { source, start, items } => page(client, &source, start.as_ref(), items).await,
        // A part of the batch may have been read.
        Read::Items(batch) => match batch_get(client, &batch).await {
            Ok(got) => Ok(ReadResponse::Items(got)),
            Err(error) => Err(ReadFailure { error, is_free: false }),
        },
    };
    (request.access, brought)
}

/// Reads a page, with waits and retries while they can help.
async fn page(
    client: &Client,
    source: &PageSource,
    start: Option<&Item>,
    items: u32,
) -> Result<ReadResponse, ReadFailure> {
    let mut is_free = true;
    for calls in 1.. {
        let page = match source {
            PageSource::Query(query) => query_from(client, query, start, Some(items)).await,
            PageSource::Scan(scan) => scan_from(client, scan, start, Some(items)).await,
        };
        let error = match page {
            Ok(page) => return Ok(ReadResponse::Page { page, calls }),
            Err(error) => error,
        };
        is_free &= error.is_free();
        if !error.is_retryable() || calls >= READ_ATTEMPTS_MAX {
            return Err(ReadFailure { error, is_free });
        }
        pause(calls - 1).await;
    }
    unreachable!("the last attempt returns")
}

/// Why a plan was not answered.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// A call failed, after every attempt.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The calls succeeded, but yield no answer.
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

impl QueryError {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            QueryError::Dynamo(error) => error.code(),
            QueryError::Answer(error) => error.code(),
        }
    }

    /// A suggestion, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            QueryError::Dynamo(error) => error.hint(),
            QueryError::Answer(error) => error.hint(),
        }
    }

    /// Can the same request succeed a little later?
    pub fn is_retryable(&self) -> bool {
        matches!(self, QueryError::Dynamo(error) if error.is_retryable())
    }
}
