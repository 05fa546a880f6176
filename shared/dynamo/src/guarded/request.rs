//! A write as a single request: PutItem, UpdateItem or DeleteItem.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    ItemCollectionMetrics, ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnValue,
    ReturnValuesOnConditionCheckFailure,
};
use keyfold_core::json::write;
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_core::write::{Action, Guard, WriteExpressions};

use crate::consumed::{self, Consumed};
use crate::error::{Call, DynamoError};
use crate::values::from_sdk;
use crate::wire::{Body, BodyText, DELETE, DELETE_ITEM, Exchange, PUT, PUT_ITEM, UPDATE, UPDATE_ITEM, send};

/// Initial capacity of a request: most items have a few hundred bytes.
const BYTES_GUESSED: usize = 1024;
const UNITS: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;

/// Optional response fields. They consume no units.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ResponseOptions {
    /// The item for which the guard failed. [`DynamoError::ConditionFailed`] contains it.
    pub(crate) refused_by: bool,
    /// The deleted item.
    pub(crate) deleted: bool,
    /// The size of a put's item collection. Only for tables with local indexes.
    pub(crate) collection: bool,
}

/// The response to a write.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(crate) consumed: Consumed,
    pub(crate) deleted: Option<Item>,
    pub(crate) collection: Option<ItemCollectionMetrics>,
}

/// Sends one write, once. A failed guard is [`DynamoError::ConditionFailed`].
pub(crate) async fn send(
    client: &Client,
    table: &Table,
    action: &Action,
    guard: Option<&Guard>,
    tell: ResponseOptions,
) -> Result<Sent, DynamoError> {
    let refused_by = tell.refused_by && guard.is_some();
    let body = body(table, action, guard, tell, refused_by);
    let call = |operation| Call::new(operation, &table.name);
    match action {
        Action::Put(_) => {
            let exchange = Exchange::of(&PUT, body);
            let sent = send!(exchange, client, client.put_item().table_name(&table.name))
                .map_err(|error| DynamoError::of(call("PutItem"), error))?;
            let consumed = exchange.take().unwrap_or_else(|| consumed::of(sent.consumed_capacity()));
            Ok(Sent { consumed, collection: sent.item_collection_metrics, deleted: None })
        }
        Action::Update { .. } => {
            let exchange = Exchange::of(&UPDATE, body);
            let sent = send!(exchange, client, client.update_item().table_name(&table.name))
                .map_err(|error| DynamoError::of(call("UpdateItem"), error))?;
            let consumed = exchange.take().unwrap_or_else(|| consumed::of(sent.consumed_capacity()));
            Ok(Sent { consumed, ..Sent::default() })
        }
        Action::Delete(_) => {
            let exchange = Exchange::of(&DELETE, body);
            let sent = send!(exchange, client, client.delete_item().table_name(&table.name))
                .map_err(|error| DynamoError::of(call("DeleteItem"), error))?;
            let consumed = exchange.take().unwrap_or_else(|| consumed::of(sent.consumed_capacity()));
            let deleted = sent.attributes.map(from_sdk).transpose();
            let deleted = deleted.map_err(|_| DynamoError::Unreadable { call: call("DeleteItem") })?;
            Ok(Sent { consumed, deleted, collection: None })
        }
    }
}

