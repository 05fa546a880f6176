//! BatchGetItem: items of one table by their keys, until all are read or the attempts are used up.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemOutput;
use aws_sdk_dynamodb::types::{KeysAndAttributes, ReturnConsumedCapacity};
use keyfold_core::execute::{BATCH_GET_KEYS_MAX, BatchGet, Got};
use keyfold_core::value::Item;

use crate::backoff::{BACKOFF_ATTEMPTS_MAX, pause};
use crate::consumed;
use crate::error::{Call, DynamoError};
use crate::values::{SdkItem, copy_to_sdk, from_sdk, names_to_sdk, to_sdk};
use crate::wire::{BATCH_GET, BatchAnswer, Decoder};

/// Reads a batch of items. Keys that DynamoDB leaves unprocessed are asked for again; all are read, or it is an error.
pub async fn batch_get(client: &Client, batch: &BatchGet) -> Result<Got, DynamoError> {
    batch_get_watched(client, batch, &|_| {}).await
}

/// The same; the observer is called each time keys have to be requested again.
pub(crate) async fn batch_get_watched(
    client: &Client,
    batch: &BatchGet,
    watch: &(dyn Fn(&DynamoError) + Sync),
) -> Result<Got, DynamoError> {
    let call = || Call::new("BatchGetItem", &batch.table);
    let given = batch.keys.len();
    if given > BATCH_GET_KEYS_MAX {
        return Err(DynamoError::TooMany { call: call(), given, most: BATCH_GET_KEYS_MAX });
    }
    let mut keys: Vec<SdkItem> = batch.keys.iter().map(copy_to_sdk).collect();
    let mut got = Got::default();
    for attempt in 0..BACKOFF_ATTEMPTS_MAX {
        if keys.is_empty() {
            return Ok(got);
        }
        if attempt > 0 {
            pause(attempt - 1).await;
        }
        match send(client, batch, &keys).await {
            Ok(answer) => {
                got.items.extend(answer.items);
                got.consumed.add(&answer.consumed);
                keys = answer.left.into_iter().map(to_sdk).collect();
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

/// Asks for the keys once.
async fn send(client: &Client, batch: &BatchGet, keys: &[SdkItem]) -> Result<BatchAnswer, DynamoError> {
    let call = || Call::new("BatchGetItem", &batch.table);
    let request = KeysAndAttributes::builder()
        .set_keys(Some(keys.to_vec()))
        .set_projection_expression(batch.projection.clone())
        .set_expression_attribute_names(names_to_sdk(&batch.names))
        .consistent_read(batch.consistent)
        .build()
        .map_err(|error| DynamoError::of_build(call(), &error))?;
    let decoder = Decoder::of(&BATCH_GET);
    let answer = client
        .batch_get_item()
        .request_items(&batch.table, request)
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .customize()
        .interceptor(decoder.clone())
        .send()
        .await
        .map_err(|error| DynamoError::of(call(), error))?;
    match decoder.take() {
        Some(answer) => Ok(answer),
        None => sdk_batch(answer, call),
    }
}

/// The answer as the SDK has it.
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
