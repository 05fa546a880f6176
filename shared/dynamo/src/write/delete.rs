//! DeleteItem, on condition that the item is what the caller believes it to be.

use aws_sdk_dynamodb::Client;
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_core::write::{Expected, delete as deletion};

use super::WriteError;
use crate::consumed::Consumed;
use crate::guarded::{Tell, send};

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
/// If something is expected and is not so, or the item is not there, the error is [`DynamoError::ConditionFailed`](crate::DynamoError::ConditionFailed) and
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
    let (delete, guard) = deletion(table, key, expected)?;
    let tell = Tell { refused_by: true, deleted: true, ..Tell::default() };
    let sent = send(client, table, &delete, guard.as_ref(), tell).await?;
    Ok(Deleted { item: sent.deleted, consumed: sent.consumed })
}
