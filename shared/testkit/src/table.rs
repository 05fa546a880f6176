//! A DynamoDB table in memory: items in key order, local indexes that are always current, global ones that lag until
//! the test lets them catch up.
//!
//! Index entries and costs are computed by core. Limits, pages, start keys and refusals follow DynamoDB and are
//! implemented here again, so that the two can be compared.

mod capacity;
mod error;
mod position;
mod read;
mod store;
mod validate;
mod write;

use std::collections::VecDeque;

use keyfold_core::model::{Index, IndexKind, Table};
use keyfold_core::value::Item;

pub use capacity::{ReadConsumed, WriteConsumed};
pub use error::TableError;
pub(crate) use read::key_holds;
pub use read::{Page, Read, Shown};
pub use write::{Change, Written};

use position::{KeyShape, Position};
use store::Store;

/// A table, its indexes, and the writes that the global ones have not seen yet.
#[derive(Debug, Clone)]
pub struct ModelTable {
    table: Table,
    shape: KeyShape,
    items: Store,
    indexes: Vec<IndexState>,
    lagging: bool,
}

/// The current state of one index.
#[derive(Debug, Clone)]
struct IndexState {
    shape: KeyShape,
    entries: Store,
    /// Writes that it has not seen, oldest first. Always empty for a local index.
    behind: VecDeque<IndexChange>,
}

/// The effect of one write on one index.
#[derive(Debug, Clone)]
struct IndexChange {
    remove: Option<Position>,
    put: Option<(Position, Item)>,
}

impl ModelTable {
    /// An empty table whose global indexes see every write at once.
    pub fn new(table: &Table) -> ModelTable {
        let state = |index: &Index| IndexState {
            shape: KeyShape::of_index(table, index),
            entries: Store::default(),
            behind: VecDeque::new(),
        };
        ModelTable {
            shape: KeyShape::of_table(table),
            items: Store::default(),
            indexes: table.indexes.iter().map(state).collect(),
            table: table.clone(),
            lagging: false,
        }
    }

    /// The same table, with global indexes that see nothing until [`catch_up`](Self::catch_up).
    #[must_use]
    pub fn lagging(self) -> ModelTable {
        ModelTable { lagging: true, ..self }
    }

    /// The model of this table.
    pub fn model(&self) -> &Table {
        &self.table
    }

    /// Every item, in the order of the keys.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.items.values()
    }

    /// Lets each global index see its `writes` oldest unseen writes. Returns how many were seen.
    pub fn catch_up(&mut self, writes: usize) -> usize {
        self.indexes.iter_mut().map(|index| index.catch_up(writes)).sum()
    }

    /// Removes every entry of an index, as before a retrofit has filled it.
    pub fn empty_index(&mut self, name: &str) {
        let at = self.table.indexes.iter().position(|index| index.name == name);
        if let Some(at) = at {
            self.indexes[at].entries = Store::default();
        }
    }

    /// Tells every index of a change of one item.
    fn tell_indexes(&mut self, old: Option<&Item>, new: Option<&Item>) {
        for (index, state) in self.table.indexes.iter().zip(&mut self.indexes) {
            let position = |item: &Item| state.shape.position(item);
            let change = IndexChange {
                remove: old
                    .and_then(|item| index.entry(&self.table, item).ok())
                    .and_then(|entry| position(&entry)),
                put: new
                    .and_then(|item| index.entry(&self.table, item).ok())
                    .and_then(|entry| Some((position(&entry)?, entry))),
            };
            if change.remove.is_none() && change.put.is_none() {
                continue;
            }
            state.behind.push_back(change);
            if index.kind == IndexKind::Local || !self.lagging {
                state.catch_up(usize::MAX);
            }
        }
    }
}

impl IndexState {
    fn catch_up(&mut self, writes: usize) -> usize {
        let seen = writes.min(self.behind.len());
        for change in self.behind.drain(..seen) {
            if let Some(position) = change.remove {
                self.entries.remove(&position);
            }
            if let Some((position, entry)) = change.put {
                self.entries.insert(position, entry);
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests;
