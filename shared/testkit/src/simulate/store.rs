//! A table in memory: items by the text of their keys. No indexes, no capacity: only what guards see.

use std::borrow::Cow;
use std::collections::BTreeMap;

use keyfold_core::model::Table;
use keyfold_core::retrofit::{Action, control};
use keyfold_core::value::{AttributeValue, Item};

/// The items of one table.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ItemStore {
    items: BTreeMap<Box<str>, Item>,
}

impl ItemStore {
    /// The item with the key that this item has.
    pub(super) fn get(&self, table: &Table, key: &Item) -> Option<&Item> {
        self.items.get(&*place(table, key))
    }

    /// All items, by their keys' texts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Item)> {
        self.items.iter().map(|(place, item)| (&**place, item))
    }

    /// All items whose places begin so, by their keys' texts.
    pub(super) fn within(&self, prefix: &str) -> impl Iterator<Item = &Item> {
        let from =
            self.items.range::<str, _>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded));
        from.take_while(move |(place, _)| place.starts_with(prefix)).map(|(_, item)| item)
    }

    /// The first item after this place: what a scan reads next.
    pub(super) fn after(&self, place: &str) -> Option<(&str, &Item)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let mut rest = self.items.range::<str, _>((Excluded(place), Unbounded));
        rest.next().map(|(place, item)| (&**place, item))
    }

    /// Sets or removes the item with this key.
    pub(super) fn set(&mut self, table: &Table, key: &Item, item: Option<Item>) {
        let place = place(table, key);
        let Some(item) = item else {
            self.items.remove(&*place);
            return;
        };
        match self.items.get_mut(&*place) {
            Some(there) => *there = item,
            None => {
                self.items.insert(place.into(), item);
            }
        }
    }
}

/// The item after this action, which has the item's key.
pub(super) fn outcome(there: Option<&Item>, action: &Action) -> Option<Item> {
    match action {
        Action::Put(item) => Some(item.clone()),
        Action::Delete(_) => None,
        Action::Update { key, set, remove } => {
            let mut item = there.unwrap_or(key).clone();
            for name in remove {
                item.remove(name);
            }
            item.extend(set.iter().cloned());
            Some(item)
        }
    }
}

/// The text of an item's key. All keys here are texts.
pub(super) fn place<'i>(table: &Table, key: &'i Item) -> Cow<'i, str> {
    let of = |name: &str| match key.get(name) {
        Some(AttributeValue::S(text)) => text.as_str(),
        _ => unreachable!("every write checks the key"),
    };
    let partition = of(&table.partition.name);
    match &table.sort {
        None => Cow::Borrowed(partition),
        Some(sort) => Cow::Owned([partition, of(&sort.name)].join("|")),
    }
}

/// The partition of a row of the control table; an empty text of another table's item.
pub(super) fn control_partition(key: &Item) -> &str {
    match key.get(control::PARTITION) {
        Some(AttributeValue::S(partition)) => partition,
        _ => "",
    }
}
