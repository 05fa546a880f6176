//! Which entity an item is, and the keys it should have.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use crate::attribute::OWN_ATTRIBUTE_PREFIX;
use crate::index::error::{ItemError, ItemPlace, ItemProblem};
use crate::index::key_text::key_text;
use crate::index::size::ATTRIBUTE_NAME_BYTES_MAX;
use crate::key::FoldError;
use crate::model::{EntityId, FoldRule, KeyAttribute, KeySource, Table, WhenTest};
use crate::value::{AttributeValue, Item, Name, type_letter};

/// Maximum attributes of a table's own key.
const TABLE_KEY_MAX: usize = 2;

/// Folded key attributes with their values. Most tables have few.
type FoldedKeys<'t> = SmallVec<[(&'t str, Option<String>); 4]>;

impl Table {
    /// The entity whose `when` the item fulfils; `None` if it fulfils none, an error if two.
    pub fn entity_of(&self, item: &Item) -> Result<Option<EntityId>, ItemError> {
        let mut matching = self
            .entities
            .iter()
            .enumerate()
            .filter(|(_, entity)| entity.when.iter().all(|when| when.holds(item)));
        let Some((at, first)) = matching.next() else { return Ok(None) };
        match matching.next() {
            None => Ok(Some(EntityId(at))),
            Some((_, second)) => {
                let (first, second) = (first.name.clone(), second.name.clone());
                Err(self.item_error(None, None, item, ItemProblem::TwoEntities { first, second }))
            }
        }
    }

    /// Every folded key attribute of the table and its indexes, once each, with the value that the item should have
    /// in it; `None` if it must be absent.
    pub fn folded(&self, item: &Item) -> Result<Vec<(&str, Option<String>)>, ItemError> {
        let item = &*self.with_key_parts(item);
        Ok(self.folded_as(self.entity_of(item)?, item)?.into_vec())
    }

    /// [`folded`](Self::folded) for an item whose entity is known, and which has the attributes of its keys.
    pub(crate) fn folded_of(
        &self,
        entity: Option<EntityId>,
        item: &Item,
    ) -> Result<Vec<(&str, Option<String>)>, ItemError> {
        Ok(self.folded_as(entity, item)?.into_vec())
    }

    /// The folded key attributes that do not match the item's other attributes; all of them if no keys can be folded.
    pub fn misfolded(&self, item: &Item) -> Vec<&str> {
        // A wrong key must not supply the attributes it is checked against.
        let mut natural = item.clone();
        self.folded_names().for_each(|name| drop(natural.remove(name)));
        let folded = self.entity_of(item).and_then(|entity| self.folded_as(entity, &natural));
        let is_wrong = |name: &str, wanted: &Option<String>| match (item.get(name), wanted) {
            (Some(AttributeValue::S(text)), Some(wanted)) => text != wanted,
            (there, wanted) => there.is_some() || wanted.is_some(),
        };
        match folded {
            Ok(keys) => {
                keys.iter().filter(|(name, wanted)| is_wrong(name, wanted)).map(|(name, _)| *name).collect()
            }
            Err(_) => self.folded_names().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect(),
        }
    }