/// The request.
fn body(
    table: &Table,
    action: &Action,
    guard: Option<&Guard>,
    tell: ResponseOptions,
    refused_by: bool,
) -> Body {
    let expressions = WriteExpressions::of(table, action, guard);
    let (operation, name, item) = match action {
        Action::Put(item) => (&PUT_ITEM, "Item", item),
        Action::Update { key, .. } => (&UPDATE_ITEM, "Key", &**key),
        Action::Delete(key) => (&DELETE_ITEM, "Key", key),
    };
    let told = |told: bool, what| told.then_some(what);
    let collection = tell.collection && matches!(action, Action::Put(_));
    let deleted = tell.deleted && matches!(action, Action::Delete(_));
    BodyText::of(operation, BYTES_GUESSED)
        .text("TableName", Some(&table.name))
        .member(name, |out| write::item(out, item))
        .text("UpdateExpression", expressions.update.as_deref())
        .text("ConditionExpression", expressions.condition.as_deref())
        .map("ExpressionAttributeNames", &expressions.names, |out, name| write::string(out, name))
        .map("ExpressionAttributeValues", &expressions.values, write::value)
        .text("ReturnConsumedCapacity", Some(UNITS.as_str()))
        .text("ReturnValues", told(deleted, ReturnValue::AllOld.as_str()))
        .text(
            "ReturnValuesOnConditionCheckFailure",
            told(refused_by, ReturnValuesOnConditionCheckFailure::AllOld.as_str()),
        )
        .text("ReturnItemCollectionMetrics", told(collection, ReturnItemCollectionMetrics::Size.as_str()))
        .done()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aws_sdk_dynamodb::operation::delete_item::{DeleteItem, DeleteItemInput};
    use aws_sdk_dynamodb::operation::put_item::{PutItem, PutItemInput};
    use aws_sdk_dynamodb::operation::update_item::{UpdateItem, UpdateItemInput};
    use aws_smithy_runtime_api::client::interceptors::context::Input;
    use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
    use keyfold_core::value::{AttributeValue, Name};
    use keyfold_testkit::case::Case;
    use keyfold_testkit::generate::Random;

    use super::*;
    use crate::guarded::builder::guarded;
    use crate::values::copy_to_sdk;
    use crate::wire::{SentRequest, sent_request};

    const TELL: ResponseOptions = ResponseOptions { refused_by: true, deleted: true, collection: true };

    /// The SDK's request.
    fn sdk(table: &Table, action: &Action, guard: Option<&Guard>) -> SentRequest {
        let mut expressions = WriteExpressions::of(table, action, guard);
        let refused_by = guard.is_some().then_some(ReturnValuesOnConditionCheckFailure::AllOld);
        match action {
            Action::Put(item) => {
                let input = guarded!(PutItemInput::builder(), table, expressions)
                    .set_item(Some(copy_to_sdk(item)))
                    .set_return_values_on_condition_check_failure(refused_by)
                    .return_item_collection_metrics(ReturnItemCollectionMetrics::Size)
                    .return_consumed_capacity(UNITS);
                sent_request(PutItem::new().config(), Input::erase(input.build().unwrap()))
            }
            Action::Update { key, .. } => {
                let update = expressions.update.take();
                let input = guarded!(UpdateItemInput::builder(), table, expressions)
                    .set_key(Some(copy_to_sdk(key)))
                    .set_update_expression(update)
                    .set_return_values_on_condition_check_failure(refused_by)
                    .return_consumed_capacity(UNITS);
                sent_request(UpdateItem::new().config(), Input::erase(input.build().unwrap()))
            }
            Action::Delete(key) => {
                let input = guarded!(DeleteItemInput::builder(), table, expressions)
                    .set_key(Some(copy_to_sdk(key)))
                    .return_values(ReturnValue::AllOld)
                    .set_return_values_on_condition_check_failure(refused_by)
                    .return_consumed_capacity(UNITS);
                sent_request(DeleteItem::new().config(), Input::erase(input.build().unwrap()))
            }
        }
    }

    #[test]
    fn our_requests_are_those_of_the_sdk() {
        for seed in 0..300 {
            let case = Case::new(seed);
            let (table, random) = (case.table(), &mut Random::new(seed));
            for item in case.items.iter().map(|item| &item.stored) {
                let key = table.key_of(item).unwrap();
                let values: Vec<(Name, AttributeValue)> = item
                    .iter()
                    .filter(|(name, _)| !key.contains_key(*name))
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect();
                let set = values.clone();
                let is = |(name, value): &(Name, AttributeValue)| Guard::equals(name, value.clone());
                let action = match random.below(3) {
                    0 => Action::Put(item.clone()),
                    1 if !set.is_empty() => {
                        Action::Update { key: Arc::new(key), set, remove: vec!["it's \"gone\"".to_owned()] }
                    }
                    _ => Action::Delete(key),
                };
                let guard = values.first().map(is).filter(|_| random.chance(70));
                let ours = body(table, &action, guard.as_ref(), TELL, guard.is_some());
                assert_eq!(ours.sent_request(), sdk(table, &action, guard.as_ref()), "{seed}");
            }
        }
    }
}
