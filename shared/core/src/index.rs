//! From an item to what DynamoDB stores of it: sizes, folded keys, index entries, and what a change writes.
//!
//! Everything here is about one item at a time and asks nothing of DynamoDB:
//!
//! - [`item_bytes`] measures an item as DynamoDB bills it;
//! - [`Table::with_keys`](crate::model::Table::with_keys) gives an item its folded keys and checks it as a write would;
//! - [`Index::entry`](crate::model::Index::entry) is the entry an index holds for a stored item, or why it holds none;
//! - [`changes`] is what one write does to the table and each index, in write units;
//! - [`collection_level`] watches the 10 GB limit of tables with local indexes.
//!
//! What units cost in dollars is in [`cost`](crate::cost).

mod change;
mod error;
mod fold;
mod key_parts;
mod key_text;
mod project;
mod promises;
mod size;
mod storage;
mod validate;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

pub use change::{IndexAction, IndexWrite, TableWrite, changes};
pub use error::{ItemError, ItemPlace, ItemProblem, KeyProblem};
pub use project::Absence;
pub use size::{ITEM_BYTES_MAX, NESTING_LEVELS_MAX, attribute_bytes, item_bytes, value_bytes};
pub use storage::{CollectionLevel, STORAGE_OVERHEAD_BYTES, collection_level, item_storage_bytes};
