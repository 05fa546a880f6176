//! The requests of a task, and their outcomes.

use super::control;
use crate::condition::{Comparison, Condition, Path};
use crate::value::Item;
pub use crate::write::{Action, Guard};

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableRole {
    /// The table that is read. In place, it is the target too.
    Source,
    /// The table that is written.
    Target,
    /// The control table.
    Control,
}

/// A request of a task.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "most are writes, and a box would be one more allocation for each item"
)]
pub enum Request {
    /// The item with this key, strongly consistent.
    Get {
        /// Of which table.
        role: TableRole,
        /// Its key.
        key: Item,
    },
    /// One guarded write.
    Write(Write),
    /// Several guarded writes of different items, all or none.
    Transact(Vec<Write>),
}

impl Request {
    /// Does it write?
    pub fn writes(&self) -> bool {
        !matches!(self, Request::Get { .. })
    }

    /// Does it write an item of the source or of the target, or an item's row? Before such a request a worker makes sure that its phase is
    /// not over.
    pub fn writes_items(&self) -> bool {
        match self {
            Request::Get { .. } => false,
            // After the end of the retrofit, a row would stay for good.
            Request::Write(Write { role: TableRole::Control, action, .. }) => {
                control::is_of_ledger(action.key())
            }
            Request::Write(_) | Request::Transact(_) => true,
        }
    }
}

/// A write and the condition without which it must not happen.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// To which table.
    pub role: TableRole,
    /// The written item.
    pub action: Action,
    /// When.
    pub guard: Guard,
}

/// A comparison with one attribute.
pub(super) fn is(attribute: impl Into<String>, comparison: Comparison) -> Condition {
    Condition::Is(Path::attribute(attribute), comparison)
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    /// The item, or its absence.
    Item(Option<Item>),
    /// It was written, all of it.
    Written,
    /// The write's guard did not hold.
    Refused(ItemSeen),
    /// The transaction's guards did not all hold; for each write, whether its own did.
    Cancelled(Vec<bool>),
    /// DynamoDB does not accept the write whatever is there: with the reason's code.
    Rejected(String),
    /// It was not sent: items are written in another way by now.
    Outdated,
}

/// The reason of a refused write.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemSeen {
    /// Not known.
    Unknown,
    /// No item.
    Nothing,
    /// This item.
    Item(Box<Item>),
}
