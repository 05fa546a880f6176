//! The position of an item: its key values, in DynamoDB's order.

use keyfold_core::model::{Index, KeyAttribute, ScalarType, Table};
use keyfold_core::value::{AttributeValue, Item, Number};

/// A key attribute's value, ordered as DynamoDB orders: numbers by value, texts and binaries by their bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeyValue {
    Number(Number),
    Bytes(Vec<u8>),
}

impl KeyValue {
    pub(super) fn of(key: &KeyAttribute, value: &AttributeValue) -> Option<KeyValue> {
        match (key.scalar, value) {
            (ScalarType::S, AttributeValue::S(text)) => Some(KeyValue::Bytes(text.clone().into_bytes())),
            (ScalarType::B, AttributeValue::B(bytes)) => Some(KeyValue::Bytes(bytes.clone())),
            (ScalarType::N, AttributeValue::N(number)) => number.parse().ok().map(KeyValue::Number),
            _ => None,
        }
    }
}

/// Partition, then sort key, then (of index entries with the same ones) the table's key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) partition: Vec<KeyValue>,
    pub(super) sort: Vec<KeyValue>,
    pub(super) primary: Vec<KeyValue>,
}

/// The attributes of a position.
#[derive(Debug, Clone)]
pub(super) struct KeyShape {
    pub(super) partition: Vec<KeyAttribute>,
    pub(super) sort: Vec<KeyAttribute>,
    /// The table's key, for an index.
    pub(super) primary: Vec<KeyAttribute>,
}

impl KeyShape {
    pub(super) fn of_table(table: &Table) -> KeyShape {
        KeyShape {
            partition: vec![table.partition.clone()],
            sort: table.sort.iter().cloned().collect(),
            primary: Vec::new(),
        }
    }

    pub(super) fn of_index(table: &Table, index: &Index) -> KeyShape {
        KeyShape {
            partition: index.partition.clone(),
            sort: index.sort.clone(),
            primary: table.key_attributes().cloned().collect(),
        }
    }

    /// The position of this item; `None` if it lacks a key attribute or has one of another type.
    pub(super) fn position(&self, item: &Item) -> Option<Position> {
        let values = |keys: &[KeyAttribute]| {
            keys.iter().map(|key| KeyValue::of(key, item.get(&key.name)?)).collect::<Option<Vec<_>>>()
        };
        Some(Position {
            partition: values(&self.partition)?,
            sort: values(&self.sort)?,
            primary: values(&self.primary)?,
        })
    }

    /// The attributes of the key condition: partition, then sort.
    pub(super) fn own(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.partition.iter().chain(&self.sort)
    }

    /// All attributes of a start key.
    pub(super) fn all(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.own().chain(&self.primary)
    }

    /// An item's key in the form of DynamoDB's last evaluated key.
    pub(super) fn start_key(&self, item: &Item) -> Item {
        let of = |key: &KeyAttribute| Some((key.name.clone(), item.get(&key.name)?.clone()));
        self.all().filter_map(of).collect()
    }
}
