//! A write as a request of its own: PutItem, UpdateItem or DeleteItem.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    ItemCollectionMetrics, ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnValue,
    ReturnValuesOnConditionCheckFailure,
};
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_core::write::{Action, Guard, WriteExpressions};

use super::builder::guarded;
use crate::consumed::{self, Consumed};
use crate::error::{Call, DynamoError};
use crate::values::{copy_to_sdk, from_sdk};

const UNITS: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;

/// What the answer should tell beside the units. DynamoDB takes no units for it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tell {
    /// The item that kept the guard from holding. [`DynamoError::ConditionFailed`] has it.
    pub(crate) refused_by: bool,
    /// The item that a delete removed.
    pub(crate) deleted: bool,
    /// How large the item collection of a put is. Of tables with local indexes only.
    pub(crate) collection: bool,
}

/// What the response to a write says.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(crate) consumed: Consumed,
    pub(crate) deleted: Option<Item>,
    pub(crate) collection: Option<ItemCollectionMetrics>,
}

/// Sends one write, once. A guard that does not hold is [`DynamoError::ConditionFailed`].
pub(crate) async fn send(
    client: &Client,
    table: &Table,
    action: &Action,
    guard: Option<&Guard>,
    tell: Tell,
) -> Result<Sent, DynamoError> {
    let mut expressions = WriteExpressions::of(table, action, guard);
    let refused_by =
        (tell.refused_by && guard.is_some()).then_some(ReturnValuesOnConditionCheckFailure::AllOld);
    let call = |operation| Call::new(operation, &table.name);
    match action {
        Action::Put(item) => {
            let sent = guarded!(client.put_item(), table, expressions)
                .set_item(Some(copy_to_sdk(item)))
                .set_return_values_on_condition_check_failure(refused_by)
                .set_return_item_collection_metrics(
                    tell.collection.then_some(ReturnItemCollectionMetrics::Size),
                )
                .return_consumed_capacity(UNITS)
                .send()
                .await
                .map_err(|error| DynamoError::of(call("PutItem"), error))?;
            let consumed = consumed::of(sent.consumed_capacity());
            Ok(Sent { consumed, collection: sent.item_collection_metrics, deleted: None })
        }
        Action::Update { key, .. } => {
            let update = expressions.update.take();
            let sent = guarded!(client.update_item(), table, expressions)
                .set_key(Some(copy_to_sdk(key)))
                .set_update_expression(update)
                .set_return_values_on_condition_check_failure(refused_by)
                .return_consumed_capacity(UNITS)
                .send()
                .await
                .map_err(|error| DynamoError::of(call("UpdateItem"), error))?;
            Ok(Sent { consumed: consumed::of(sent.consumed_capacity()), ..Sent::default() })
        }
        Action::Delete(key) => {
            let sent = guarded!(client.delete_item(), table, expressions)
                .set_key(Some(copy_to_sdk(key)))
                .set_return_values(tell.deleted.then_some(ReturnValue::AllOld))
                .set_return_values_on_condition_check_failure(refused_by)
                .return_consumed_capacity(UNITS)
                .send()
                .await
                .map_err(|error| DynamoError::of(call("DeleteItem"), error))?;
            let consumed = consumed::of(sent.consumed_capacity());
            let deleted = sent.attributes.map(from_sdk).transpose();
            let deleted = deleted.map_err(|_| DynamoError::Unreadable { call: call("DeleteItem") })?;
            Ok(Sent { consumed, deleted, collection: None })
        }
    }
}
