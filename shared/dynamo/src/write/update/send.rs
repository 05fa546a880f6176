//! The two calls of an update.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_core::write::{Action, Guard};

use crate::consumed::{self, Consumed};
use crate::error::{Call, DynamoError};
use crate::guarded::{self, Tell};
use crate::values::{copy_to_sdk, from_sdk};

/// Writes. If its condition does not hold, the item as it is; `None` if there is none.
pub(super) async fn write(
    client: &Client,
    table: &Table,
    action: &Action,
    guard: &Guard,
) -> Result<Result<Consumed, Option<Item>>, DynamoError> {
    let tell = Tell { refused_by: true, ..Tell::default() };
    match guarded::send(client, table, action, Some(guard), tell).await {
        Ok(sent) => Ok(Ok(sent.consumed)),
        Err(DynamoError::ConditionFailed { item, .. }) => Ok(Err(item.into_revealed().map(|item| *item))),
        Err(error) => Err(error),
    }
}

/// Reads an item with strong consistency.
pub(super) async fn read(
    client: &Client,
    table: &Table,
    key: &Item,
) -> Result<(Option<Item>, Consumed), DynamoError> {
    let call = || Call::new("GetItem", &table.name);
    let answer = client
        .get_item()
        .table_name(&table.name)
        .set_key(Some(copy_to_sdk(key)))
        .consistent_read(true)
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await
        .map_err(|error| DynamoError::of(call(), error))?;
    let consumed = consumed::of(answer.consumed_capacity());
    let item = answer.item.map(from_sdk).transpose();
    Ok((item.map_err(|_| DynamoError::Unreadable { call: call() })?, consumed))
}
