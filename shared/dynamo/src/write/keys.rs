//! UpdateItem that gives a stored item its folded keys, if nothing they are made of has changed since it was read.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use keyfold_core::model::Table;
use keyfold_core::query::expression::ConditionExpression;
use keyfold_core::value::{AttributeValue, Item};

use super::WriteError;
use super::expression::update_expression;
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError};
use crate::values::{names_to_sdk, to_sdk, values_to_sdk};

/// What became of an item's keys.
#[derive(Debug, Clone, PartialEq)]
pub enum KeysOutcome {
    /// They were as they should be; nothing was sent.
    Right,
    /// They were set.
    Set(Consumed),
    /// The item has changed since it was read, or is gone; nothing was written. Read it again.
    Changed,
}

/// Gives a stored item, as it was read, the folded keys that it should have.
pub async fn set_keys(client: &Client, table: &Table, stored: &Item) -> Result<KeysOutcome, WriteError> {
    let Some(update) = table.key_update(stored)? else { return Ok(KeysOutcome::Right) };
    let mut condition = ConditionExpression::of(&update.condition);
    let set = update.set.into_iter().map(|(name, text)| (name, AttributeValue::S(text))).collect();
    let remove = update.remove.into_iter().collect();
    let expression = update_expression(&set, &remove, &mut condition);
    let key = table.key_of(stored).unwrap_or_default();
    let answer = client
        .update_item()
        .table_name(&table.name)
        .set_key(Some(to_sdk(key)))
        .update_expression(expression)
        .condition_expression(&condition.text)
        .set_expression_attribute_names(names_to_sdk(&condition.names))
        .set_expression_attribute_values(values_to_sdk(&condition.values))
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await;
    match answer.map_err(|error| DynamoError::of(Call::new("UpdateItem", &table.name), error)) {
        Ok(answer) => Ok(KeysOutcome::Set(Consumed::of(answer.consumed_capacity()))),
        Err(DynamoError::ConditionFailed { .. }) => Ok(KeysOutcome::Changed),
        Err(error) => Err(error.into()),
    }
}
