//! A table in memory: items by the text of their keys. No indexes, no capacity: only what guards see.

use std::collections::BTreeMap;

use keyfold_core::model::Table;
use keyfold_core::retrofit::{Action, SourceKey};
use keyfold_core::value::Item;

/// The items of one table.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Store {
    items: BTreeMap<String, Item>,
}

impl Store {
    /// The item with the key that this item has.
    pub(super) fn get(&self, table: &Table, key: &Item) -> Option<&Item> {
        self.items.get(&place(table, key))
    }

    /// All items, by their keys' texts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Item)> {
        self.items.iter()
    }

    /// All items.
    pub(super) fn items(&self) -> Vec<Item> {
        self.items.values().cloned().collect()
    }

    /// What the item would be after this action, which carries its key.
    pub(super) fn after(&self, table: &Table, action: &Action) -> Option<Item> {
        match action {
            Action::Put(item) => Some(item.clone()),
            Action::Delete(_) => None,
            Action::Update { key, set, remove } => {
                let mut item = self.get(table, key).unwrap_or(key).clone();
                for name in remove {
                    item.remove(name);
                }
                for (name, value) in set {
                    item.insert(name.clone(), value.clone());
                }
                Some(item)
            }
        }
    }

    /// Sets or removes the item with this key.
    pub(super) fn set(&mut self, table: &Table, key: &Item, item: Option<Item>) {
        let place = place(table, key);
        match item {
            Some(item) => self.items.insert(place, item),
            None => self.items.remove(&place),
        };
    }
}

/// The key that an action has.
pub(super) fn key_in(action: &Action) -> &Item {
    match action {
        Action::Put(item) => item,
        Action::Delete(key) | Action::Update { key, .. } => key,
    }
}

/// The text of an item's key.
pub(super) fn place(table: &Table, key: &Item) -> String {
    let Some(text) = SourceKey::of(table, key) else { unreachable!("whoever writes checks the key") };
    text.to_string()
}
