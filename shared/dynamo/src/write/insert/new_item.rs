//! A new item on its way into the table.

use keyfold_core::value::Item;

use keyfold_core::write::PrimaryKey;

/// An item on its way.
#[derive(Debug, Clone)]
pub(super) struct NewItem {
    /// Its place among the items given.
    pub(super) at: usize,
    pub(super) key: PrimaryKey,
    /// With its folded keys.
    pub(super) item: Item,
}
