//! DeleteItem, on condition that the item is what the caller believes it to be.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, ReturnValue, ReturnValuesOnConditionCheckFailure};
use keyfold_core::condition::Condition;
use keyfold_core::model::Table;
use keyfold_core::query::expression::ConditionExpression;
use keyfold_core::value::Item;

use super::WriteError;
use super::expect::{Expected, exists};
use super::identity::primary_key;
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError};
use crate::values::{from_sdk, names_to_sdk, to_sdk, values_to_sdk};

/// What a delete did.
#[derive(Debug, Clone, PartialEq)]
pub struct Deleted {
    /// The item that was there, if one was.
    pub item: Option<Item>,
    /// The write units it cost.
    pub consumed: Consumed,
}

/// Deletes the item with this key, given as the key itself or as the attributes it is folded from.
///
/// If something is expected and is not so, or the item is not there, the error is [`DynamoError::ConditionFailed`] and
/// holds the item. Without expectations, deleting what is not there is no error.
///
/// ```no_run
/// # async fn example(client: &keyfold_dynamo::Client, table: &keyfold_core::model::Table) -> Result<(), Box<dyn std::error::Error>> {
/// # use keyfold_core::value::{AttributeValue, Item};
/// use keyfold_dynamo::{Expected, delete};
/// let key: Item = serde_json::from_str(r#"{"id":{"S":"111aaa"}}"#)?;
/// let expected = Expected::nothing().value("action", AttributeValue::S("viewed".to_owned()));
/// let deleted = delete(client, table, &key, &expected).await?;
/// assert!(deleted.item.is_some());
/// # Ok(())
/// # }
/// ```
pub async fn delete(
    client: &Client,
    table: &Table,
    key: &Item,
    expected: &Expected,
) -> Result<Deleted, WriteError> {
    let call = || Call::new("DeleteItem", &table.name);
    let request = client
        .delete_item()
        .table_name(&table.name)
        .set_key(Some(to_sdk(primary_key(table, key)?)))
        .return_values(ReturnValue::AllOld)
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    let request = match condition(table, expected) {
        None => request,
        Some(condition) => request
            .condition_expression(&condition.text)
            .set_expression_attribute_names(names_to_sdk(&condition.names))
            .set_expression_attribute_values(values_to_sdk(&condition.values))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld),
    };
    let answer = request.send().await.map_err(|error| DynamoError::of(call(), error))?;
    let consumed = Consumed::of(answer.consumed_capacity());
    let item = answer.attributes.map(from_sdk).transpose();
    Ok(Deleted { item: item.map_err(|_| DynamoError::Unreadable { call: call() })?, consumed })
}

fn condition(table: &Table, expected: &Expected) -> Option<ConditionExpression> {
    let there = std::iter::once(exists(&table.partition.name));
    (!expected.is_empty())
        .then(|| ConditionExpression::of(&Condition::all(there.chain(expected.conditions()))))
}
