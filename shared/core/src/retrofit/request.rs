//! What a task can ask for, and what can come of it.

use crate::condition::{Comparison, Condition, Path};
use crate::value::{AttributeValue, Item};

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

/// What a task wants sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// The item with this key, strongly consistent.
    Get {
        /// Of which table.
        place: TableRole,
        /// Its key.
        key: Item,
    },
    /// One guarded write.
    Write(Write),
    /// Several guarded writes of different items, all or none.
    Transact(Vec<Write>),
}

/// A write and the condition without which it must not happen.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// To which table.
    pub place: TableRole,
    /// What is written.
    pub action: Action,
    /// When.
    pub guard: Guard,
}

/// What is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// This item, in place of whatever has its key.
    Put(Item),
    /// Some attributes of an item.
    Update {
        /// The item's key.
        key: Item,
        /// Attributes that get a value.
        set: Vec<(String, AttributeValue)>,
        /// Attributes that go.
        remove: Vec<String>,
    },
    /// The item with this key goes.
    Delete(Item),
}

/// When a write may happen.
#[derive(Debug, Clone, PartialEq)]
pub enum Guard {
    /// There is no item with this key.
    Absent,
    /// There is one, and it fulfils this condition.
    Present(Condition),
    /// There is none, or it fulfils this condition.
    AbsentOr(Condition),
}

impl Guard {
    /// There is an item in which this attribute has this value.
    pub fn equals(attribute: &str, value: AttributeValue) -> Guard {
        Guard::Present(is(attribute, Comparison::Equal(value)))
    }

    /// Does it let a write over what is there happen?
    pub fn holds(&self, there: Option<&Item>) -> bool {
        match (self, there) {
            (Guard::Absent | Guard::AbsentOr(_), None) => true,
            (Guard::Absent, Some(_)) | (Guard::Present(_), None) => false,
            (Guard::Present(condition) | Guard::AbsentOr(condition), Some(item)) => condition.holds(item),
        }
    }

    /// As a condition on the item, where `key` is the table's partition key: every item has that.
    pub fn condition(&self, key: &str) -> Condition {
        let there = |wanted| is(key, Comparison::Exists(wanted));
        match self {
            Guard::Absent => there(false),
            Guard::Present(condition) => Condition::all([there(true), condition.clone()]),
            Guard::AbsentOr(condition) => Condition::Any(vec![there(false), condition.clone()]),
        }
    }
}

/// A comparison with one attribute.
pub(super) fn is(attribute: &str, comparison: Comparison) -> Condition {
    Condition::Is(Path::attribute(attribute), comparison)
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    /// The item, or that there is none.
    Got(Option<Item>),
    /// It was written, all of it.
    Written,
    /// The write's guard did not hold.
    Refused(ItemSeen),
    /// The transaction's guards did not all hold; for each write, whether its own did.
    Cancelled(Vec<bool>),
    /// DynamoDB does not accept the write whatever is there: with the reason's code.
    Rejected(String),
}

/// What a refused write met.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemSeen {
    /// Not told.
    Unknown,
    /// No item.
    Nothing,
    /// This item.
    Item(Box<Item>),
}
