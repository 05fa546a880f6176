//! DynamoDB's checks of a written item, applied before it is sent.

use crate::index::error::{ItemError, ItemProblem, KeyProblem};
use crate::index::size::{ITEM_BYTES_MAX, NESTING_LEVELS_MAX, item_bytes};
use crate::key::KeyRole;
use crate::model::{Index, KeyAttribute, KeySource, Table};
use crate::value::{AttributeValue, Item, Number, has_duplicates, type_letter};

impl Table {
    /// Checks an item as DynamoDB does on a write: the table's key is complete; key attributes, those of indexes
    /// included, have their type, are not empty and not too long; values are ones that DynamoDB can hold; the item is
    /// at most 400 KB.
    pub fn check_item(&self, item: &Item) -> Result<(), ItemError> {
        for (role, key) in table_keys(self) {
            if !item.contains_key(&key.name) && self.lacks_entity(key, item) {
                return Err(self.item_error(None, Some(&key.name), item, ItemProblem::NoEntity));
            }
            self.check_key(None, role, key, item)?;
        }
        for index in &self.indexes {
            for (role, key) in index_keys(index).filter(|(_, key)| item.contains_key(&key.name)) {
                self.check_key(Some(&index.name), role, key, item)?;
            }
        }
        self.check_values(item)?;
        self.check_size(item)
    }

    /// Does the key need an entity that the item lacks?
    fn lacks_entity(&self, key: &KeyAttribute, item: &Item) -> bool {
        let KeySource::Folded(rules) = &key.source else { return false };
        rules.iter().all(|rule| rule.entity.is_some()) && matches!(self.entity_of(item), Ok(None))
    }

    /// Checks that DynamoDB can hold these values of attributes.
    pub fn check_values(&self, item: &Item) -> Result<(), ItemError> {
        item.iter().try_for_each(|(name, value)| {
            check_value(value).map_err(|problem| self.item_error(None, Some(name), item, problem))
        })
    }

    /// Checks that an item is at most 400 KB.
    pub(crate) fn check_size(&self, item: &Item) -> Result<(), ItemError> {
        match item_bytes(item) {
            bytes if bytes > ITEM_BYTES_MAX => {
                Err(self.item_error(None, None, item, ItemProblem::TooLarge { bytes }))
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
        let refused = |problem| self.item_error(index, Some(&key.name), item, ItemProblem::Key(problem));
        key_problem(key, role, item.get(&key.name)).map_or(Ok(()), |problem| Err(refused(problem)))
    }
}

fn check_value(value: &AttributeValue) -> Result<(), ItemProblem> {
    check_nested(value, NESTING_LEVELS_MAX - 1)
}

/// `containers_left`: how many lists or maps may still be around a scalar here. It bounds the recursion too.
fn check_nested(value: &AttributeValue, containers_left: u32) -> Result<(), ItemProblem> {
    let inner = || containers_left.checked_sub(1).ok_or(ItemProblem::TooDeep);
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

fn check_set(set: &AttributeValue, empty: bool) -> Result<(), ItemProblem> {
    match empty {
        true => Err(ItemProblem::EmptySet),
        false if has_duplicates(set) => Err(ItemProblem::RepeatedInSet),
        false => Ok(()),
    }
}

fn check_number(text: &str) -> Result<(), ItemProblem> {
    Ok(text.parse::<Number>().map(drop)?)
}

/// The first rule that this value breaks as this key attribute.
pub(crate) fn key_problem(
    key: &KeyAttribute,
    role: KeyRole,
    value: Option<&AttributeValue>,
) -> Option<KeyProblem> {
    let Some(value) = value else { return Some(KeyProblem::Missing) };
    let (expected, found) = (key.scalar.letter(), type_letter(value));
    if found != expected {
        return Some(KeyProblem::WrongType { expected, found });
    }
    let length = match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::B(binary) => binary.len(),
        // A number takes at most 22 bytes.
        _ => return None,
    };
    let (bytes, bytes_max) = (length as u64, role.bytes_max() as u64);
    match bytes {
        0 => Some(KeyProblem::Empty),
        _ if bytes > bytes_max => Some(KeyProblem::TooLong { bytes, bytes_max }),
        _ => None,
    }
}

/// A table's key attributes with their roles.
pub(crate) fn table_keys(table: &Table) -> impl Iterator<Item = (KeyRole, &KeyAttribute)> {
    std::iter::once((KeyRole::Partition, &table.partition))
        .chain(table.sort.iter().map(|key| (KeyRole::Sort, key)))
}

/// An index's key attributes with their roles.
pub(crate) fn index_keys(index: &Index) -> impl Iterator<Item = (KeyRole, &KeyAttribute)> {
    let partition = index.partition.iter().map(|key| (KeyRole::Partition, key));
    partition.chain(index.sort.iter().map(|key| (KeyRole::Sort, key)))
}
