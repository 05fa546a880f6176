//! UpdateItem through the model: a change of natural attributes also updates the folded keys made of them.
//!
//! A stale key is worse than none, because the item is found under its old values. So an update of an attribute in a
//! folded key rewrites the key in the same request, on condition that the key's other attributes have not changed.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_core::write::{Action, Guard, Update, UpdateRefusal, UpdateRequest, UpdateTask};

use crate::backoff::pause;
use crate::consumed::{self, Consumed};
use crate::error::{Call, DynamoError};
use crate::guarded::{self, ResponseOptions};
use crate::values::{copy_to_sdk, from_sdk};

/// The result of an update.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Updated {
    /// The units that it cost: of the write, and of a read if there was one.
    pub consumed: Consumed,
    /// How often the item was written or tried to be.
    pub attempts: u32,
    /// Was the item read?
    pub read: bool,
}

/// Updates the existing item with this key, given as the key itself or as the attributes it is folded from, and its
/// folded keys.
///
/// Attributes of a folded key that the update does not set are taken from the key and from
/// [`expecting`](Update::expecting). If some are still missing, the update is refused with `update-needs-reading`,
/// unless it [allows reading](Update::reading): then the item is read strongly consistently and written on condition
/// that it has not changed, in at most [`UPDATE_ATTEMPTS_MAX`](crate::UPDATE_ATTEMPTS_MAX) attempts.
///
/// If a response is lost, the SDK sends the update again. That is harmless, unless the update sets an attribute that it
/// also expects: then the second attempt finds the new value and fails with `expectation-failed`.
///
/// ```no_run
/// # async fn example(client: &keyfold_dynamo::Client, table: &keyfold_core::model::Table) -> Result<(), Box<dyn std::error::Error>> {
/// # use keyfold_core::value::Item;
/// use keyfold_dynamo::{Update, update};
/// let key: Item = serde_json::from_str(r#"{"id":{"S":"111aaa"}}"#)?;
/// // `byResourceActionUser` is made of the action, the resource and the user: the item must be read for the other two.
/// let change = Update::new().set_typed("action", &"edited")?.remove("note").reading();
/// update(client, table, &key, &change).await?;
/// # Ok(())
/// # }
/// ```
pub async fn update(
    client: &Client,
    table: &Table,
    key: &Item,
    update: &Update,
) -> Result<Updated, UpdateError> {
    let mut task = UpdateTask::new(table, key, update.clone())?;
    let mut updated = Updated::default();
    loop {
        match task.request() {
            UpdateRequest::Read(key) => {
                let (stored, consumed) = read(client, table, key).await?;
                updated = Updated { consumed, attempts: 0, read: true };
                task.was_read(stored)?;
            }
            UpdateRequest::Write(action, guard) => {
                updated.attempts += 1;
                match write(client, table, action, guard).await? {
                    Ok(consumed) => {
                        updated.consumed.add(&consumed);
                        return Ok(updated);
                    }
                    Err(found) => task.was_refused(found)?,
                }
                pause(updated.attempts).await;
            }
        }
    }
}

/// Why an update did not happen. Nothing was written, unless a call failed without an answer.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// It cannot happen, or the item is not such that it may.
    #[error(transparent)]
    Refused(#[from] UpdateRefusal),
    /// A call failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
}

impl UpdateError {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            UpdateError::Refused(error) => error.code(),
            UpdateError::Dynamo(error) => error.code(),
        }
    }

    /// A suggestion, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            UpdateError::Refused(error) => error.hint(),
            UpdateError::Dynamo(error) => error.hint(),
        }
    }

    /// Can the same update succeed a little later?
    pub fn is_retryable(&self) -> bool {
        match self {
            UpdateError::Refused(error) => error.is_retryable(),
            UpdateError::Dynamo(error) => error.is_retryable(),
        }
    }
}

/// Writes. If the condition fails: the stored item, or `None` if it is missing.
async fn write(
    client: &Client,
    table: &Table,
    action: &Action,
    guard: &Guard,
) -> Result<Result<Consumed, Option<Item>>, DynamoError> {
    let tell = ResponseOptions { refused_by: true, ..ResponseOptions::default() };
    match guarded::send(client, table, action, Some(guard), tell).await {
        Ok(sent) => Ok(Ok(sent.consumed)),
        Err(DynamoError::ConditionFailed { item, .. }) => Ok(Err(item.into_revealed().map(|item| *item))),
        Err(error) => Err(error),
    }
}

/// Reads an item with strong consistency.
async fn read(client: &Client, table: &Table, key: &Item) -> Result<(Option<Item>, Consumed), DynamoError> {
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
    let consumed = consumed::of(answer.consumed_capacity());
    let item = answer.item.map(from_sdk).transpose();
    Ok((item.map_err(|_| DynamoError::Unreadable { call: call() })?, consumed))
}
