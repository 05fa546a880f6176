//! The requests themselves: one attempt each, none beyond the deadline.

use std::sync::Arc;
use std::time::Instant;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::batch_execute_statement::BatchExecuteStatementOutput;
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use keyfold_core::model::Table;

use super::Job;
use super::answer::{Answer, Verdict};
use super::batches::Batch;
use super::statement::insert;
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError};
use crate::read::{BatchGet, Got, batch_get};
use crate::write::put::put_new_measured;

const OPERATION: &str = "BatchExecuteStatement";

/// Sends one request, and says what became of each of its items.
pub(super) async fn send_batch(
    client: &Client,
    table: &Table,
    batch: Batch<'_>,
    deadline: Option<Instant>,
) -> Answer {
    match batch {
        Batch::Put(job) => send_put(client, table, job, deadline).await,
        Batch::Insert(jobs) => send_inserts(client, table, &jobs, deadline).await,
    }
}

async fn send_put(client: &Client, table: &Table, job: &Job, deadline: Option<Instant>) -> Answer {
    let call = Call::new("PutItem", &table.name);
    let put = put_new_measured(client, table, job.item.clone());
    let mut answer = Answer { requests: 1, ..Answer::default() };
    let verdict = match by(deadline, call, put).await {
        Ok((consumed, collection)) => {
            answer.consumed = consumed;
            answer.collection = collection;
            Verdict::Written
        }
        Err(DynamoError::ConditionFailed { .. }) => Verdict::Taken,
        Err(error) => Verdict::Failed(Arc::new(error)),
    };
    answer.verdicts.push((job.at, verdict));
    answer
}

async fn send_inserts(client: &Client, table: &Table, jobs: &[&Job], deadline: Option<Instant>) -> Answer {
    let mut answer = execute(client, table, jobs, deadline).await;
    let refused = |(_, verdict): &(usize, Verdict)| matches!(verdict, Verdict::Failed(error) if matches!(**error, DynamoError::Invalid { .. }));
    if jobs.len() == 1 || !answer.verdicts.iter().all(refused) {
        return answer;
    }
    // DynamoDB refuses the request as a whole: one item must not fail the others. At most 25 requests come of it.
    answer.verdicts.clear();
    for job in jobs {
        let alone = execute(client, table, &[job], deadline).await;
        answer.requests += alone.requests;
        answer.consumed.add(&alone.consumed);
        answer.verdicts.extend(alone.verdicts);
    }
    answer
}

async fn execute(client: &Client, table: &Table, jobs: &[&Job], deadline: Option<Instant>) -> Answer {
    let call = Call::new(OPERATION, &table.name);
    match by(deadline, call.clone(), request(client, table, jobs)).await {
        Ok(output) => {
            let responses = output.responses();
            let verdict = |(place, job): (usize, &&Job)| {
                let verdict = match responses.get(place) {
                    Some(response) => Verdict::of(&call, response),
                    None => Verdict::Failed(Arc::new(DynamoError::Unreadable { call: call.clone() })),
                };
                (job.at, verdict)
            };
            Answer {
                verdicts: jobs.iter().enumerate().map(verdict).collect(),
                consumed: Consumed::of_all(output.consumed_capacity()),
                requests: 1,
                collection: None,
            }
        }
        Err(error) => {
            let error = Arc::new(error);
            let verdicts = jobs.iter().map(|job| (job.at, Verdict::Failed(Arc::clone(&error)))).collect();
            Answer { verdicts, requests: 1, ..Answer::default() }
        }
    }
}

async fn request(
    client: &Client,
    table: &Table,
    jobs: &[&Job],
) -> Result<BatchExecuteStatementOutput, DynamoError> {
    let call = || Call::new(OPERATION, &table.name);
    let statements = jobs.iter().map(|job| insert(&table.name, &job.item)).collect::<Result<Vec<_>, _>>();
    let statements = statements.map_err(|error| DynamoError::of_build(call(), &error))?;
    client
        .batch_execute_statement()
        .set_statements(Some(statements))
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await
        .map_err(|error| DynamoError::of(call(), error))
}

/// Reads the items that have the keys of these, as they are now.
pub(super) async fn read(
    client: &Client,
    table: &Table,
    jobs: &[&Job],
    deadline: Option<Instant>,
) -> Result<Got, DynamoError> {
    let keys = jobs.iter().filter_map(|job| table.key_of(&job.item)).collect();
    let batch = BatchGet { table: table.name.clone(), keys, consistent: true, ..BatchGet::default() };
    by(deadline, Call::new("BatchGetItem", &table.name), batch_get(client, &batch)).await
}

/// The outcome, or a time-out at the deadline. Beyond it nothing is even begun: a fast table could still answer.
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
