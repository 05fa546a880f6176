//! A write of one item, and the guard that must hold for it. `keyfold-dynamo` and the simulator execute it with the
//! same meaning.

use std::sync::Arc;

use super::expected::Expected;
use super::primary_key::primary_key;
use crate::condition::{Comparison, Condition, Path};
use crate::index::ItemError;
use crate::model::Table;
use crate::value::{AttributeValue, Item, Name};

/// The action of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Puts this item, replacing an item with the same key.
    Put(Item),
    /// Some attributes of an item.
    Update {
        /// The item's key, shared with its writer.
        key: Arc<Item>,
        /// Attributes that get a value.
        set: Vec<(Name, AttributeValue)>,
        /// Removed attributes.
        remove: Vec<String>,
    },
    /// Deletes the item with this key.
    Delete(Item),
}

impl Action {
    /// The key of what it writes; of a put the whole item.
    pub fn key(&self) -> &Item {
        match self {
            Action::Put(key) | Action::Delete(key) => key,
            Action::Update { key, .. } => key,
        }
    }
}

/// The guard of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Guard {
    /// There is no item with this key.
    Absent,
    /// There is one, and it fulfils this condition.
    Present(Condition),
    /// There is no item, or it fulfils this condition.
    AbsentOr(Condition),
}

impl Guard {
    /// There is an item in which this attribute has this value.
    pub fn equals(attribute: &str, value: AttributeValue) -> Guard {
        Guard::Present(Condition::Is(Path::attribute(attribute), Comparison::Equal(value)))
    }

    /// Does the stored item allow the write?
    pub fn holds(&self, there: Option<&Item>) -> bool {
        match (self, there) {
            (Guard::Absent | Guard::AbsentOr(_), None) => true,
            (Guard::Absent, Some(_)) | (Guard::Present(_), None) => false,
            (Guard::Present(condition) | Guard::AbsentOr(condition), Some(item)) => condition.holds(item),
        }
    }

    /// As a condition on the item, where `key` is the table's partition key: every item has that.
    pub fn condition(&self, key: &str) -> Condition {
        let there = |wanted| Condition::Is(Path::attribute(key), Comparison::Exists(wanted));
        match self {
            Guard::Absent => there(false),
            Guard::Present(condition) => Condition::all([there(true), condition.clone()]),
            Guard::AbsentOr(condition) => Condition::Any(vec![there(false), condition.clone()]),
        }
    }
}

/// Puts an item with its folded keys, replacing an item with the same key.
pub fn put(table: &Table, item: Item) -> Result<Action, ItemError> {
    table.with_keys(item).map(Action::Put)
}

/// Deletes the item with this key, given as the key itself or as the attributes it is folded from, if the expectations
/// hold.
pub fn delete(table: &Table, key: &Item, expected: &Expected) -> Result<(Action, Option<Guard>), ItemError> {
    let guard = (!expected.is_empty()).then(|| Guard::Present(Condition::all(expected.conditions())));
    Ok((Action::Delete(primary_key(table, key)?), guard))
}
