//! An item from an argument.

use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_core::write::item_of_json;

use crate::refusal::{coded, explained};
use crate::support::argument_or_stdin;

/// The longest item text that is accepted: DynamoDB's 400 KB, with room for the JSON notation.
const ITEM_TEXT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// An item from an argument; `-` reads standard input.
pub(crate) fn read_item(table: &Table, argument: &str) -> anyhow::Result<Item> {
    let text = argument_or_stdin(argument, ITEM_TEXT_BYTES_MAX)?;
    item_of_json(table, &text)
        .map_err(|error| coded(error.code(), &format!("the item cannot be read: {error}")))
}

/// The item, with the attribute that says which entity it is.
pub(crate) fn of_entity(table: &Table, item: Item, entity: Option<&str>) -> anyhow::Result<Item> {
    match entity {
        Some(entity) => table.as_entity(item, entity).map_err(explained),
        None => Ok(item),
    }
}
