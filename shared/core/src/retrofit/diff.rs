//! The changes of a retrofit on the items that it has mapped, by entity and attribute: with counts and a few keys, never with what an item
//! holds.
//!
//! [`Mapping::announced`] says what may change on any item. A [`Diff`] says on how many items it does.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::mapping::{ChangeOf, Mapping};
use super::misfit::Tally;
use crate::model::Table;
use crate::value::{AttributeValue, Item, equal};

/// The attributes in which two states of an item differ, and how.
pub fn changed_attributes<'i>(before: &'i Item, after: &'i Item) -> Vec<(&'i str, ChangeOf)> {
    let differs = |name: &str, value: &AttributeValue| match before.get(name) {
        None => Some(ChangeOf::Added),
        Some(known) => (!equal(known, value)).then_some(ChangeOf::Changed),
    };
    let now = after.iter().filter_map(|(name, value)| Some((name.as_str(), differs(name, value)?)));
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    now.chain(gone.map(|name| (name.as_str(), ChangeOf::Removed))).collect()
}

/// The entity of a source item and what is made of it: that of the source, or of the target where the source has none.
pub(super) fn entity_name(mapping: &Mapping, source: &Item, mapped: &Item) -> Option<String> {
    let name = |table: &Table, item: &Item| {
        let id = table.entity_of(item).ok().flatten()?;
        Some(table.entities[id.0].name.clone())
    };
    name(mapping.source(), source).or_else(|| name(mapping.target(), mapped))
}

/// What changes, on how many items.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diff {
    found: BTreeMap<(Option<String>, String, ChangeOf), Tally>,
}

/// One change of one attribute of one entity's items.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiffLine<'d> {
    /// The entity of the source, or of the target where the source has none; `None` for items of no entity.
    pub entity: Option<&'d str>,
    /// The attribute.
    pub attribute: &'d str,
    /// What becomes of it.
    pub change: ChangeOf,
    /// How many items.
    pub items: u64,
    /// The keys of some of them, in the source.
    pub examples: &'d [Item],
}

impl Diff {
    /// Counts what becomes of a source item.
    pub fn add(&mut self, mapping: &Mapping, source: &Item, mapped: &Item) {
        let changes = changed_attributes(source, mapped);
        if changes.is_empty() {
            return;
        }
        let entity = entity_name(mapping, source, mapped);
        let key = mapping.source().key_of(source);
        for (attribute, change) in changes {
            let of = (entity.clone(), attribute.to_owned(), change);
            self.found.entry(of).or_default().add(key.as_ref());
        }
    }

    /// Every change, by entity and attribute.
    pub fn lines(&self) -> impl Iterator<Item = DiffLine<'_>> {
        self.found.iter().map(|((entity, attribute, change), tally)| DiffLine {
            entity: entity.as_deref(),
            attribute,
            change: *change,
            items: tally.items,
            examples: &tally.examples,
        })
    }

    /// The same with other numbers of items: a sample's as those of the whole table.
    #[must_use]
    pub fn scaled(mut self, up: impl Fn(u64) -> u64) -> Diff {
        self.found.values_mut().for_each(|tally| tally.items = up(tally.items));
        self
    }

    /// As a document. Attributes that may change, and did on none of these items, have a line as well.
    pub fn json(&self, mapping: &Mapping) -> Value {
        let line = |attribute: &str| json!({ "attribute": attribute, "because": mapping.causes(attribute), "keyOf": mapping.key_of_indexes(attribute) });
        let found = self.lines().map(|found| {
            let mut line = line(found.attribute);
            line["entity"] = json!(found.entity);
            line["change"] = json!(found.change.name());
            line["items"] = json!(found.items);
            line["examples"] = json!(found.examples);
            line
        });
        let is_found = |attribute: &str| self.found.keys().any(|(_, found, _)| found == attribute);
        let others = mapping.announced().keys().filter(|attribute| !is_found(attribute));
        json!({ "found": found.collect::<Vec<_>>(), "possible": others.map(|name| line(name)).collect::<Vec<_>>() })
    }
}
