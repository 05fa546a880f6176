//! The specification of an update.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::index::{ItemError, ItemProblem};
use crate::model::{EntityId, Table};
use crate::value::{AttributeValue, Item};
use crate::write::expected::Expected;
use crate::write::operation::AttributeOperation;
use crate::write::typed::{NotAnItem, value_of};

/// A change of one item: whole attributes that are set or removed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Update {
    pub(super) set: BTreeMap<String, AttributeValue>,
    pub(super) remove: BTreeSet<String>,
    pub(super) expected: Expected,
    pub(super) entity: Option<String>,
    pub(super) operations: Vec<AttributeOperation>,
    pub(super) reading: bool,
}

impl Update {
    /// An empty update.
    pub fn new() -> Update {
        Update::default()
    }

    /// Sets an attribute.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: AttributeValue) -> Update {
        let name = name.into();
        self.remove.remove(&name);
        self.set.insert(name, value);
        self
    }

    /// Sets an attribute to a serde value.
    pub fn set_typed<T: Serialize>(self, name: impl Into<String>, value: &T) -> Result<Update, NotAnItem> {
        Ok(self.set(name, value_of(value)?))
    }

    /// Removes an attribute.
    #[must_use]
    pub fn remove(mut self, name: impl Into<String>) -> Update {
        let name = name.into();
        self.set.remove(&name);
        self.remove.insert(name);
        self
    }

    /// The expected state of the item. Folded keys can use it, which avoids a read.
    #[must_use]
    pub fn expecting(mut self, expected: Expected) -> Update {
        self.expected = expected;
        self
    }

    /// The item must be of this entity. Only the keys of this entity count then, which avoids a read.
    #[must_use]
    pub fn of_entity(mut self, entity: impl Into<String>) -> Update {
        self.entity = Some(entity.into());
        self
    }

    /// The entity that the item must be of.
    pub(super) fn asked_entity(&self, table: &Table, key: &Item) -> Result<Option<EntityId>, ItemError> {
        let find = |name: &String| match table.entity(name) {
            Some((entity, _)) => Ok(entity),
            None => {
                Err(table.item_error(None, None, key, ItemProblem::UnknownEntity { entity: name.clone() }))
            }
        };
        self.entity.as_ref().map(find).transpose()
    }

    /// Allows reading the item if its folded keys need unknown attributes.
    #[must_use]
    pub fn reading(mut self) -> Update {
        self.reading = true;
        self
    }
}
