//! From an update to a write: the affected folded keys, their attributes, and their new values.

use std::collections::{BTreeMap, BTreeSet};

use super::refusal::UpdateRefusal;
use super::spec::Update;
use crate::condition::Condition;
use crate::model::{EntityId, Index, KeyAttribute, KeySource, Table};
use crate::value::{AttributeValue, Item, equal};
use crate::write::expected::is;

/// The write and its condition. The item must exist too: otherwise an update would create an incomplete item.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub(super) set: BTreeMap<String, AttributeValue>,
    pub(super) remove: BTreeSet<String>,
    pub(super) condition: Condition,
}

/// Refuses updates that are invalid for every item.
pub(super) fn check(table: &Table, update: &Update) -> Result<(), UpdateRefusal> {
    if update.set.is_empty() && update.remove.is_empty() {
        return Err(UpdateRefusal::Empty { table: table.id.clone() });
    }
    let folded: BTreeSet<&str> = folded_keys(table).map(|key| key.name.as_str()).collect();
    for name in update.set.keys().chain(&update.remove) {
        let (table, attribute) = (table.id.clone(), name.clone());
        if folded.contains(name.as_str()) {
            return Err(UpdateRefusal::Folded { table, attribute });
        }
    }
    // If every entity with the attribute stores it only in keys, the item is not needed to refuse the update.
    let is_stored = |name: &String| {
        let mut declared = table.entities.iter().filter_map(|entity| entity.attributes.get(name));
        declared.any(|attribute| !attribute.from_key)
    };
    if let Some(name) = key_parts(table, None, update).find(|name| !is_stored(name)) {
        return Err(UpdateRefusal::KeyPart { table: table.id.clone(), attribute: name.clone() });
    }
    match table.key_attributes().find(|key| update.touches(&key.name)) {
        Some(key) => Err(UpdateRefusal::Key { table: table.id.clone(), attribute: key.name.clone() }),
        None => Ok(()),
    }
}

/// The set or removed attributes that items of this entity store only in keys. A stored copy could contradict the key,
/// and there is nothing to remove.
fn key_parts<'u>(
    table: &Table,
    entity: Option<EntityId>,
    update: &'u Update,
) -> impl Iterator<Item = &'u String> {
    update.set.keys().chain(&update.remove).filter(move |name| table.is_from_key(entity, name))
}

fn check_key_parts(table: &Table, item: &Item, update: &Update) -> Result<(), UpdateRefusal> {
    match key_parts(table, table.entity_of(item)?, update).next() {
        Some(name) => Err(UpdateRefusal::KeyPart { table: table.id.clone(), attribute: name.clone() }),
        None => Ok(()),
    }
}

impl Update {
    fn touches(&self, name: &str) -> bool {
        self.set.contains_key(name) || self.remove.contains(name)
    }

    /// The item after this update.
    fn applied(&self, mut item: Item) -> Item {
        item.extend(self.set.iter().map(|(name, value)| (name, value.clone())));
        self.remove.iter().for_each(|name| drop(item.remove(name)));
        item
    }
}

/// The change, if it needs no read; otherwise an error with the missing attributes.
pub(super) fn without_reading(
    table: &Table,
    key: &Item,
    update: &Update,
) -> Result<Result<Change, UpdateRefusal>, UpdateRefusal> {
    let touched = touched(table, update);
    let needed = needed(table, update, &touched);
    let is_known =
        |name: &&str| update.touches(name) || key.contains_key(*name) || update.expected.get(name).is_some();
    let missing: Vec<String> = needed.into_iter().filter(|name| !is_known(name)).map(str::to_owned).collect();
    if !missing.is_empty() {
        let keys = touched.iter().map(|key| key.name.clone()).collect();
        return Ok(Err(UpdateRefusal::NeedsReading { table: table.id.clone(), keys, missing }));
    }
    let known = update.applied(known(table, key, update));
    check_key_parts(table, &known, update)?;
    table.check_change(&known, &update.remove)?;
    let mut change = Change::new(update);
    let folded = if touched.is_empty() { Vec::new() } else { table.folded(&known)? };
    let mut whole = known;
    for (name, value) in folded.into_iter().filter(|(name, _)| touched.iter().any(|key| key.name == *name)) {
        change.take_folded(table, key, &mut whole, name, value)?;
    }
    table.check_item(&whole)?;
    change.condition = Condition::all(update.expected.conditions());
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
    check_key_parts(table, &whole, update)?;
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

/// The known attributes of the item before a read.
fn known(table: &Table, key: &Item, update: &Update) -> Item {
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

/// The folded keys that this update may change, without duplicates.
fn touched<'t>(table: &'t Table, update: &Update) -> Vec<&'t KeyAttribute> {
    let mut touched: Vec<&KeyAttribute> = Vec::new();
    for key in folded_keys(table) {
        let is_new = touched.iter().all(|known| known.name != key.name);
        if is_new && inputs(table, key).iter().any(|name| update.touches(name)) {
            touched.push(key);
        }
    }
    touched
}

/// The attributes in a folded key's templates, and those that decide which template applies.
fn inputs<'t>(table: &'t Table, key: &'t KeyAttribute) -> BTreeSet<&'t str> {
    let KeySource::Folded(rules) = &key.source else { return BTreeSet::new() };
    let mut inputs: BTreeSet<&str> = rules.iter().flat_map(|rule| rule.template.attributes()).collect();
    if rules.iter().any(|rule| rule.entity.is_some()) {
        inputs.extend(entity_inputs(table));
    }
    inputs
}

/// The attributes that identify an item's entity.
fn entity_inputs(table: &Table) -> impl Iterator<Item = &str> {
    table.entities.iter().flat_map(|entity| &entity.when).map(|when| when.attribute.as_str())
}

/// All attributes that must be known: those in affected keys, and those that the entity's rules depend on.
fn needed<'t>(table: &'t Table, update: &Update, touched: &[&'t KeyAttribute]) -> BTreeSet<&'t str> {
    let mut needed: BTreeSet<&str> = touched.iter().flat_map(|key| inputs(table, key)).collect();
    let required = || table.entities.iter().flat_map(|entity| table.requires(entity));
    let other_entity = entity_inputs(table).any(|name| update.touches(name));
    if other_entity {
        needed.extend(required());
    }
    // Its rules, and whether it is stored, can differ between entities.
    let is_of_entity = |name: &String| {
        table.entities.iter().any(|entity| entity.attributes.get(name) != table.attributes.get(name))
    };
    if other_entity || !touched.is_empty() || update.set.keys().chain(&update.remove).any(is_of_entity) {
        needed.extend(entity_inputs(table));
    }
    needed
}