    /// The folded keys of an item with a known entity, its key-only attributes included.
    fn folded_as(&self, entity: Option<EntityId>, item: &Item) -> Result<FoldedKeys<'_>, ItemError> {
        let mut folded = FoldedKeys::new();
        for (index, key) in self.every_key() {
            let KeySource::Folded(rules) = &key.source else { continue };
            if folded.iter().any(|(name, _)| *name == key.name) {
                continue;
            }
            let value = fold(rules, entity, item)
                .map_err(|error| self.item_error(index, Some(&key.name), item, ItemProblem::Fold(error)))?;
            folded.push((&key.name, value));
        }
        Ok(folded)
    }

    /// A writer's item with its keys, ready to put. Unlike items of a retrofit, it must not have Keyfold's own
    /// attributes: readers would never see them, and a retrofit would use them.
    pub fn written(&self, item: Item) -> Result<Item, ItemError> {
        self.check_names(item.keys(), &item)?;
        self.with_keys(item)
    }

    /// Checks the names of attributes that a writer gives to an item.
    pub fn check_names(
        &self,
        mut names: impl Iterator<Item: AsRef<str>>,
        item: &Item,
    ) -> Result<(), ItemError> {
        names.try_for_each(|name| match name.as_ref() {
            name if name.starts_with(OWN_ATTRIBUTE_PREFIX) => {
                Err(self.item_error(None, Some(name), item, ItemProblem::ReservedName))
            }
            name if !(1..=ATTRIBUTE_NAME_BYTES_MAX).contains(&name.len()) => {
                Err(self.item_error(None, None, item, ItemProblem::AttributeName))
            }
            _ => Ok(()),
        })
    }

    /// The item with the folded attributes it should have and none that it should not, checked by
    /// [`check_promises`](Self::check_promises) and [`check_item`](Self::check_item). No other attribute is added, changed or
    /// removed.
    pub fn with_keys(&self, mut item: Item) -> Result<Item, ItemError> {
        let parts = self.key_parts(&item);
        let names: Vec<Name> = parts.iter().map(|(name, _)| name.clone()).collect();
        item.extend(parts.iter().cloned());
        let keyed = self.with_keys_of(item, &names)?;
        self.check_parts_kept(&parts, &keyed)?;
        Ok(keyed)
    }

    /// Attributes stored only in keys (`parts`) must still be readable from the item's new keys.
    pub(crate) fn check_parts_kept(
        &self,
        parts: &[(Name, AttributeValue)],
        keyed: &Item,
    ) -> Result<(), ItemError> {
        if parts.is_empty() {
            return Ok(());
        }
        let kept = self.key_parts(keyed);
        match parts.iter().find(|part| !keyed.contains_key(&part.0) && !kept.contains(part)) {
            Some((name, _)) => Err(self.item_error(None, Some(name), keyed, ItemProblem::KeyPartLost)),
            None => Ok(()),
        }
    }

    /// [`with_keys`](Self::with_keys) for an item with values of attributes that it does not store (`not_stored`): keys
    /// are folded from them.
    pub(crate) fn with_keys_of(&self, mut item: Item, not_stored: &[Name]) -> Result<Item, ItemError> {
        let entity = self.entity_of(&item)?;
        let folded = self.folded_as(entity, &item)?;
        let identifies = |(name, _): &(&str, _)| {
            self.entities.iter().flat_map(|entity| &entity.when).any(|when| when.attribute == *name)
        };
        let is_by_key = folded.iter().any(identifies);
        item.reserve(folded.len());
        for (name, value) in folded {
            match value {
                Some(text) => item.insert(name, AttributeValue::S(text)),
                None => item.remove(name),
            };
        }
        if is_by_key {
            self.check_still(entity, &item)?;
        }
        self.check_promises_of(entity, &item)?;
        for name in not_stored {
            item.remove(name);
        }
        self.check_item(&item)?;
        Ok(item)
    }

    /// The new key must have the prefix of the entity for which it was folded, because readers identify the entity by
    /// it.
    fn check_still(&self, entity: Option<EntityId>, item: &Item) -> Result<(), ItemError> {
        let now = self.entity_of(item)?;
        let Some(other) = entity.or(now).filter(|_| now != entity) else { return Ok(()) };
        let other = &self.entities[other.0];
        let by_key = other.when.iter().find(|when| matches!(when.test, WhenTest::BeginsWith(_)));
        let problem = ItemProblem::NotThisEntity { entity: other.name.clone() };
        Err(self.item_error(None, by_key.map(|when| when.attribute.as_str()), item, problem))
    }

    /// The item as an item of this entity: missing attributes of the entity's `when` are added (the first value if
    /// several are allowed). An attribute with a conflicting value is an error.
    pub fn as_entity(&self, mut item: Item, entity: &str) -> Result<Item, ItemError> {
        let Some((id, declared)) = self.entity(entity) else {
            let problem = ItemProblem::UnknownEntity { entity: entity.to_owned() };
            return Err(self.item_error(None, None, &item, problem));
        };
        for when in &declared.when {
            if let (WhenTest::In(values), None) = (&when.test, item.get(&when.attribute)) {
                item.extend(values.first().map(|value| (&when.attribute, value.clone())));
            }
            if let (WhenTest::BeginsWith(_), None) = (&when.test, item.get(&when.attribute)) {
                self.fold_own_key(&mut item, &when.attribute, id)?;
            }
            if !when.holds(&item) {
                let problem = ItemProblem::NotThisEntity { entity: entity.to_owned() };
                return Err(self.item_error(None, Some(&when.attribute), &item, problem));
            }
        }
        // Its own `when` holds now; that of a second entity must not.
        self.entity_of(&item).map(|_| item)
    }

    /// Adds one of the table's own folded keys, for an entity that is identified by the key's prefix.
    pub(crate) fn fold_own_key(
        &self,
        item: &mut Item,
        name: &str,
        entity: EntityId,
    ) -> Result<(), ItemError> {
        let Some(key) = self.key_attributes().find(|key| key.name == name) else { return Ok(()) };
        let KeySource::Folded(rules) = &key.source else { return Ok(()) };
        let value = fold(rules, Some(entity), item)
            .map_err(|error| self.item_error(None, Some(name), item, ItemProblem::Fold(error)))?;
        item.extend(value.map(|text| (name, AttributeValue::S(text))));
        Ok(())
    }

    /// Only the item's primary key attributes; `None` if one is missing or has the wrong type.
    pub fn key_of(&self, item: &Item) -> Option<Item> {
        let mut key = Vec::with_capacity(TABLE_KEY_MAX);
        for attribute in self.key_attributes() {
            let value = item.get(&attribute.name)?;
            if type_letter(value) != attribute.scalar.letter() {
                return None;
            }
            key.push((Name::from(&attribute.name), value.clone()));
        }
        Some(key.into())
    }

    /// The key attributes of the table, then of each index with the index's name. One attribute may be in several.
    pub(crate) fn every_key(&self) -> impl Iterator<Item = (Option<&str>, &KeyAttribute)> {
        let of_indexes = self
            .indexes
            .iter()
            .flat_map(|index| index.key_attributes().map(|key| (Some(index.name.as_str()), key)));
        self.key_attributes().map(|key| (None, key)).chain(of_indexes)
    }

    /// The error about an item of this table.
    pub(crate) fn item_error(
        &self,
        index: Option<&str>,
        attribute: Option<&str>,
        item: &Item,
        problem: ItemProblem,
    ) -> ItemError {
        let at = Box::new(ItemPlace {
            table: self.id.clone(),
            index: index.map(str::to_owned),
            attribute: attribute.map(str::to_owned),
            item: key_text(self, item),
        });
        ItemError { at, problem }
    }
}

/// The key by the rule for the item's entity, or for all items; `None` if there is no such rule.
fn fold(rules: &[FoldRule], entity: Option<EntityId>, item: &Item) -> Result<Option<String>, FoldError> {
    FoldRule::of(rules, entity).map_or(Ok(None), |rule| rule.template.fold(item))
}

impl Table {
    /// Every attribute that a folded key contains, or that identifies an entity.
    pub fn key_inputs(&self) -> BTreeSet<&str> {
        let inputs = self.every_key().flat_map(|(_, key)| key.inputs());
        inputs
            .chain(
                self.entities
                    .iter()
                    .flat_map(|entity| entity.when.iter().map(|when| when.attribute.as_str())),
            )
            .collect()
    }

    /// Every attribute that [`with_keys`](Self::with_keys) can set or remove: the folded keys. One can come several times.
    pub fn folded_names(&self) -> impl Iterator<Item = &String> {
        let folded = self.every_key().filter(|(_, key)| matches!(key.source, KeySource::Folded(_)));
        folded.map(|(_, key)| &key.name)
    }
}
