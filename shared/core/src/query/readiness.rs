//! Which tables and indexes are complete, as an input of the planner.
//!
//! A retrofit fills an index item by item. Until the cut-over, a query of the index returns only the items reached so
//! far, so the planner does not use it. Callers read the state from the control table, because the planner does no I/O.

use std::collections::BTreeMap;

/// The pending tables and indexes. All others are complete.
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
    /// A server withholds it, because its key holds an attribute that callers must not see.
    #[error("is not used here: its key holds a hidden attribute")]
    Withheld,
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
        // Usually nothing is pending, and a look-up allocates names.
        if self.pending.is_empty() {
            return None;
        }
        let of = |index: Option<&str>| self.pending.get(&(table.to_owned(), index.map(str::to_owned)));
        of(None).or_else(|| of(Some(index?)))
    }
}
