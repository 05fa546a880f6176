//! PutItem.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use keyfold_core::model::Table;
use keyfold_core::value::Item;

use super::WriteError;
use super::keys::with_keys;
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError};
use crate::values::to_sdk;

/// Writes an item, with its folded keys, over whatever has its key. Returns the write units it cost.
pub async fn put(client: &Client, table: &Table, item: Item) -> Result<Consumed, WriteError> {
    let item = with_keys(table, item)?;
    let answer = client
        .put_item()
        .table_name(&table.name)
        .set_item(Some(to_sdk(item)))
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await
        .map_err(|error| DynamoError::of(Call::new("PutItem", &table.name), error))?;
    Ok(Consumed::of(answer.consumed_capacity()))
}
