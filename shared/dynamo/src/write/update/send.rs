//! The two calls of an update.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure};
use keyfold_core::model::Table;
use keyfold_core::query::expression::ConditionExpression;
use keyfold_core::value::Item;

use super::change::Change;
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError};
use crate::values::{copy_to_sdk, from_sdk, names_to_sdk, values_to_sdk};
use crate::write::expression::update_expression;

/// Writes a change. If its condition does not hold, the item as it is; `None` if there is none.
pub(super) async fn send(
    client: &Client,
    table: &Table,
    key: &Item,
    change: &Change,
) -> Result<Result<Consumed, Option<Item>>, DynamoError> {
    let mut condition = ConditionExpression::of(&change.condition);
    let expression = update_expression(&change.set, &change.remove, &mut condition);
    let answer = client
        .update_item()
        .table_name(&table.name)
        .set_key(Some(copy_to_sdk(key)))
        .update_expression(expression)
        .condition_expression(&condition.text)
        .set_expression_attribute_names(names_to_sdk(&condition.names))
        .set_expression_attribute_values(values_to_sdk(&condition.values))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await;
    match answer.map_err(|error| DynamoError::of(Call::new("UpdateItem", &table.name), error)) {
        Ok(answer) => Ok(Ok(Consumed::of(answer.consumed_capacity()))),
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
    let consumed = Consumed::of(answer.consumed_capacity());
    let item = answer.item.map(from_sdk).transpose();
    Ok((item.map_err(|_| DynamoError::Unreadable { call: call() })?, consumed))
}
