//! Which tables and indexes hold all their items, as an input of the planner.
//!
//! A retrofit fills an index item by item. Until it is cut over, a query of the index gives the items that it has reached and
//! hides the others. The planner does not use such an index; it cannot know by itself which one that is, because it reads
//! nothing. The callers read it from the control table.

use std::collections::BTreeMap;

/// What is pending. Everything else is complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Readiness {
    pending: BTreeMap<(String, Option<String>), Pending>,
}

/// Why an index, or a whole table, does not hold all its items yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Pending {
    /// A retrofit fills it.
    #[error("is being filled by retrofit `{retrofit}`: {progress}")]
    Retrofit {
        /// The retrofit's name.
        retrofit: String,
        /// How far the retrofit is: `3 of 8 segments`, `not started`.
        progress: String,
    },
    /// The manifest has the index and the table does not, or DynamoDB is still filling it.
    #[error("is not in the table yet, or DynamoDB is still filling it")]
    Missing,
}

impl Readiness {
    /// Nothing is pending.
    pub fn complete() -> Readiness {
        Readiness::default()
    }

    /// An index of a table is pending. `table` is the table's id in the manifest.
    pub fn add_index(&mut self, table: impl Into<String>, index: impl Into<String>, pending: Pending) {
        self.pending.insert((table.into(), Some(index.into())), pending);
    }

    /// A whole table is pending, with all its indexes. `table` is the table's id in the manifest.
    pub fn add_table(&mut self, table: impl Into<String>, pending: Pending) {
        self.pending.insert((table.into(), None), pending);
    }

    /// Is everything complete?
    pub fn is_complete(&self) -> bool {
        self.pending.is_empty()
    }

    /// Why the table (`None`) or one of its indexes must not be read. A pending table makes all its indexes pending.
    pub fn pending(&self, table: &str, index: Option<&str>) -> Option<&Pending> {
        // Nearly always nothing is pending, and a look-up needs owned names.
        if self.pending.is_empty() {
            return None;
        }
        let of = |index: Option<&str>| self.pending.get(&(table.to_owned(), index.map(str::to_owned)));
        of(None).or_else(|| of(Some(index?)))
    }
}
