//! Inserts many new items, each on condition that its key is free.
//!
//! BatchWriteItem has no conditions, and a PutItem for each item is a round trip for each. PartiQL's `INSERT` fails if
//! the key exists, and BatchExecuteStatement carries 25 of them, each with a separate result.
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.multiplestatements.batching.html>

mod batches;
mod send;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use aws_sdk_dynamodb::Client;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{self, StreamExt};
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_core::write::{PrimaryKey, comparable_key};

use super::{Collection, WriteError};
use crate::backoff::{BACKOFF_ATTEMPTS_MAX, delay};
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError, Hidden};
use crate::guarded::StatementResult;
use batches::NewItem;
use batches::{Batch, batches};
use send::InsertAnswer;

pub use batches::BATCH_INSERT_BYTES_MAX;

/// Maximum requests in flight for one batch of new items.
pub const INSERT_REQUESTS_IN_FLIGHT: usize = 8;

/// How far a batch of new items may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutNewOptions {
    /// The deadline. An item whose write is unconfirmed by then fails with `timed-out`.
    pub deadline: Option<Instant>,
    /// Maximum requests in flight.
    pub in_flight_max: usize,
}

impl Default for PutNewOptions {
    fn default() -> PutNewOptions {
        PutNewOptions { deadline: None, in_flight_max: INSERT_REQUESTS_IN_FLIGHT }
    }
}

/// The result for one new item.
#[derive(Debug, Clone, PartialEq)]
pub enum PutNew {
    /// It was written.
    Written,
    /// Its key is taken, by this item, read with strong consistency. It can be the very same one, written by an earlier
    /// attempt whose answer was lost.
    Exists(Hidden<Box<Item>>),
}

/// The result for a batch of new items.
#[derive(Debug, Default)]
pub struct Inserted {
    /// One outcome for each item, in their order.
    pub outcomes: Vec<Result<PutNew, WriteError>>,
    /// The units that it cost: of writes, and of reads where keys were taken.
    pub consumed: Consumed,
    /// The requests that were sent.
    pub requests: u64,
    /// The items that had to be sent again, each time counted.
    pub resent: u64,
    /// Item collections of a table with local indexes, as large as DynamoDB estimates them: each that was written to.
    pub collections: Vec<Collection>,
}

/// Inserts new items with their folded keys. A failed item does not affect the others, and each has a result.
///
/// One request carries 25 items. An item is sent by PutItem if its statement would be too long, or if it is the first
/// of its item collection in a table with local indexes, because only PutItem returns the size of the collection. In a
/// table without local indexes, so is the last item if it is alone.
///
/// Throttled items are sent again, at most [`BACKOFF_ATTEMPTS_MAX`](crate::BACKOFF_ATTEMPTS_MAX) times. Of items with
/// the same key the first is inserted, and the others find it.
///
/// ```no_run
/// # async fn example(client: &keyfold_dynamo::Client, table: &keyfold_core::model::Table, items: Vec<keyfold_core::value::Item>) {
/// use keyfold_dynamo::{PutNew, PutNewOptions, put_new_all};
/// let inserted = put_new_all(client, table, items, &PutNewOptions::default()).await;
/// for (number, outcome) in inserted.outcomes.iter().enumerate() {
///     match outcome {
///         Ok(PutNew::Written) => println!("item {number} is new"),
///         Ok(PutNew::Exists(_)) => println!("item {number} has a key that is taken"),
///         Err(error) => println!("item {number} was not written: {error} ({})", error.code()),
///     }
/// }
/// # }
/// ```
pub async fn put_new_all(
    client: &Client,
    table: &Table,
    items: Vec<Item>,
    options: &PutNewOptions,
) -> Inserted {
    let mut inserter =
        Inserter { client, table, options, inserted: Inserted::default(), decided: Vec::new() };
    inserter.decided.resize_with(items.len(), || None);
    let mut waiting = inserter.prepare(items);
    // Each turn decides at least one item.
    while !waiting.is_empty() {
        let (now, later) = first_of_each_key(waiting);
        inserter.settle(now).await;
        waiting = later;
    }
    inserter.finish()
}

fn first_of_each_key(jobs: Vec<NewItem>) -> (Vec<NewItem>, Vec<NewItem>) {
    let mut seen = BTreeSet::new();
    jobs.into_iter().partition(|job| seen.insert(job.key.clone()))
}

struct Inserter<'a> {
    client: &'a Client,
    table: &'a Table,
    options: &'a PutNewOptions,
    inserted: Inserted,
    decided: Vec<Option<Result<PutNew, WriteError>>>,
}

