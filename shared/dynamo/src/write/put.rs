//! PutItem.

use aws_sdk_dynamodb::Client;
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_core::write::{Action, Guard, put as whole};

use super::{Collection, WriteError};
use crate::consumed::Consumed;
use crate::error::DynamoError;
use crate::guarded::{Tell, send};

/// Writes an item, with its folded keys, over whatever has its key. Returns the write units it cost.
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

/// Writes an item, with its folded keys, if what has its key is such that it may. Otherwise the error is
/// [`DynamoError::ConditionFailed`] and holds what is there.
pub async fn put_if(
    client: &Client,
    table: &Table,
    item: Item,
    guard: Option<&Guard>,
) -> Result<Consumed, WriteError> {
    let tell = Tell { refused_by: guard.is_some(), ..Tell::default() };
    Ok(send(client, table, &whole(table, item)?, guard, tell).await?.consumed)
}

/// Writes an item that has its keys where none has its key, and asks how large its item collection is.
pub(super) async fn put_new_measured(
    client: &Client,
    table: &Table,
    item: Item,
) -> Result<(Consumed, Option<Collection>), DynamoError> {
    let tell = Tell { collection: table.local_indexes().next().is_some(), ..Tell::default() };
    let sent = send(client, table, &Action::Put(item), Some(&Guard::Absent), tell).await?;
    Ok((sent.consumed, Collection::of(table, sent.collection.as_ref())))
}
