//! The attributes of an entry's key: those of its index, then those of its table.

use crate::model::Table;
use crate::query::plan::ReadFrom;
use crate::value::{AttributeValue, Item};

use super::error::AnswerError;
use super::position::KeyValue;

/// The key attributes of one table or index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    table_name: String,
    /// The attributes of an exclusive start key after an entry.
    names: Vec<String>,
    /// The table's primary key attributes, which identify an item.
    primary: Vec<String>,
}

impl Shape {
    pub(super) fn of(table: &Table, source: &ReadFrom) -> Result<Shape, AnswerError> {
        let primary: Vec<String> = table.key_attributes().map(|key| key.name.clone()).collect();
        let mut names = Vec::new();
        if let Some(name) = source.index() {
            let index = table.index(name).ok_or_else(|| AnswerError::UnknownIndex {
                table: table.id.clone(),
                index: name.to_owned(),
            })?;
            names.extend(index.key_attributes().map(|key| key.name.clone()));
        }
        for name in &primary {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Ok(Shape { table_name: table.name.clone(), names, primary })
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// An entry's complete key.
    pub(super) fn key(&self, entry: &Item) -> Result<Vec<KeyValue>, AnswerError> {
        self.names.iter().map(|name| self.value(entry, name).map(KeyValue::from)).collect()
    }

    /// The primary key of an entry's item.
    pub(super) fn primary_key(&self, entry: &Item) -> Result<Vec<KeyValue>, AnswerError> {
        self.primary.iter().map(|name| self.value(entry, name).map(KeyValue::from)).collect()
    }

    /// The primary key of an entry's item, as DynamoDB expects it.
    pub(super) fn primary_item(&self, entry: &Item) -> Result<Item, AnswerError> {
        let mut key = Item::default();
        for name in &self.primary {
            key.insert(name, self.value(entry, name)?.clone());
        }
        Ok(key)
    }

    /// A complete key in DynamoDB's form; `None` if it belongs to another table or index.
    pub(super) fn start_key(&self, key: &[KeyValue]) -> Option<Item> {
        if key.len() != self.names.len() {
            return None;
        }
        let mut item = Item::default();
        for (name, value) in self.names.iter().zip(key) {
            item.insert(name, value.into());
        }
        Some(item)
    }

    fn value<'a>(&self, entry: &'a Item, name: &str) -> Result<&'a AttributeValue, AnswerError> {
        entry.get(name).ok_or_else(|| AnswerError::KeyMissing {
            table: self.table_name.clone(),
            attribute: name.to_owned(),
        })
    }
}
