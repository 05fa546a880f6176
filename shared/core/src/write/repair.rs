//! The repair of an item whose folded keys do not match its attributes, for consumers of a stream.

use super::action::{Action, Guard};
use super::update::{UpdateRefusal, keys_of_stored};
use crate::model::Table;
use crate::value::Item;

/// The write that corrects the folded keys of an item, on condition that their inputs are still those of this image;
/// `None` if they are right.
///
/// ```
/// # let text = "[tables.visits]\npartition = \"id\"\nindexes.byUser.partition = \"{user}-{place}\"\n[tables.visits.attributes]\nid = \"string\"\nuser = \"string\"\nplace = \"string\"\n";
/// # let table = keyfold_core::manifest::parse("keyfold.toml", text).model.unwrap().tables.remove(0);
/// use keyfold_core::write::{item_of_json, put, repair};
/// let image = item_of_json(&table, r#"{"id": "1", "user": "joe1", "place": "harbour"}"#)?;
/// assert!(repair(&table, &image)?.is_some());
/// assert_eq!(repair(&table, &table.with_keys(image)?)?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn repair(table: &Table, image: &Item) -> Result<Option<(Action, Guard)>, UpdateRefusal> {
    let key = table.key_of(image).map_or_else(|| table.check_item(image).map(|()| image.clone()), Ok)?;
    keys_of_stored(table, key, image)
}
