//! The expected state of an item before a write.

use std::collections::BTreeMap;

use crate::condition::{Comparison, Condition, Path};
use crate::value::{AttributeValue, Item, equal};

/// Expected attributes, each with a value or absent, and further conditions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expected {
    attributes: BTreeMap<String, Option<AttributeValue>>,
    further: Vec<Condition>,
}

impl Expected {
    /// No expectations.
    pub fn nothing() -> Expected {
        Expected::default()
    }

    /// The attribute must have this value.
    #[must_use]
    pub fn value(mut self, name: impl Into<String>, value: AttributeValue) -> Expected {
        self.attributes.insert(name.into(), Some(value));
        self
    }

    /// The attribute must be absent.
    #[must_use]
    pub fn absent(mut self, name: impl Into<String>) -> Expected {
        self.attributes.insert(name.into(), None);
        self
    }

    /// Are there no expectations?
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty() && self.further.is_empty()
    }

    /// The stored item must fulfil this condition too.
    #[must_use]
    pub fn also(mut self, condition: Condition) -> Expected {
        self.further.extend((!condition.is_always()).then_some(condition));
        self
    }

    /// Does this stored item match the expectations?
    pub(super) fn holds(&self, item: &Item) -> bool {
        self.conditions().all(|condition| condition.holds(item))
    }

    /// The expected value of this attribute, if there is one.
    pub(super) fn get(&self, name: &str) -> Option<Option<&AttributeValue>> {
        self.attributes.get(name).map(Option::as_ref)
    }

    /// The attributes of an item that differ from the expectations.
    pub(super) fn differing(&self, item: &Item) -> Vec<String> {
        let differs = |(name, wanted): (&String, &Option<AttributeValue>)| match (item.get(name), wanted) {
            (Some(value), Some(wanted)) => !equal(value, wanted),
            (value, wanted) => value.is_some() != wanted.is_some(),
        };
        self.attributes.iter().filter(|entry| differs(*entry)).map(|(name, _)| name.clone()).collect()
    }

    /// The expectations as conditions.
    pub fn conditions(&self) -> impl Iterator<Item = Condition> {
        let attributes = self.attributes.iter().map(|(name, wanted)| is(name, wanted.as_ref()));
        attributes.chain(self.further.iter().cloned())
    }
}

/// The attribute has this value, or is absent.
pub(super) fn is(name: &str, wanted: Option<&AttributeValue>) -> Condition {
    let comparison = wanted.map_or(Comparison::Exists(false), |value| Comparison::Equal(value.clone()));
    Condition::Is(Path::attribute(name), comparison)
}
