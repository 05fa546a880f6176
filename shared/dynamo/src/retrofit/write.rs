//! One guarded write.

use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure};
use keyfold_core::query::expression::ConditionExpression;
use keyfold_core::retrofit::{Action, ItemSeen, Response, Write};
use keyfold_core::value::AttributeValue;

use super::RequestSender;
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError};
use crate::values::{copy_to_sdk, names_to_sdk, values_to_sdk};

const ALL_OLD: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;
const UNITS: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;

/// Sends one write; what a refused one met comes with the refusal.
pub(super) async fn write(sender: &RequestSender, write: &Write) -> Result<Response, DynamoError> {
    let table = sender.table(write.place);
    let mut condition = ConditionExpression::of(&write.guard.condition(&table.partition.name));
    let update = update_expression(&write.action, &mut condition);
    let (names, values) = (names_to_sdk(&condition.names), values_to_sdk(&condition.values));
    let (client, name, text) = (sender.client(), table.name.as_str(), condition.text);
    let sent = match &write.action {
        Action::Put(item) => client
            .put_item()
            .table_name(name)
            .set_item(Some(copy_to_sdk(item)))
            .condition_expression(text)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(ALL_OLD)
            .return_consumed_capacity(UNITS)
            .send()
            .await
            .map(|answer| Consumed::of(answer.consumed_capacity()))
            .map_err(|error| DynamoError::of(Call::new("PutItem", name), error)),
        Action::Update { key, .. } => client
            .update_item()
            .table_name(name)
            .set_key(Some(copy_to_sdk(key)))
            .update_expression(update)
            .condition_expression(text)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(ALL_OLD)
            .return_consumed_capacity(UNITS)
            .send()
            .await
            .map(|answer| Consumed::of(answer.consumed_capacity()))
            .map_err(|error| DynamoError::of(Call::new("UpdateItem", name), error)),
        Action::Delete(key) => client
            .delete_item()
            .table_name(name)
            .set_key(Some(copy_to_sdk(key)))
            .condition_expression(text)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(ALL_OLD)
            .return_consumed_capacity(UNITS)
            .send()
            .await
            .map(|answer| Consumed::of(answer.consumed_capacity()))
            .map_err(|error| DynamoError::of(Call::new("DeleteItem", name), error)),
    };
    match sent {
        Ok(consumed) => {
            sender.wrote(&table.name, &consumed);
            Ok(Response::Written)
        }
        Err(DynamoError::ConditionFailed { item, .. }) => {
            let seen = item.reveal().clone().map_or(ItemSeen::Nothing, ItemSeen::Item);
            Ok(Response::Refused(seen))
        }
        Err(error) => Err(error),
    }
}

/// The update's expression, with its placeholders beside the condition's; empty for a put or a delete.
pub(super) fn update_expression(action: &Action, holders: &mut ConditionExpression) -> String {
    let Action::Update { set, remove, .. } = action else { return String::new() };
    let mut assignment = |(name, value): &(String, AttributeValue)| {
        let name = holders.name(name);
        format!("{name} = {}", holders.value(value))
    };
    let set: Vec<String> = set.iter().map(&mut assignment).collect();
    let remove: Vec<String> = remove.iter().map(|name| holders.name(name)).collect();
    let clause = |word: &str, parts: &[String]| match parts {
        [] => String::new(),
        parts => format!("{word} {} ", parts.join(", ")),
    };
    format!("{}{}", clause("SET", &set), clause("REMOVE", &remove)).trim_end().to_owned()
}
