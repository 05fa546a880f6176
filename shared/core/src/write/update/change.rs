//! From an update to a write: the affected folded keys, their attributes, and their new values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::refusal::UpdateRefusal;
use super::spec::Update;
use crate::condition::Condition;
use crate::index::{ItemError, ItemProblem};
use crate::model::{EntityId, FoldRule, Index, KeyAttribute, KeySource, Table, When, WhenTest};
use crate::value::{AttributeValue, Item, equal};
use crate::write::action::{Action, Guard};
use crate::write::expected::is;
use crate::write::operation::AttributeOperation;
use crate::write::scope::possible_entities;

/// The write and its condition. The item must exist too: otherwise an update would create an incomplete item.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub(super) set: BTreeMap<String, AttributeValue>,
    pub(super) remove: BTreeSet<String>,
    pub(super) condition: Condition,
}

/// Refuses updates that are invalid for every item.
pub(super) fn check(table: &Table, update: &Update) -> Result<(), UpdateRefusal> {
    if update.names().next().is_none() {
        return Err(UpdateRefusal::Empty { table: table.id.clone() });
    }
    let folded: BTreeSet<&str> = folded_keys(table).map(|key| key.name.as_str()).collect();
    for name in update.names() {
        let (table, attribute) = (table.id.clone(), name.to_owned());
        if folded.contains(name) {
            return Err(UpdateRefusal::Folded { table, attribute });
        }
    }
    // If every entity with the attribute stores it only in keys, the item is not needed to refuse the update.
    let is_stored = |name: &str| {
        let mut declared = table.entities.iter().filter_map(|entity| entity.attributes.get(name));
        declared.any(|attribute| !attribute.from_key)
    };
    if let Some(name) = key_parts(table, None, update).find(|name| !is_stored(name)) {
        return Err(UpdateRefusal::KeyPart { table: table.id.clone(), attribute: name.to_owned() });
    }
    if let Some(key) = table.key_attributes().find(|key| update.touches(&key.name)) {
        return Err(UpdateRefusal::Key { table: table.id.clone(), attribute: key.name.clone() });
    }
    let inputs: BTreeSet<&str> =
        table.every_key().map(|(_, key)| key.name.as_str()).chain(table.key_inputs()).collect();
    match update.operations.iter().map(AttributeOperation::root).find(|root| inputs.contains(root)) {
        Some(root) => Err(UpdateRefusal::Computed { table: table.id.clone(), attribute: root.to_owned() }),
        None => Ok(()),
    }
}

/// The set or removed attributes that items of this entity store only in keys. A stored copy could contradict the key,
/// and there is nothing to remove.
fn key_parts<'u>(
    table: &Table,
    entity: Option<EntityId>,
    update: &'u Update,
) -> impl Iterator<Item = &'u str> {
    update.names().filter(move |name| table.is_from_key(entity, name))
}

fn check_key_parts(table: &Table, entity: Option<EntityId>, update: &Update) -> Result<(), UpdateRefusal> {
    match key_parts(table, entity, update).next() {
        Some(name) => Err(UpdateRefusal::KeyPart { table: table.id.clone(), attribute: name.to_owned() }),
        None => Ok(()),
    }
}

impl Update {
    fn touches(&self, name: &str) -> bool {
        self.set.contains_key(name)
            || self.remove.contains(name)
            || self.operations.iter().any(|one| one.root() == name)
    }

    /// The changed attributes.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let whole = self.set.keys().chain(&self.remove).map(String::as_str);
        whole.chain(self.operations.iter().map(AttributeOperation::root))
    }

    /// The item after this update. An attribute that DynamoDB computes has a value of the right type.
    fn applied(&self, mut item: Item) -> Item {
        item.extend(self.set.iter().map(|(name, value)| (name, value.clone())));
        self.remove.iter().for_each(|name| drop(item.remove(name)));
        for operation in &self.operations {
            if !item.contains_key(operation.root()) {
                item.extend(operation.example().map(|value| (operation.root(), value)));
            }
        }
        item
    }
}

