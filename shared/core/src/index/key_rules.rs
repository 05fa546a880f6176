//! What DynamoDB asks of a key attribute's value: the right type, not empty, not too long.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-partition-sort-keys>

use crate::key::KeyRole;
use crate::model::{Index, KeyAttribute, Table};
use crate::value::{AttributeValue, type_letter};

/// What is wrong with a key attribute's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyProblem {
    WrongType { found: &'static str },
    Empty,
    TooLong { bytes: u64, bytes_max: u64 },
}

/// The first rule that this value breaks as this key attribute.
pub(crate) fn key_problem(key: &KeyAttribute, role: KeyRole, value: &AttributeValue) -> Option<KeyProblem> {
    let found = type_letter(value);
    if found != key.scalar.letter() {
        return Some(KeyProblem::WrongType { found });
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
