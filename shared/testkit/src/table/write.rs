//! Writes: put, update, delete, each on a condition.

use keyfold_core::index::changes;
use keyfold_core::query::Condition;
use keyfold_core::value::{AttributeValue, Item, equal};

use super::ModelTable;
use super::capacity::WriteConsumed;
use super::error::TableError;
use super::position::Position;
use super::validate::check_condition;

/// One change of an update.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// `SET`
    Set(String, AttributeValue),
    /// `REMOVE`
    Remove(String),
}

/// A write that was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The item as it was.
    pub old: Option<Item>,
    /// The consumption.
    pub consumed: WriteConsumed,
}

impl ModelTable {
    /// Puts an item unchanged, replacing an item with its key, if the condition holds for that one.
    pub fn put(&mut self, item: Item, condition: &Condition) -> Result<Written, TableError> {
        self.table.check_item(&item)?;
        let position = self.position_of(&item)?;
        self.write(position, Some(item), condition)
    }

    /// Changes some attributes of the item with this key, or creates it.
    pub fn update(
        &mut self,
        key: &Item,
        changes: &[Change],
        condition: &Condition,
    ) -> Result<Written, TableError> {
        let position = self.key_position(key)?;
        let mut item = self.items.get(&position).cloned().unwrap_or_else(|| key.clone());
        for change in changes {
            let (Change::Set(name, _) | Change::Remove(name)) = change;
            if self.table.key_attributes().any(|key| key.name == *name) {
                return Err(TableError::KeyChanged { attribute: name.clone() });
            }
            match change {
                Change::Set(name, value) => item.insert(name.clone(), value.clone()),
                Change::Remove(name) => item.remove(name),
            };
        }
        self.table.check_item(&item)?;
        self.write(position, Some(item), condition)
    }

    /// Deletes the item with this key, if there is one and the condition holds.
    pub fn delete(&mut self, key: &Item, condition: &Condition) -> Result<Written, TableError> {
        let position = self.key_position(key)?;
        self.write(position, None, condition)
    }

    fn write(
        &mut self,
        position: Position,
        new: Option<Item>,
        condition: &Condition,
    ) -> Result<Written, TableError> {
        check_condition(condition)?;
        let old = self.items.get(&position).cloned();
        let none = Item::default();
        if !condition.holds(old.as_ref().unwrap_or(&none)) {
            return Err(TableError::ConditionFailed { old: old.map(Box::new) });
        }
        let consumed = WriteConsumed::from(changes(&self.table, old.as_ref(), new.as_ref()));
        self.tell_indexes(old.as_ref(), new.as_ref());
        match new {
            Some(item) => self.items.insert(position, item),
            None => self.items.remove(&position),
        };
        Ok(Written { old, consumed })
    }

    /// The item with this key.
    pub fn get(&self, key: &Item) -> Result<Option<&Item>, TableError> {
        let position = self.key_position(key)?;
        Ok(self.items.get(&position))
    }

    /// The position of a key without further attributes.
    fn key_position(&self, key: &Item) -> Result<Position, TableError> {
        if key.len() > self.table.key_attributes().count() {
            return Err(TableError::KeyExcess);
        }
        self.position_of(key)
    }

    pub(super) fn position_of(&self, item: &Item) -> Result<Position, TableError> {
        for key in self.table.key_attributes() {
            let Some(value) = item.get(&key.name) else {
                return Err(TableError::KeyIncomplete { attribute: key.name.clone() });
            };
            let blank = equal(value, &AttributeValue::S(String::new()))
                || equal(value, &AttributeValue::B(Vec::new()));
            if blank || keyfold_core::value::type_letter(value) != key.scalar.letter() {
                return Err(TableError::KeyValue { attribute: key.name.clone() });
            }
        }
        self.shape.position(item).ok_or(TableError::StartKey)
    }
}
