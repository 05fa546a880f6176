//! BatchGetItem: items of one table by their keys, until all are read or the attempts are exhausted.

use std::borrow::Cow;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemOutput;
use aws_sdk_dynamodb::types::KeysAndAttributes;
use keyfold_core::execute::{BATCH_GET_KEYS_MAX, BatchGet, BatchItems};
use keyfold_core::value::Item;

use super::request;
use crate::backoff::{BACKOFF_ATTEMPTS_MAX, pause};
use crate::consumed;
use crate::error::{Call, DynamoError};
use crate::values::{SdkItem, from_sdk};
use crate::wire::{BATCH_GET, BatchAnswer, Exchange, send};

/// Reads a batch of items. Unprocessed keys are retried; if some stay unread, it is an error.
pub async fn batch_get(client: &Client, batch: &BatchGet) -> Result<BatchItems, DynamoError> {
    batch_get_watched(client, batch, &|_| {}).await
}

/// [`batch_get`] with an observer, called each time keys are requested again.
pub(crate) async fn batch_get_watched(
    client: &Client,
    batch: &BatchGet,
    watch: &(dyn Fn(&DynamoError) + Sync),
) -> Result<BatchItems, DynamoError> {
    let call = || Call::new("BatchGetItem", &batch.table);
    let given = batch.keys.len();
    if given > BATCH_GET_KEYS_MAX {
        return Err(DynamoError::TooMany { call: call(), given, most: BATCH_GET_KEYS_MAX });
    }
    let mut keys = Cow::Borrowed(batch.keys.as_slice());
    let mut got = BatchItems::default();
    for attempt in 0..BACKOFF_ATTEMPTS_MAX {
        if keys.is_empty() {
            return Ok(got);
        }
        if attempt > 0 {
            pause(attempt - 1).await;
        }
        match ask(client, batch, &keys).await {
            Ok(answer) => {
                got.items.extend(answer.items);
                got.consumed.add(&answer.consumed);
                keys = Cow::Owned(answer.left);
                if !keys.is_empty() {
                    let (call, left) = (call(), keys.len());
                    watch(&DynamoError::Unprocessed { call, left, attempts: attempt + 1 });
                }
            }
            Err(error) if error.is_retryable() && attempt + 1 < BACKOFF_ATTEMPTS_MAX => watch(&error),
            Err(error) => return Err(error),
        }
    }
    match keys.len() {
        0 => Ok(got),
        left => Err(DynamoError::Unprocessed { call: call(), left, attempts: BACKOFF_ATTEMPTS_MAX }),
    }
}

/// Requests the keys once.
async fn ask(client: &Client, batch: &BatchGet, keys: &[Item]) -> Result<BatchAnswer, DynamoError> {
    let call = || Call::new("BatchGetItem", &batch.table);
    let exchange = Exchange::of(&BATCH_GET, request::batch(batch, keys));
    // The endpoint can depend on the table; the keys are in our request.
    let nothing = KeysAndAttributes::builder().set_keys(Some(Vec::new())).build();
    let nothing = nothing.map_err(|error| DynamoError::of_build(call(), &error))?;
    let answer = send!(exchange, client, client.batch_get_item().request_items(&batch.table, nothing))
        .map_err(|error| DynamoError::of(call(), error))?;
    match exchange.take() {
        Some(answer) => Ok(answer),
        None => sdk_batch(answer, call),
    }
}

/// The SDK's response.
pub(crate) fn sdk_batch(
    answer: BatchGetItemOutput,
    call: impl Fn() -> Call,
) -> Result<BatchAnswer, DynamoError> {
    let known = |items: Vec<SdkItem>| -> Result<Vec<Item>, DynamoError> {
        let unreadable = |_| DynamoError::Unreadable { call: call() };
        items.into_iter().map(|item| from_sdk(item).map_err(unreadable)).collect()
    };
    let consumed = consumed::of_all(answer.consumed_capacity());
    let items = answer.responses.into_iter().flatten().flat_map(|(_, items)| items).collect();
    let left = answer.unprocessed_keys.into_iter().flatten().flat_map(|(_, left)| left.keys).collect();
    Ok(BatchAnswer { items: known(items)?, left: known(left)?, consumed })
}
