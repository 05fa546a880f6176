//! Writes of a whole item.

use super::action::{Action, Guard};
use super::expected::Expected;
use super::primary_key::primary_key;
use crate::condition::Condition;
use crate::index::ItemError;
use crate::model::Table;
use crate::value::Item;

/// Writes an item, with its folded keys, over whatever has its key.
pub fn put(table: &Table, item: Item) -> Result<Action, ItemError> {
    table.with_keys(item).map(Action::Put)
}

/// Deletes the item with this key, given as the key itself or as the attributes it is folded from, if it is as expected.
pub fn delete(table: &Table, key: &Item, expected: &Expected) -> Result<(Action, Option<Guard>), ItemError> {
    let guard = (!expected.is_empty()).then(|| Guard::Present(Condition::all(expected.conditions())));
    Ok((Action::Delete(primary_key(table, key)?), guard))
}
