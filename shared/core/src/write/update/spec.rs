//! What an update asks for.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::value::AttributeValue;
use crate::write::expected::Expected;
use crate::write::typed::{NotAnItem, value_of};

/// A change of one item: whole attributes that are set or removed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Update {
    pub(super) set: BTreeMap<String, AttributeValue>,
    pub(super) remove: BTreeSet<String>,
    pub(super) expected: Expected,
    pub(super) reading: bool,
}

impl Update {
    /// A change of nothing yet.
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

    /// Sets an attribute to what a value is by serde.
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

    /// What the item must be for the update to happen. Folded keys are made with it, so nothing need be read.
    #[must_use]
    pub fn expecting(mut self, expected: Expected) -> Update {
        self.expected = expected;
        self
    }

    /// Allows the item to be read if its folded keys cannot be known otherwise.
    #[must_use]
    pub fn reading(mut self) -> Update {
        self.reading = true;
        self
    }
}
