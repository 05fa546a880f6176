//! UpdateItem through the model: a change of natural attributes takes the folded keys made of them along.
//!
//! A key that stays behind is worse than none: the item is found by what it was. So an update that touches what a folded
//! key is made of writes the key anew in the same request, on condition that everything else it is made of is as it was
//! when the key was made.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_core::write::{Action, Guard, Update, UpdateRefusal, UpdateRequest, UpdateTask};

use crate::backoff::pause;
use crate::consumed::{self, Consumed};
use crate::error::{Call, DynamoError};
use crate::guarded::{self, Tell};
use crate::values::{copy_to_sdk, from_sdk};

/// What an update did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Updated {
    /// The units that it cost: of the write, and of a read if there was one.
    pub consumed: Consumed,
    /// How often the item was written or tried to be.
    pub attempts: u32,
    /// Was the item read?
    pub read: bool,
}

/// Changes the item with this key, given as the key itself or as the attributes it is folded from, and its folded keys
/// with it. There must be such an item.
///
/// Where a folded key is made of attributes that the update does not give, they are taken from the key and from what is
/// [expected](Update::expecting). If that is not all of them, the update is refused with `update-needs-reading`; if it
/// [allows reading](Update::reading), the item is read with strong consistency, and the write happens on condition that it
/// has not changed, [`UPDATE_ATTEMPTS_MAX`](crate::UPDATE_ATTEMPTS_MAX) times at most.
///
/// An update whose answer was lost is sent again by the SDK. That does no harm, unless the update sets an attribute that
/// it also expects: then the second attempt finds its own work, and says `expectation-failed`.
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
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            UpdateError::Refused(error) => error.code(),
            UpdateError::Dynamo(error) => error.code(),
        }
    }

    /// What the reader can do about it, where there is something to say.
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

/// Writes. If its condition does not hold, the item as it is; `None` if there is none.
async fn write(
    client: &Client,
    table: &Table,
    action: &Action,
    guard: &Guard,
) -> Result<Result<Consumed, Option<Item>>, DynamoError> {
    let tell = Tell { refused_by: true, ..Tell::default() };
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
