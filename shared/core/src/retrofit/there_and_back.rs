//! A trial of the way back, before `plan` and `switch` promise one: each item is mapped to the target and back again.
//!
//! An item that comes back unchanged proves the way back for this item only. An item that does not come back names the entity for
//! which the way back fails, and the reason.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::diff::{Diff, entity_name};
use super::mapping::{Mapping, NO_WAY_BACK};
use super::misfit::Tally;
use super::source_key::SourceKey;
use crate::model::Table;
use crate::value::Item;

/// The results of the trial.
#[derive(Debug, Clone, PartialEq)]
pub struct ThereAndBack {
    back: Mapping,
    /// The number of items that came back, by entity.
    came_back: BTreeMap<Option<String>, u64>,
    refused: BTreeMap<(Option<String>, String), Tally>,
    changes: Diff,
}

/// Items of one entity that the way back would not carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotCarriedBack<'t> {
    /// The entity; `None` for items without one.
    pub entity: Option<&'t str>,
    /// The code that the quarantine would have for them.
    pub code: &'t str,
    /// How many items.
    pub items: u64,
    /// The keys of some of them, in the source.
    pub examples: &'t [Item],
}

impl ThereAndBack {
    /// For a retrofit that has a way back by its manifest; `None` for others.
    pub fn of(mapping: &Mapping) -> Option<ThereAndBack> {
        Some(ThereAndBack {
            back: mapping.reverse().ok()?,
            came_back: BTreeMap::new(),
            refused: BTreeMap::new(),
            changes: Diff::default(),
        })
    }

    /// Takes a source item's image in the target back.
    pub fn add(&mut self, source: &Item, mapped: &Item) {
        let mapping = self.back.forward();
        let entity = entity_name(mapping, source, mapped);
        let came_back = self.came_back.entry(entity.clone()).or_default();
        let carried = self.back.carried(Cow::Borrowed(mapped));
        match &carried {
            // An item that comes back under another key would be another item.
            Ok(Some(again)) if is_same_key(mapping.source(), source, again) => {
                *came_back += 1;
                self.changes.add(mapping, source, again);
            }
            refused => {
                let code = match refused {
                    Ok(Some(_)) => NO_WAY_BACK,
                    Ok(None) => "not-selected",
                    Err(reason) => reason.code(),
                };
                let tally = self.refused.entry((entity, code.to_owned())).or_default();
                tally.add(mapping.source().key_of(source).as_ref());
            }
        }
    }

    /// Items that would not be carried back, by entity.
    pub fn refused(&self) -> impl Iterator<Item = NotCarriedBack<'_>> {
        self.refused.iter().map(|((entity, code), tally)| NotCarriedBack {
            entity: entity.as_deref(),
            code,
            items: tally.items,
            examples: &tally.examples,
        })
    }

    /// Of these, the items of entities of which no item came back: such an entity has no way back.
    pub fn lost(&self) -> impl Iterator<Item = NotCarriedBack<'_>> {
        self.refused().filter(|one| self.came_back.get(&one.entity.map(str::to_owned)) == Some(&0))
    }

    /// Attributes that come back changed: folded keys of the source that are not as the manifest makes them.
    pub fn changes(&self) -> &Diff {
        &self.changes
    }

    /// Entities of the source of which no item was tried.
    pub fn untried(&self) -> impl Iterator<Item = &str> {
        let entities = self.back.forward().source().entities.iter().map(|entity| entity.name.as_str());
        entities.filter(|name| !self.came_back.contains_key(&Some((*name).to_owned())))
    }

    /// As a document.
    pub fn json(&self) -> Value {
        let refused = self.refused().map(|one| {
            json!({ "entity": one.entity, "code": one.code, "items": one.items, "examples": one.examples })
        });
        json!({
            "refused": refused.collect::<Vec<_>>(),
            "changes": self.changes.json(&self.back)["found"],
            "untried": self.untried().collect::<Vec<_>>(),
        })
    }
}

fn is_same_key(table: &Table, a: &Item, b: &Item) -> bool {
    SourceKey::of(table, a) == SourceKey::of(table, b)
}
