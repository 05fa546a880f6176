//! PutItem.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure};
use keyfold_core::model::Table;
use keyfold_core::value::Item;

use super::WriteError;
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError};
use crate::values::to_sdk;

/// Writes an item, with its folded keys, over whatever has its key. Returns the write units it cost.
pub async fn put(client: &Client, table: &Table, item: Item) -> Result<Consumed, WriteError> {
    let request = client.put_item().set_item(Some(to_sdk(table.with_keys(item)?)));
    send(table, request).await
}

/// Writes an item, with its folded keys, where none has its key. If one has, the error is
/// [`DynamoError::ConditionFailed`] and holds that one.
pub async fn put_new(client: &Client, table: &Table, item: Item) -> Result<Consumed, WriteError> {
    let request = client
        .put_item()
        .set_item(Some(to_sdk(table.with_keys(item)?)))
        .condition_expression("attribute_not_exists(#key)")
        .expression_attribute_names("#key", &table.partition.name)
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    send(table, request).await
}

async fn send(table: &Table, request: PutItemFluentBuilder) -> Result<Consumed, WriteError> {
    let answer = request
        .table_name(&table.name)
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await
        .map_err(|error| DynamoError::of(Call::new("PutItem", &table.name), error))?;
    Ok(Consumed::of(answer.consumed_capacity()))
}
