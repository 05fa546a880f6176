//! Several guarded writes, all or none.

use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, Delete, Put, ReturnConsumedCapacity, TransactWriteItem, Update,
};
use keyfold_core::query::expression::ConditionExpression;
use keyfold_core::retrofit::{Action, Response, Write};

use super::RequestSender;
use super::write::update_expression;
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError};
use crate::values::{copy_to_sdk, names_to_sdk, values_to_sdk};

/// Sends the writes as one transaction.
pub(super) async fn transact(sender: &RequestSender, writes: &[Write]) -> Result<Response, DynamoError> {
    let call = || Call::new("TransactWriteItems", &sender.table(writes[0].place).name);
    let items = writes.iter().map(|write| item(sender, write)).collect::<Result<Vec<_>, _>>();
    let items = items.map_err(|error| DynamoError::of_build(call(), &error))?;
    let sent = sender
        .client()
        .transact_write_items()
        .set_transact_items(Some(items))
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await;
    match sent {
        Ok(answer) => {
            for one in answer.consumed_capacity() {
                sender.wrote(one.table_name().unwrap_or_default(), &Consumed::of(Some(one)));
            }
            Ok(Response::Written)
        }
        Err(error) => match cancellation(&error) {
            Some(reasons) => cancelled(reasons, call()),
            None => Err(DynamoError::of(call(), error)),
        },
    }
}

fn cancellation<R>(error: &SdkError<TransactWriteItemsError, R>) -> Option<&[CancellationReason]> {
    match error.as_service_error()? {
        TransactWriteItemsError::TransactionCanceledException(cancelled) => {
            Some(cancelled.cancellation_reasons())
        }
        _ => None,
    }
}

/// What a cancelled transaction means: some guard did not hold, or it can be sent again, or it never can.
fn cancelled(reasons: &[CancellationReason], call: Call) -> Result<Response, DynamoError> {
    let code = |reason: &CancellationReason| reason.code().unwrap_or("None").to_owned();
    let codes: Vec<String> = reasons.iter().map(code).collect();
    if codes.iter().any(|code| code == "ConditionalCheckFailed") {
        return Ok(Response::Cancelled(codes.iter().map(|code| code != "ConditionalCheckFailed").collect()));
    }
    let permanent =
        |code: &&String| matches!(code.as_str(), "ValidationError" | "ItemCollectionSizeLimitExceeded");
    if let Some(code) = codes.iter().find(permanent) {
        return Ok(Response::Rejected(code.clone()));
    }
    let throttled = codes.iter().any(|code| code.contains("Throughput") || code.contains("Throttling"));
    Err(if throttled {
        DynamoError::Throttled { call, reasons: Vec::new() }
    } else {
        DynamoError::Conflict { call }
    })
}

fn item(sender: &RequestSender, write: &Write) -> Result<TransactWriteItem, BuildError> {
    let table = sender.table(write.place);
    let mut condition = ConditionExpression::of(&write.guard.condition(&table.partition.name));
    let update = update_expression(&write.action, &mut condition);
    let (names, values) = (names_to_sdk(&condition.names), values_to_sdk(&condition.values));
    let builder = TransactWriteItem::builder();
    Ok(match &write.action {
        Action::Put(item) => builder.put(
            Put::builder()
                .table_name(&table.name)
                .set_item(Some(copy_to_sdk(item)))
                .condition_expression(condition.text)
                .set_expression_attribute_names(names)
                .set_expression_attribute_values(values)
                .build()?,
        ),
        Action::Update { key, .. } => builder.update(
            Update::builder()
                .table_name(&table.name)
                .set_key(Some(copy_to_sdk(key)))
                .update_expression(update)
                .condition_expression(condition.text)
                .set_expression_attribute_names(names)
                .set_expression_attribute_values(values)
                .build()?,
        ),
        Action::Delete(key) => builder.delete(
            Delete::builder()
                .table_name(&table.name)
                .set_key(Some(copy_to_sdk(key)))
                .condition_expression(condition.text)
                .set_expression_attribute_names(names)
                .set_expression_attribute_values(values)
                .build()?,
        ),
    }
    .build())
}
