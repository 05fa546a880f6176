//! BatchWriteItem: one batch, until all of it is written or the attempts are used up.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{PutRequest, ReturnConsumedCapacity, WriteRequest};
use keyfold_core::value::Item;

use crate::backoff::{BACKOFF_ATTEMPTS_MAX, pause};
use crate::consumed::{self, Consumed};
use crate::error::{Call, DynamoError};
use crate::values::to_sdk;

/// Maximum items in one DynamoDB batch.
pub const BATCH_WRITE_ITEMS_MAX: usize = 25;

/// The result of one batch.
#[derive(Debug, Default)]
pub(super) struct BatchDone {
    /// The items written.
    pub(super) written: u64,
    /// The items that had to be sent again, each time counted.
    pub(super) resent: u64,
    /// The write units.
    pub(super) consumed: Consumed,
}

/// Puts at most [`BATCH_WRITE_ITEMS_MAX`] items with different keys. Putting an item twice is harmless, so unprocessed,
/// throttled and lost items are sent again.
pub(super) async fn put_batch(
    client: &Client,
    table: &str,
    items: Vec<Item>,
) -> Result<BatchDone, DynamoError> {
    let call = || Call::new("BatchWriteItem", table);
    let requests = items.into_iter().map(put_request).collect::<Result<Vec<_>, _>>();
    let mut requests = requests.map_err(|error| DynamoError::of_build(call(), &error))?;
    let mut done = BatchDone::default();
    for attempt in 0..BACKOFF_ATTEMPTS_MAX {
        if attempt > 0 {
            pause(attempt - 1).await;
            done.resent += requests.len() as u64;
        }
        let sent = requests.len();
        match send(client, table, &requests).await {
            Ok((left, consumed)) => {
                done.consumed.add(&consumed);
                done.written += sent.saturating_sub(left.len()) as u64;
                requests = left;
            }
            Err(error) if error.is_retryable() && attempt + 1 < BACKOFF_ATTEMPTS_MAX => {}
            Err(error) => return Err(error),
        }
        if requests.is_empty() {
            return Ok(done);
        }
    }
    Err(DynamoError::Unprocessed { call: call(), left: requests.len(), attempts: BACKOFF_ATTEMPTS_MAX })
}

/// Sends the batch once: the unprocessed rest, and the cost.
async fn send(
    client: &Client,
    table: &str,
    requests: &[WriteRequest],
) -> Result<(Vec<WriteRequest>, Consumed), DynamoError> {
    let answer = client
        .batch_write_item()
        .request_items(table, requests.to_vec())
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await
        .map_err(|error| DynamoError::of(Call::new("BatchWriteItem", table), error))?;
    let consumed = consumed::of_all(answer.consumed_capacity());
    let left = answer.unprocessed_items.into_iter().flatten().flat_map(|(_, left)| left).collect();
    Ok((left, consumed))
}

fn put_request(item: Item) -> Result<WriteRequest, aws_sdk_dynamodb::error::BuildError> {
    let put = PutRequest::builder().set_item(Some(to_sdk(item))).build()?;
    Ok(WriteRequest::builder().put_request(put).build())
}
