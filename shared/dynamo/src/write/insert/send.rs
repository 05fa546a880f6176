//! The requests themselves: one attempt each, none beyond the deadline.

use std::sync::Arc;
use std::time::Instant;

use aws_sdk_dynamodb::Client;
use keyfold_core::model::Table;

use super::batches::Batch;
use super::batches::NewItem;
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError};
use crate::guarded::{StatementResult, execute, insert};
use crate::read::{BatchGet, BatchItems, batch_get};
use crate::write::collection::Collection;
use crate::write::put::put_new_measured;

/// Sends one request, and returns the result for each item.
pub(super) async fn send_batch(
    client: &Client,
    table: &Table,
    batch: Batch<'_>,
    deadline: Option<Instant>,
) -> InsertAnswer {
    match batch {
        Batch::Put(job) => send_put(client, table, job, deadline).await,
        Batch::Insert(jobs) => send_inserts(client, table, &jobs, deadline).await,
    }
}

async fn send_put(client: &Client, table: &Table, job: &NewItem, deadline: Option<Instant>) -> InsertAnswer {
    let call = Call::new("PutItem", &table.name);
    let put = put_new_measured(client, table, job.item.clone());
    let mut answer = InsertAnswer { requests: 1, ..InsertAnswer::default() };
    let result = match by(deadline, call, put).await {
        Ok((consumed, collection)) => {
            answer.consumed = consumed;
            answer.collection = collection;
            StatementResult::Written
        }
        Err(DynamoError::ConditionFailed { .. }) => StatementResult::Refused,
        Err(error) => StatementResult::Failed(Arc::new(error)),
    };
    answer.results.push((job.at, result));
    answer
}

async fn send_inserts(
    client: &Client,
    table: &Table,
    jobs: &[&NewItem],
    deadline: Option<Instant>,
) -> InsertAnswer {
    let mut answer = send_statements(client, table, jobs, deadline).await;
    let refused = |(_, result): &(usize, StatementResult)| matches!(result, StatementResult::Failed(error) if matches!(**error, DynamoError::Invalid { .. }));
    if jobs.len() == 1 || !answer.results.iter().all(refused) {
        return answer;
    }
    // DynamoDB refuses the request as a whole: one item must not fail the others. At most 25 requests come of it.
    answer.results.clear();
    for job in jobs {
        let alone = send_statements(client, table, &[job], deadline).await;
        answer.requests += alone.requests;
        answer.consumed.add(&alone.consumed);
        answer.results.extend(alone.results);
    }
    answer
}

async fn send_statements(
    client: &Client,
    table: &Table,
    jobs: &[&NewItem],
    deadline: Option<Instant>,
) -> InsertAnswer {
    let call = Call::new("BatchExecuteStatement", &table.name);
    let statements = jobs.iter().map(|job| insert(&table.name, &job.item)).collect();
    let sent = by(deadline, call, execute(client, &table.name, statements)).await;
    let (results, consumed) = sent.unwrap_or_else(|error| {
        let failed = StatementResult::Failed(Arc::new(error));
        (vec![failed; jobs.len()], Consumed::default())
    });
    let results = jobs.iter().map(|job| job.at).zip(results).collect();
    InsertAnswer { results, consumed, requests: 1, collection: None }
}

/// Reads the items that have the keys of these, as they are now.
pub(super) async fn read(
    client: &Client,
    table: &Table,
    jobs: &[&NewItem],
    deadline: Option<Instant>,
) -> Result<BatchItems, DynamoError> {
    let keys = jobs.iter().filter_map(|job| table.key_of(&job.item)).collect();
    let batch = BatchGet { table: table.name.clone(), keys, consistent: true, ..BatchGet::default() };
    by(deadline, Call::new("BatchGetItem", &table.name), batch_get(client, &batch)).await
}

/// The result, or a time-out at the deadline. After the deadline nothing is sent: a fast table could still answer.
async fn by<T>(
    deadline: Option<Instant>,
    call: Call,
    outcome: impl Future<Output = Result<T, DynamoError>>,
) -> Result<T, DynamoError> {
    match deadline {
        None => outcome.await,
        Some(deadline) if deadline <= Instant::now() => Err(DynamoError::TimedOut { call }),
        Some(deadline) => tokio::time::timeout_at(deadline.into(), outcome)
            .await
            .unwrap_or(Err(DynamoError::TimedOut { call })),
    }
}

/// The result of one request, or of the several that replaced it.
#[derive(Debug, Default)]
pub(super) struct InsertAnswer {
    /// The position of each item in the input, and its result.
    pub(super) results: Vec<(usize, StatementResult)>,
    pub(super) consumed: Consumed,
    pub(super) requests: u64,
    pub(super) collection: Option<Collection>,
}
