//! What an item must still be for a write to happen.

use std::collections::BTreeMap;

use crate::condition::{Comparison, Condition, Path};
use crate::value::{AttributeValue, Item, equal};

/// Attributes, and what they must be: this value, or absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expected(BTreeMap<String, Option<AttributeValue>>);

impl Expected {
    /// Nothing is expected.
    pub fn nothing() -> Expected {
        Expected::default()
    }

    /// The attribute must have this value.
    #[must_use]
    pub fn value(mut self, name: impl Into<String>, value: AttributeValue) -> Expected {
        self.0.insert(name.into(), Some(value));
        self
    }

    /// The attribute must not be there.
    #[must_use]
    pub fn absent(mut self, name: impl Into<String>) -> Expected {
        self.0.insert(name.into(), None);
        self
    }

    /// Is nothing expected?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is expected of this attribute, if anything is.
    pub(super) fn get(&self, name: &str) -> Option<Option<&AttributeValue>> {
        self.0.get(name).map(Option::as_ref)
    }

    /// The attributes of an item that are not as expected.
    pub(super) fn differing(&self, item: &Item) -> Vec<String> {
        let differs = |(name, wanted): (&String, &Option<AttributeValue>)| match (item.get(name), wanted) {
            (Some(value), Some(wanted)) => !equal(value, wanted),
            (value, wanted) => value.is_some() != wanted.is_some(),
        };
        self.0.iter().filter(|entry| differs(*entry)).map(|(name, _)| name.clone()).collect()
    }

    /// The conditions that say so.
    pub fn conditions(&self) -> impl Iterator<Item = Condition> {
        self.0.iter().map(|(name, wanted)| is(name, wanted.as_ref()))
    }
}

/// The attribute has this value, or is absent.
pub(super) fn is(name: &str, wanted: Option<&AttributeValue>) -> Condition {
    let comparison = wanted.map_or(Comparison::Exists(false), |value| Comparison::Equal(value.clone()));
    Condition::Is(Path::attribute(name), comparison)
}
