//! What DynamoDB checks when an item is written, checked before it is sent.

use crate::index::error::{ItemError, ItemPlace};
use crate::index::key_rules::{KeyProblem, index_keys, key_problem, table_keys};
use crate::index::limits::{ITEM_BYTES_MAX, NESTING_LEVELS_MAX};
use crate::index::size::item_bytes;
use crate::key::KeyRole;
use crate::model::{KeyAttribute, KeySource, Table};
use crate::value::{AttributeValue, Item, Number, NumberError, has_duplicates};

impl Table {
    /// Checks an item as DynamoDB does on a write: the table's key is complete; key attributes, those of indexes
    /// included, have their type, are not empty and not too long; values are ones that DynamoDB can hold; the item is
    /// at most 400 KB.
    pub fn check_item(&self, item: &Item) -> Result<(), ItemError> {
        for (role, key) in table_keys(self) {
            if !item.contains_key(&key.name) {
                let at = self.place(None, Some(&key.name), item);
                return Err(match self.lacks_entity(key, item) {
                    true => ItemError::NoEntity { at },
                    false => ItemError::MissingKey { at },
                });
            }
            self.check_key(None, role, key, item)?;
        }
        for index in &self.indexes {
            for (role, key) in index_keys(index) {
                self.check_key(Some(&index.name), role, key, item)?;
            }
        }
        self.check_values(item)?;
        self.check_size(item)
    }

    /// Checks that DynamoDB can hold these values of attributes.
    pub fn check_values(&self, item: &Item) -> Result<(), ItemError> {
        item.iter().try_for_each(|(name, value)| {
            check_value(value).map_err(|problem| problem.at(self.place(None, Some(name), item)))
        })
    }

    /// Is the key made by entities alone, and the item of none of them?
    fn lacks_entity(&self, key: &KeyAttribute, item: &Item) -> bool {
        let KeySource::Folded(rules) = &key.source else { return false };
        rules.iter().all(|rule| rule.entity.is_some()) && matches!(self.entity_of(item), Ok(None))
    }

    /// Checks that an item is at most 400 KB.
    pub(crate) fn check_size(&self, item: &Item) -> Result<(), ItemError> {
        match item_bytes(item) {
            bytes if bytes > ITEM_BYTES_MAX => {
                Err(ItemError::ItemTooLarge { at: self.place(None, None, item), bytes })
            }
            _ => Ok(()),
        }
    }

    fn check_key(
        &self,
        index: Option<&str>,
        role: KeyRole,
        key: &KeyAttribute,
        item: &Item,
    ) -> Result<(), ItemError> {
        let Some(problem) = item.get(&key.name).and_then(|value| key_problem(key, role, value)) else {
            return Ok(());
        };
        let at = self.place(index, Some(&key.name), item);
        Err(match problem {
            KeyProblem::WrongType { found } => {
                ItemError::KeyType { at, expected: key.scalar.letter(), found }
            }
            KeyProblem::Empty => ItemError::EmptyKey { at },
            KeyProblem::TooLong { bytes, bytes_max } => ItemError::KeyTooLong { at, bytes, bytes_max },
        })
    }
}

enum ValueProblem {
    Number(NumberError),
    EmptySet,
    RepeatedInSet,
    TooDeep,
}

impl ValueProblem {
    fn at(self, at: Box<ItemPlace>) -> ItemError {
        match self {
            ValueProblem::Number(source) => ItemError::Number { at, source },
            ValueProblem::EmptySet => ItemError::EmptySet { at },
            ValueProblem::RepeatedInSet => ItemError::RepeatedInSet { at },
            ValueProblem::TooDeep => ItemError::TooDeep { at },
        }
    }
}

fn check_value(value: &AttributeValue) -> Result<(), ValueProblem> {
    check_nested(value, NESTING_LEVELS_MAX - 1)
}

/// `containers_left`: how many lists or maps may still be around a scalar here. It bounds the recursion too.
fn check_nested(value: &AttributeValue, containers_left: u32) -> Result<(), ValueProblem> {
    let inner = || containers_left.checked_sub(1).ok_or(ValueProblem::TooDeep);
    match value {
        AttributeValue::N(text) => check_number(text),
        AttributeValue::L(values) => {
            let left = inner()?;
            values.iter().try_for_each(|value| check_nested(value, left))
        }
        AttributeValue::M(values) => {
            let left = inner()?;
            values.values().try_for_each(|value| check_nested(value, left))
        }
        AttributeValue::Ss(texts) => check_set(value, texts.is_empty()),
        AttributeValue::Bs(binaries) => check_set(value, binaries.is_empty()),
        AttributeValue::Ns(texts) => {
            texts.iter().try_for_each(|text| check_number(text))?;
            check_set(value, texts.is_empty())
        }
        AttributeValue::S(_) | AttributeValue::B(_) | AttributeValue::Bool(_) | AttributeValue::Null(_) => {
            Ok(())
        }
    }
}

fn check_set(set: &AttributeValue, empty: bool) -> Result<(), ValueProblem> {
    match empty {
        true => Err(ValueProblem::EmptySet),
        false if has_duplicates(set) => Err(ValueProblem::RepeatedInSet),
        false => Ok(()),
    }
}

fn check_number(text: &str) -> Result<(), ValueProblem> {
    text.parse::<Number>().map(drop).map_err(ValueProblem::Number)
}
