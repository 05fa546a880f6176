//! UpdateItem through the model: a change of natural attributes takes the folded keys made of them along.
//!
//! A key that stays behind is worse than none: the item is found by what it was. So an update that touches what a folded
//! key is made of writes the key anew in the same request, on condition that everything else it is made of is as it was
//! when the key was made.

mod change;
mod error;
mod send;
mod spec;

use aws_sdk_dynamodb::Client;
use keyfold_core::model::Table;
use keyfold_core::value::Item;

use super::identity::primary_key;
use super::{WriteError, update::change::Change};
use crate::backoff::pause;
use crate::consumed::Consumed;

pub use error::UpdateError;
pub use spec::Update;

/// How often an update is derived anew because the item changed in between.
pub const UPDATE_ATTEMPTS_MAX: u32 = 8;

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
/// has not changed, [`UPDATE_ATTEMPTS_MAX`] times at most.
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
    let key = primary_key(table, key).map_err(WriteError::from)?;
    table.check_names(update.set.keys(), &key)?;
    change::check(table, update)?;
    match change::without_reading(table, &key, update)? {
        Ok(change) => {
            let updated = Updated { attempts: 1, ..Updated::default() };
            match send::send(client, table, &key, change).await? {
                Ok(consumed) => Ok(Updated { consumed, ..updated }),
                Err(found) => Err(refusal(table, update, found)),
            }
        }
        Err(missing) if !update.reading => Err(missing),
        Err(_) => with_reading(client, table, &key, update).await,
    }
}

async fn with_reading(
    client: &Client,
    table: &Table,
    key: &Item,
    update: &Update,
) -> Result<Updated, UpdateError> {
    let (stored, consumed) = send::read(client, table, key).await?;
    let mut stored = stored.ok_or_else(|| error::not_found(table))?;
    let mut updated = Updated { consumed, attempts: 0, read: true };
    while updated.attempts < UPDATE_ATTEMPTS_MAX {
        let differing = update.expected.differing(&stored);
        if !differing.is_empty() {
            return Err(error::expectation(table, differing, stored));
        }
        let change: Change = change::of_stored(table, key, &stored, update)?;
        updated.attempts += 1;
        match send::send(client, table, key, change).await? {
            Ok(consumed) => {
                updated.consumed.add(&consumed);
                return Ok(updated);
            }
            Err(None) => return Err(error::not_found(table)),
            Err(Some(now)) => stored = now,
        }
        pause(updated.attempts).await;
    }
    Err(UpdateError::Contended { table: table.id.clone(), attempts: updated.attempts })
}

/// Why a write on condition did not happen that took nothing from a read.
fn refusal(table: &Table, update: &Update, found: Option<Item>) -> UpdateError {
    match found {
        Some(item) => error::expectation(table, update.expected.differing(&item), item),
        None => error::not_found(table),
    }
}