/// The change, if it needs no read; otherwise an error with the missing attributes.
pub(super) fn without_reading(
    table: &Table,
    key: &Item,
    update: &Update,
) -> Result<Result<Change, UpdateRefusal>, UpdateRefusal> {
    let known = Known::of(table, key, update)?;
    let touched = touched(table, known.entity, update);
    let is_known = |name: &&str| {
        update.touches(name) || known.item.contains_key(*name) || update.expected.get(name).is_some()
    };
    let needed = needed(table, known.entity, update, &touched);
    let missing: Vec<String> = needed.into_iter().filter(|name| !is_known(name)).map(str::to_owned).collect();
    if !missing.is_empty() {
        let keys = touched.iter().map(|key| key.name.clone()).collect();
        return Ok(Err(UpdateRefusal::NeedsReading { table: table.id.clone(), keys, missing }));
    }
    let mut whole = update.applied(known.item);
    let entity = match known.entity {
        Some(entity) => entity,
        None => table.entity_of(&whole)?,
    };
    check_key_parts(table, entity, update)?;
    table.check_change(entity, &whole, &update.remove)?;
    let mut change = Change::new(update);
    let folded = if touched.is_empty() { Vec::new() } else { table.folded_of(entity, &whole)? };
    for (name, value) in folded.into_iter().filter(|(name, _)| touched.iter().any(|key| key.name == *name)) {
        change.take_folded(table, key, &mut whole, name, value)?;
    }
    table.check_item(&whole)?;
    change.condition = Condition::all(update.expected.conditions().chain([known.condition])).simplified();
    Ok(Ok(change))
}

/// The change of an item that was read. Every wrong folded key is corrected.
pub(super) fn of_stored(
    table: &Table,
    key: &Item,
    stored: &Item,
    update: &Update,
) -> Result<Change, UpdateRefusal> {
    let mut whole = update.applied(stored.clone());
    check_key_parts(table, table.entity_of(&whole)?, update)?;
    table.check_promises(&whole)?;
    let mut change = Change::new(update);
    for (name, value) in table.folded(&whole)? {
        change.take_folded(table, key, &mut whole, name, value)?;
    }
    table.check_item(&whole)?;
    table.check_parts_kept(&table.key_parts(stored), &whole)?;
    let inputs = table.key_inputs();
    // An attribute read from a key is unchanged if the key is.
    let sources = inputs.iter().flat_map(|name| table.key_part_sources(name));
    let inputs: BTreeSet<&str> =
        inputs.iter().copied().chain(sources).filter(|name| !update.touches(name)).collect();
    let unchanged =
        inputs.into_iter().filter(|name| !key.contains_key(*name)).map(|name| is(name, stored.get(name)));
    let expected = update.expected.conditions();
    change.condition = Condition::all(unchanged.chain(expected));
    Ok(change)
}

/// The write that corrects an item's folded keys; `None` if they are right.
pub(in crate::write) fn keys_of_stored(
    table: &Table,
    key: Item,
    stored: &Item,
) -> Result<Option<(Action, Guard)>, UpdateRefusal> {
    let Change { set, remove, condition } = of_stored(table, &key, stored, &Update::new())?;
    let is_wrong =
        |name: &str, value: &AttributeValue| !stored.get(name).is_some_and(|known| equal(known, value));
    let set: Vec<_> = set.into_iter().filter(|(name, value)| is_wrong(name, value)).collect();
    let remove: Vec<String> = remove.into_iter().filter(|name| stored.contains_key(name)).collect();
    if set.is_empty() && remove.is_empty() {
        return Ok(None);
    }
    let set = set.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Ok(Some((Action::Update { key: Arc::new(key), set, remove }, Guard::Present(condition))))
}

impl Change {
    fn new(update: &Update) -> Change {
        Change { set: update.set.clone(), remove: update.remove.clone(), condition: Condition::always() }
    }

