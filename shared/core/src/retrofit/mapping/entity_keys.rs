//! Primary keys by entity. Entities of the source and of the target are paired by name.
//!
//! Where the source's key fixes the target's, each key is made of the other. A key is taken apart by the templates of its entity in one
//! table, and made by those of the other. Each way is checked by the other: two source keys never have one target key.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::Mapping;
use crate::index::{ItemError, ItemProblem};
use crate::key::Unfolded;
use crate::model::{EntityId, FoldRule, KeyAttribute, Table, When};
use crate::value::{AttributeValue, Item, Name};

impl Mapping {
    /// The target's key, by the entity that the source's key says.
    pub(super) fn key_by_entity(&self, source_key: &Item) -> Result<Item, ItemError> {
        let key = self.source.key_of(source_key).unwrap_or_default();
        let place = self.place(&key).filter(|place| self.origin_by_entity(place).as_ref() == Some(&key));
        place.ok_or_else(|| self.not_fixed(&key))
    }

    /// The source's key for such a key.
    pub(super) fn origin_by_entity(&self, target_key: &Item) -> Option<Item> {
        let place = self.target.key_of(target_key)?;
        let of_entity = |at: usize| {
            let (id, _) = self.source.entity(&self.target.entities[at].name)?;
            let said = key_parts(&self.target, EntityId(at), &place)?;
            let back = |name: &str| self.retrofit.rename.get(name).map_or(name, String::as_str).to_owned();
            let key = self.source.key_attributes().map(|key| {
                let stored = said.get(&back(&key.name)).cloned();
                let made = || made(key, id, |name| said.get(&back(name)).cloned());
                Some((Name::from(&key.name), stored.or_else(made)?))
            });
            let key = Item::from(key.collect::<Option<Vec<_>>>()?);
            (self.place(&key).as_ref() == Some(&place)).then_some(key)
        };
        let mut found = (0..self.target.entities.len()).filter_map(of_entity);
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }

    /// The error for a source item whose attributes contradict its key.
    pub(super) fn not_fixed(&self, source_item: &Item) -> ItemError {
        let key = &self.target.partition.name;
        self.target.item_error(None, Some(key), source_item, ItemProblem::KeyNotFixed)
    }

    /// Folds the keys of the target's entity with the same name, if the target recognizes its items by these keys only.
    pub(super) fn fold_paired_key(
        &self,
        of_source: Option<EntityId>,
        item: &mut Item,
    ) -> Result<(), ItemError> {
        let paired = of_source.and_then(|id| self.target.entity(&self.source.entities[id.0].name));
        let is_untold = || matches!(self.target.entity_of(item), Ok(None));
        let Some((id, _)) = paired.filter(|_| is_untold()) else { return Ok(()) };
        self.target.key_attributes().try_for_each(|key| self.target.fold_own_key(item, &key.name, id))
    }

    /// The target's key for a source key. If the source key fits several entities, all of them must have the same target key.
    fn place(&self, key: &Item) -> Option<Item> {
        let mut found = (0..self.source.entities.len()).filter_map(|at| self.place_of(EntityId(at), key));
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }

    /// The target's key for an item of this entity; `None` if the source's key does not fit the entity.
    fn place_of(&self, entity: EntityId, key: &Item) -> Option<Item> {
        let declared = &self.source.entities[entity.0];
        let (id, _) = self.target.entity(&declared.name)?;
        let can_be = |when: &When| !key.contains_key(&when.attribute) || when.holds(key);
        let mut said = key_parts(&self.source, entity, key).filter(|_| declared.when.iter().all(can_be))?;
        said.extend(key.iter().map(|(name, value)| (name.clone(), value.clone())));
        let said = self.renamed(Cow::Owned(said));
        let made = |key: &KeyAttribute| made(key, id, |name| said.get(name).cloned());
        let key = self.target.key_attributes().map(|key| Some((Name::from(&key.name), made(key)?)));
        Some(Item::from(key.collect::<Option<Vec<_>>>()?))
    }
}

/// The attribute values in a primary key, read by the templates of an entity; `None` if they cannot make this key.
fn key_parts(table: &Table, entity: EntityId, key: &Item) -> Option<Item> {
    let mut said = Item::default();
    for attribute in table.key_attributes() {
        let value = key.get(&attribute.name)?;
        match (FoldRule::of(attribute.rules(), Some(entity)), value) {
            (None, value) => {
                said.insert(&attribute.name, value.clone());
            }
            (Some(rule), AttributeValue::S(text)) => {
                for (name, part) in rule.template.unfold(text).ok()? {
                    if let Unfolded::Value(value) = part {
                        said.insert(name, value);
                    }
                }
            }
            _ => return None,
        }
    }
    Some(said)
}

/// A key attribute of an entity's item.
fn made(
    key: &KeyAttribute,
    entity: EntityId,
    value: impl Fn(&str) -> Option<AttributeValue>,
) -> Option<AttributeValue> {
    let Some(rule) = FoldRule::of(key.rules(), Some(entity)) else { return value(&key.name) };
    let inputs = rule.template.attributes().filter_map(|name| Some((Name::from(name), value(name)?)));
    let inputs = Item::from(inputs.collect::<Vec<_>>());
    rule.template.fold(&inputs).ok().flatten().map(AttributeValue::S)
}
