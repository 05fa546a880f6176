//! Attributes stored only in a folded key: in many tables an item's id is only in `c#12345`.
//!
//! Such an attribute is virtual. It is read from the key if an item lacks it, never added to a stored item, and never
//! removed from one that has it.

use std::borrow::Cow;

use crate::key::Unfolded;
use crate::model::{EntityId, FoldRule, KeySource, Table};
use crate::value::{AttributeValue, Item, Name};

impl Table {
    /// The item with the attributes that only its keys contain.
    pub fn with_key_parts<'i>(&self, item: &'i Item) -> Cow<'i, Item> {
        let parts = self.key_parts(item);
        if parts.is_empty() {
            return Cow::Borrowed(item);
        }
        let mut whole = item.clone();
        whole.extend(parts);
        Cow::Owned(whole)
    }

    /// Does the table have attributes that only keys contain?
    pub fn has_key_parts(&self) -> bool {
        self.attributes.values().any(|attribute| attribute.from_key)
    }

    /// The attributes needed to read this one from an item's keys: every key that contains it, and all that identify
    /// entities. Empty if the attribute is not read from a key.
    pub fn key_part_sources<'t>(&'t self, attribute: &'t str) -> impl Iterator<Item = &'t str> {
        let from_key = self.attributes.get(attribute).is_some_and(|declared| declared.from_key);
        let holds = move |rules: &[FoldRule]| rules.iter().any(|rule| rule.template.keeps(attribute));
        let keys = self.every_key().filter(move |(_, key)| match &key.source {
            KeySource::Folded(rules) => holds(rules),
            KeySource::Natural => false,
        });
        let whens = self.entities.iter().flat_map(|entity| &entity.when);
        let names = keys.map(|(_, key)| key.name.as_str()).chain(whens.map(|when| when.attribute.as_str()));
        names.filter(move |_| from_key)
    }

    /// The exact value of this attribute in the item's primary key, if the key contains it.
    pub fn in_primary_key(&self, item: &Item, attribute: &str) -> Option<AttributeValue> {
        self.in_primary_key_of(self.entity_of(item).ok().flatten(), item, attribute)
    }

    /// [`in_primary_key`](Self::in_primary_key) for an item whose entity is known.
    pub(crate) fn in_primary_key_of(
        &self,
        entity: Option<EntityId>,
        item: &Item,
        attribute: &str,
    ) -> Option<AttributeValue> {
        self.key_attributes().find_map(|key| match &key.source {
            KeySource::Natural => (key.name == attribute).then(|| item.get(attribute).cloned())?,
            KeySource::Folded(rules) => {
                let AttributeValue::S(text) = item.get(&key.name)? else { return None };
                let rule = FoldRule::of(rules, entity)?;
                let parts = rule.template.unfold(text).ok()?;
                parts.into_iter().find_map(|(name, part)| match part {
                    Unfolded::Value(value) if name == attribute => Some(value),
                    _ => None,
                })
            }
        })
    }

    /// The exact values of attributes that the primary key of an item of this entity contains.
    pub(crate) fn primary_key_parts(
        &self,
        entity: Option<EntityId>,
        key: &Item,
    ) -> Vec<(String, AttributeValue)> {
        let unfolded = self.key_attributes().filter_map(|attribute| {
            let AttributeValue::S(text) = key.get(&attribute.name)? else { return None };
            FoldRule::of(attribute.rules(), entity)?.template.unfold(text).ok()
        });
        let exact = unfolded.flatten().filter_map(|(name, part)| match part {
            Unfolded::Value(value) => Some((name.to_owned(), value)),
            _ => None,
        });
        exact.collect()
    }

    /// Can the templates of this entity produce this primary key?
    pub(crate) fn can_have_key(&self, entity: Option<EntityId>, item: &Item) -> bool {
        self.key_attributes().all(|key| match (&key.source, item.get(&key.name)) {
            (KeySource::Folded(rules), Some(AttributeValue::S(text))) => {
                FoldRule::of(rules, entity).is_some_and(|rule| rule.template.unfold(text).is_ok())
            }
            _ => true,
        })
    }

    /// The missing attributes of the item that its keys contain.
    pub(crate) fn key_parts(&self, item: &Item) -> Vec<(Name, AttributeValue)> {
        // Most tables have no such attribute.
        let mut in_keys = self.attributes.values().filter(|attribute| attribute.from_key);
        if in_keys.all(|attribute| item.contains_key(&attribute.name)) {
            return Vec::new();
        }
        let entity = self.entity_of(item).ok().flatten();
        let is_missing = |name: &str| self.is_from_key(entity, name) && !item.contains_key(name);
        let mut parts: Vec<(Name, AttributeValue)> = Vec::new();
        for (_, key) in self.every_key() {
            let (KeySource::Folded(rules), Some(AttributeValue::S(text))) =
                (&key.source, item.get(&key.name))
            else {
                continue;
            };
            let Some(rule) = FoldRule::of(rules, entity) else {
                continue;
            };
            if !rule.template.attributes().any(&is_missing) {
                continue;
            }
            for (name, part) in rule.template.unfold(text).unwrap_or_default() {
                if let (Unfolded::Value(value), true) = (part, is_missing(name))
                    && !parts.iter().any(|(known, _)| known == name)
                {
                    parts.push((name.into(), value));
                }
            }
        }
        parts
    }
}