impl Inserter<'_> {
    /// The items with their keys; those that cannot be written are decided.
    fn prepare(&mut self, items: Vec<Item>) -> Vec<NewItem> {
        let mut jobs = Vec::with_capacity(items.len());
        for (at, item) in items.into_iter().enumerate() {
            match self.table.written(item) {
                Ok(item) => jobs.push(NewItem { at, key: comparable_key(self.table, &item), item }),
                Err(error) => self.decide(at, Err(error.into())),
            }
        }
        jobs
    }

    /// Decides all of these, whose keys differ.
    async fn settle(&mut self, jobs: Vec<NewItem>) {
        let mut jobs: BTreeMap<usize, NewItem> = jobs.into_iter().map(|job| (job.at, job)).collect();
        for attempt in 0..BACKOFF_ATTEMPTS_MAX {
            let left = self.attempt(&jobs).await;
            if left.is_empty() {
                return;
            }
            if attempt + 1 == BACKOFF_ATTEMPTS_MAX || !self.wait(attempt).await {
                for (at, error) in left {
                    self.decide(at, Err(WriteError::Batch(error)));
                }
                return;
            }
            jobs.retain(|at, _| left.contains_key(at));
            self.inserted.resent += jobs.len() as u64;
        }
    }

    /// Sends all of these once, and reads the existing items of taken keys. Returns those that can be retried, with the
    /// reasons.
    async fn attempt(&mut self, jobs: &BTreeMap<usize, NewItem>) -> BTreeMap<usize, Arc<DynamoError>> {
        let batches = batches(self.table, jobs.values());
        let answers = self.send_all(batches).await;
        let (mut again, mut taken) = (BTreeMap::new(), Vec::new());
        for answer in answers {
            self.inserted.requests += answer.requests;
            self.inserted.consumed.add(&answer.consumed);
            self.inserted.collections.extend(answer.collection);
            for (at, result) in answer.results {
                match result {
                    StatementResult::Written => self.decide(at, Ok(PutNew::Written)),
                    StatementResult::Refused => taken.push(&jobs[&at]),
                    StatementResult::Failed(error) if error.is_retryable() => {
                        again.insert(at, error);
                    }
                    StatementResult::Failed(error) => self.decide(at, Err(WriteError::Batch(error))),
                }
            }
        }
        self.read_taken(&taken, &mut again).await;
        again
    }

    async fn send_all(&self, mut batches: Vec<Batch<'_>>) -> Vec<InsertAnswer> {
        if batches.len() == 1
            && let Some(batch) = batches.pop()
        {
            return vec![self.send_batch(batch).await];
        }
        let sends = batches.into_iter().map(|batch| self.send_batch(batch)).collect::<Vec<_>>();
        stream::iter(sends).buffer_unordered(self.options.in_flight_max.max(1)).collect().await
    }

    /// Boxed, because nested futures of SDK calls become too large.
    fn send_batch<'b>(&'b self, batch: Batch<'b>) -> BoxFuture<'b, InsertAnswer> {
        send::send_batch(self.client, self.table, batch, self.options.deadline).boxed()
    }

    /// Reads the items with these keys. If one was deleted meanwhile, its item can be inserted after all.
    async fn read_taken(&mut self, taken: &[&NewItem], again: &mut BTreeMap<usize, Arc<DynamoError>>) {
        for jobs in taken.chunks(crate::BATCH_GET_KEYS_MAX) {
            self.inserted.requests += 1;
            let read = send::read(self.client, self.table, jobs, self.options.deadline);
            match Box::pin(read).await {
                Ok(got) => {
                    self.inserted.consumed.add(&got.consumed);
                    let mut found: BTreeMap<PrimaryKey, Item> =
                        got.items.into_iter().map(|item| (comparable_key(self.table, &item), item)).collect();
                    for job in jobs {
                        match found.remove(&job.key) {
                            Some(item) => {
                                self.decide(job.at, Ok(PutNew::Exists(Hidden::new(Box::new(item)))));
                            }
                            None => {
                                let call = Call::new("BatchExecuteStatement", &self.table.name);
                                again.insert(job.at, Arc::new(DynamoError::Conflict { call }));
                            }
                        }
                    }
                }
                Err(error) => {
                    let error = Arc::new(error);
                    jobs.iter().for_each(|job| self.decide(job.at, Err(Arc::clone(&error).into())));
                }
            }
        }
    }

    /// Waits before the next attempt; `false` if there is no time for one.
    async fn wait(&self, attempt: u32) -> bool {
        let pause = delay(attempt, fastrand::f64());
        if self.options.deadline.is_some_and(|deadline| Instant::now() + pause >= deadline) {
            return false;
        }
        tokio::time::sleep(pause).await;
        true
    }

    fn decide(&mut self, at: usize, outcome: Result<PutNew, WriteError>) {
        self.decided[at] = Some(outcome);
    }

    fn finish(mut self) -> Inserted {
        let undecided = || unreachable!("`settle` decides every item that it is given");
        let decided = std::mem::take(&mut self.decided);
        self.inserted.outcomes =
            decided.into_iter().map(|outcome| outcome.unwrap_or_else(undecided)).collect();
        self.inserted
    }
}
