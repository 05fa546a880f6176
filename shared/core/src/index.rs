//! From an item to its stored form in DynamoDB: sizes, folded keys, index entries, and the writes of a change.
//!
//! Everything here concerns one item and does no I/O:
//!
//! - [`item_bytes`] measures an item as DynamoDB bills it;
//! - [`Table::with_keys`](crate::model::Table::with_keys) gives an item its folded keys and checks it as a write would;
//! - [`Index::entry`](crate::model::Index::entry) is the index entry of a stored item, or the reason for its absence;
//! - [`changes`] computes the write units of one write in the table and each index;
//! - [`collection_level`] watches the 10 GB limit of tables with local indexes.
//!
//! [`cost`](crate::cost) prices the units.

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
