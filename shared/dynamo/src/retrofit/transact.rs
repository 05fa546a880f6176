//! Several guarded writes, all or none.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, ReturnConsumedCapacity};
use keyfold_core::retrofit::{Response, Write};

use super::RequestSender;
use crate::consumed;
use crate::error::{Call, DynamoError};
use crate::guarded::part_of_transaction;

impl RequestSender {
    /// Sends the writes as one transaction.
    pub(super) async fn transact(&self, writes: &[Write]) -> Result<Response, DynamoError> {
        let call = || Call::new("TransactWriteItems", &self.table(writes[0].role).name);
        let item = |write: &Write| part_of_transaction(self.table(write.role), &write.action, &write.guard);
        let items = writes.iter().map(item).collect::<Result<Vec<_>, _>>();
        let items = items.map_err(|error| DynamoError::of_build(call(), &error))?;
        let sent = self
            .client()
            .transact_write_items()
            .set_transact_items(Some(items))
            .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
            .send()
            .await;
        match sent {
            Ok(answer) => {
                for one in answer.consumed_capacity() {
                    self.wrote(one.table_name().unwrap_or_default(), &consumed::of(Some(one)));
                }
                Ok(Response::Written)
            }
            Err(error) => match cancellation(&error) {
                Some(reasons) => cancelled(reasons, call()),
                None => Err(DynamoError::of(call(), error)),
            },
        }
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

/// The meaning of a cancelled transaction: some guard did not hold, or it can be sent again, or it never can.
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
