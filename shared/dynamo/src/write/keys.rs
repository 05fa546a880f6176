//! The item with its folded keys: the one door through which items go to a table of the model.

use keyfold_core::model::{KeyAttribute, KeySource, Table};
use keyfold_core::value::Item;

/// Why an item's keys cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("table `{table}`: key `{attribute}` is folded, and folding is not built in yet")]
pub struct KeysError {
    /// The table's name in DynamoDB.
    pub table: String,
    /// The key attribute.
    pub attribute: String,
}

// The stand-in for `Table::with_keys` of keyfold-core: this function becomes `table.with_keys(item)`, and `KeysError`
// the core's `ItemError`. Until then a table whose keys are all natural needs nothing done.
pub(super) fn with_keys(table: &Table, item: Item) -> Result<Item, KeysError> {
    let keys = table.indexes.iter().flat_map(|index| index.key_attributes());
    let folded = |key: &&KeyAttribute| matches!(key.source, KeySource::Folded(_));
    match table.key_attributes().chain(keys).find(folded) {
        None => Ok(item),
        Some(key) => Err(KeysError { table: table.name.clone(), attribute: key.name.clone() }),
    }
}