    /// Sets or removes a folded attribute. The primary key must not change.
    fn take_folded(
        &mut self,
        table: &Table,
        key: &Item,
        whole: &mut Item,
        name: &str,
        value: Option<String>,
    ) -> Result<(), UpdateRefusal> {
        let value = value.map(AttributeValue::S);
        if let Some(own) = key.get(name) {
            return match value {
                Some(value) if equal(own, &value) => Ok(()),
                _ => Err(UpdateRefusal::Key { table: table.id.clone(), attribute: name.to_owned() }),
            };
        }
        match value {
            Some(value) => {
                whole.insert(name, value.clone());
                self.set.insert(name.to_owned(), value);
            }
            None => {
                whole.remove(name);
                self.remove.insert(name.to_owned());
            }
        }
        Ok(())
    }
}

/// The known facts about the item before it is read.
struct Known {
    /// Its attributes: from its primary key, from the expectations, and from its entity.
    item: Item,
    /// Its entity after the update (`Some(None)`: none); `None` if several are possible.
    entity: Option<Option<EntityId>>,
    /// The condition under which the entity is right.
    condition: Condition,
}

impl Known {
    fn of(table: &Table, key: &Item, update: &Update) -> Result<Known, UpdateRefusal> {
        let mut item = expected_values(table, key, update);
        let asked = update.asked_entity(table, key)?;
        let asked_condition = || match asked {
            Some(EntityId(at)) => table.entities[at].condition(),
            None => Condition::always(),
        };
        if entity_inputs(table).any(|name| update.touches(name)) {
            let entity = entity_after(table, &item, update)?;
            add_parts(table, entity, key, update, &mut item);
            return Ok(Known { item, entity, condition: asked_condition() });
        }
        let mut possible = possible_entities(table, &item);
        possible.retain(|(entity, _)| {
            table.can_have_key(*entity, key)
                && can_be(table, *entity, update)
                && asked.is_none_or(|asked| *entity == Some(asked))
        });
        let (entity, condition) = match (possible.pop(), asked) {
            (None, Some(EntityId(at))) => {
                let problem = ItemProblem::NotThisEntity { entity: table.entities[at].name.clone() };
                return Err(table.item_error(None, None, key, problem).into());
            }
            (Some((entity, condition)), _) if possible.is_empty() => (entity, condition),
            _ => return Ok(Known { item, entity: None, condition: asked_condition() }),
        };
        add_parts(table, Some(entity), key, update, &mut item);
        let depends = asked.is_some() || depends_on_entity(table, update);
        let condition = if depends { condition } else { Condition::always() };
        Ok(Known { item, entity: Some(entity), condition })
    }
}

/// The entity after an update of attributes that identify it; `None` if one of them is unknown.
fn entity_after(table: &Table, item: &Item, update: &Update) -> Result<Option<Option<EntityId>>, ItemError> {
    let is_known =
        |name: &str| update.touches(name) || item.contains_key(name) || update.expected.get(name).is_some();
    match entity_inputs(table).all(is_known) {
        true => table.entity_of(&update.applied(item.clone())).map(Some),
        false => Ok(None),
    }
}

/// Adds the attributes that the primary key contains and those that the entity implies.
fn add_parts(table: &Table, entity: Option<Option<EntityId>>, key: &Item, update: &Update, item: &mut Item) {
    let Some(entity) = entity else { return };
    for (name, value) in table.primary_key_parts(entity, key).into_iter().chain(values_of(table, entity)) {
        if !item.contains_key(&name) && update.expected.get(&name).is_none() {
            item.insert(name, value);
        }
    }
}

/// Can the item be of this entity, with the attributes that it is expected to lack?
fn can_be(table: &Table, entity: Option<EntityId>, update: &Update) -> bool {
    let Some(EntityId(at)) = entity else { return true };
    let is_absent = |when: &When| update.expected.get(&when.attribute) == Some(None);
    table.entities[at].when.iter().all(|when| !is_absent(when) || when.test == WhenTest::Exists(false))
}

