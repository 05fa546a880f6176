//! PutItem.

use aws_sdk_dynamodb::Client;
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_core::write::{Action, Expected, Guard, delete as deletion, put as whole};

use super::{Collection, WriteError};
use crate::consumed::Consumed;
use crate::error::DynamoError;
use crate::guarded::{ResponseOptions, send};

/// Puts an item with its folded keys, replacing an item with the same key. Returns the consumed write units.
///
/// ```no_run
/// # async fn example(table: &keyfold_core::model::Table) -> Result<(), Box<dyn std::error::Error>> {
/// use keyfold_dynamo::{Settings, client, item_of, put};
/// #[derive(serde::Serialize)]
/// struct Event { id: &'static str, action: &'static str }
///
/// let client = client(&Settings::default()).await;
/// let item = item_of(table, &Event { id: "111aaa", action: "viewed" })?;
/// println!("{} write units", put(&client, table, item).await?.units);
/// # Ok(())
/// # }
/// ```
pub async fn put(client: &Client, table: &Table, item: Item) -> Result<Consumed, WriteError> {
    put_if(client, table, item, None).await
}

/// Writes an item, with its folded keys, where none has its key. If one has, the error is
/// [`DynamoError::ConditionFailed`] and holds that one.
pub async fn put_new(client: &Client, table: &Table, item: Item) -> Result<Consumed, WriteError> {
    put_if(client, table, item, Some(&Guard::Absent)).await
}

/// Puts an item with its folded keys, if the guard allows replacing the item with its key. Otherwise the error is
/// [`DynamoError::ConditionFailed`] with the existing item.
pub async fn put_if(
    client: &Client,
    table: &Table,
    item: Item,
    guard: Option<&Guard>,
) -> Result<Consumed, WriteError> {
    let tell = ResponseOptions { refused_by: guard.is_some(), ..ResponseOptions::default() };
    Ok(send(client, table, &whole(table, item)?, guard, tell).await?.consumed)
}

/// Writes an item that has its keys where none has its key, and asks how large its item collection is.
pub(super) async fn put_new_measured(
    client: &Client,
    table: &Table,
    item: Item,
) -> Result<(Consumed, Option<Collection>), DynamoError> {
    let tell =
        ResponseOptions { collection: table.local_indexes().next().is_some(), ..ResponseOptions::default() };
    let sent = send(client, table, &Action::Put(item), Some(&Guard::Absent), tell).await?;
    Ok((sent.consumed, Collection::of(table, sent.collection.as_ref())))
}

/// The result of a delete.
#[derive(Debug, Clone, PartialEq)]
pub struct Deleted {
    /// The item that was there, if one was.
    pub item: Option<Item>,
    /// The write units it cost.
    pub consumed: Consumed,
}

/// Deletes the item with this key, given as the key itself or as the attributes it is folded from.
///
/// If an expectation fails, or an expected item is missing, the error is
/// [`DynamoError::ConditionFailed`](crate::DynamoError::ConditionFailed) with the item. Without expectations, deleting
/// a missing item is no error.
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
    let (delete, guard) = deletion(table, key, expected)?;
    let tell = ResponseOptions { refused_by: true, deleted: true, ..ResponseOptions::default() };
    let sent = send(client, table, &delete, guard.as_ref(), tell).await?;
    Ok(Deleted { item: sent.deleted, consumed: sent.consumed })
}