/// The values of attributes that identify the entity, where only one is possible.
fn values_of(table: &Table, entity: Option<EntityId>) -> impl Iterator<Item = (String, AttributeValue)> {
    let whens = entity.map_or(&[][..], |EntityId(at)| &table.entities[at].when);
    whens.iter().filter_map(|when| match &when.test {
        WhenTest::In(values) if values.len() == 1 => Some((when.attribute.clone(), values[0].clone())),
        _ => None,
    })
}

/// Does the write depend on the item's entity?
fn depends_on_entity(table: &Table, update: &Update) -> bool {
    // Its rules, and whether it is stored, can differ between entities.
    let is_of_entity = |name: &str| {
        table.entities.iter().any(|entity| entity.attributes.get(name) != table.attributes.get(name))
    };
    update.names().any(is_of_entity) || !touched(table, None, update).is_empty()
}

/// The attributes of the key and of the expectations.
fn expected_values(table: &Table, key: &Item, update: &Update) -> Item {
    let mut known = key.clone();
    let names = table.key_inputs().into_iter().chain(table.attributes.keys().map(String::as_str));
    for name in names.collect::<BTreeSet<_>>() {
        if let Some(Some(value)) = update.expected.get(name) {
            known.insert(name, value.clone());
        }
    }
    known
}

/// Every folded key attribute, of the table and of its indexes. One may come more than once.
fn folded_keys(table: &Table) -> impl Iterator<Item = &KeyAttribute> {
    let of_indexes = table.indexes.iter().flat_map(Index::key_attributes);
    table.key_attributes().chain(of_indexes).filter(|key| matches!(key.source, KeySource::Folded(_)))
}

/// The folded keys that this update may change, without duplicates: by the rules of the item's entity, if it is known.
fn touched<'t>(table: &'t Table, entity: Option<Option<EntityId>>, update: &Update) -> Vec<&'t KeyAttribute> {
    let mut touched: Vec<&KeyAttribute> = Vec::new();
    for key in folded_keys(table) {
        let by_entity = key.rules().iter().any(|rule| rule.entity.is_some());
        let other_entity = by_entity && entity_inputs(table).any(|name| update.touches(name));
        let is_new = touched.iter().all(|known| known.name != key.name);
        if is_new && (other_entity || parts(key, entity).any(|name| update.touches(name))) {
            touched.push(key);
        }
    }
    touched
}

/// The attributes in a folded key's templates, or in that of the item's entity.
fn parts(key: &KeyAttribute, entity: Option<Option<EntityId>>) -> impl Iterator<Item = &str> {
    let rules = match entity {
        None => key.rules(),
        Some(entity) => FoldRule::of(key.rules(), entity).map_or(&[][..], std::slice::from_ref),
    };
    rules.iter().flat_map(|rule| rule.template.attributes())
}

/// The attributes that identify an item's entity.
fn entity_inputs(table: &Table) -> impl Iterator<Item = &str> {
    table.entities.iter().flat_map(|entity| &entity.when).map(|when| when.attribute.as_str())
}

/// All attributes that must be known: those in affected keys, and those that the entity's rules depend on.
fn needed<'t>(
    table: &'t Table,
    entity: Option<Option<EntityId>>,
    update: &Update,
    touched: &[&'t KeyAttribute],
) -> BTreeSet<&'t str> {
    let mut needed: BTreeSet<&str> = touched.iter().flat_map(|key| parts(key, entity)).collect();
    let other_entity = entity_inputs(table).any(|name| update.touches(name));
    if other_entity {
        let possible = table.entities.iter().enumerate();
        let possible = possible.filter(|(at, _)| entity.is_none_or(|known| known == Some(EntityId(*at))));
        needed.extend(possible.flat_map(|(_, entity)| table.requires(entity)));
    }
    if entity.is_none() && (other_entity || depends_on_entity(table, update)) {
        needed.extend(entity_inputs(table));
    }
    needed
}
