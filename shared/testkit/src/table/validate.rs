//! DynamoDB's checks of a query, a scan or a condition before any item is read.

use std::cmp::Ordering;

use keyfold_core::model::{IndexKind, KeyAttribute, Projection, ScalarType};
use keyfold_core::query::Condition;
use keyfold_core::query::plan::{KeyEqual, Operation, SortCondition, SortTest};
use keyfold_core::value::{AttributeValue, compare, type_letter};

use super::ModelTable;
use super::error::TableError;
use super::position::KeyShape;
use super::read::{Read, Shown};

/// The longest partition and sort key attributes.
const PARTITION_BYTES_MAX: usize = 2048;
const SORT_BYTES_MAX: usize = 1024;

impl ModelTable {
    pub(super) fn check_read(&self, read: &Read<'_>) -> Result<(), TableError> {
        if read.limit == Some(0) {
            return Err(TableError::Limit);
        }
        let (shape, _) = self.place(read.index)?;
        let index = read.index.and_then(|name| self.table.index(name));
        if read.consistent && index.is_some_and(|index| index.kind == IndexKind::Global) {
            return Err(TableError::ConsistentGlobal);
        }
        check_condition(read.filter)?;
        if let Operation::Query { partition, sort } = read.operation {
            check_partition(shape, partition)?;
            check_sort(shape, sort)?;
            if let Some(attribute) = named(read.filter, &|name| shape.own().any(|key| key.name == name)) {
                return Err(TableError::FilterOnKey { attribute });
            }
        }
        let Some(index) = index else { return Ok(()) };
        let holds = |name: &str| {
            shape.all().any(|key| key.name == name)
                || match &index.projection {
                    Projection::All => true,
                    Projection::KeysOnly => false,
                    Projection::Include(names) => names.iter().any(|known| known == name),
                }
        };
        if let Some(attribute) = named(read.filter, &|name| !holds(name)) {
            return Err(TableError::NotProjected { attribute });
        }
        match (&read.shown, index.kind) {
            (Shown::All, IndexKind::Global) if index.projection != Projection::All => {
                Err(TableError::NotProjected { attribute: "*".to_owned() })
            }
            _ => Ok(()),
        }
    }
}

/// A condition of which no part is empty: DynamoDB has no expression for those.
pub(super) fn check_condition(condition: &Condition) -> Result<(), TableError> {
    if condition.is_always() { Ok(()) } else { check_parts(condition) }
}

fn check_parts(condition: &Condition) -> Result<(), TableError> {
    match condition {
        Condition::Is(..) => Ok(()),
        Condition::All(parts) | Condition::Any(parts) if parts.is_empty() => Err(TableError::EmptyExpression),
        Condition::All(parts) | Condition::Any(parts) => parts.iter().try_for_each(check_parts),
        Condition::Not(inner) => check_parts(inner),
    }
}

fn check_partition(shape: &KeyShape, given: &[KeyEqual]) -> Result<(), TableError> {
    for key in &shape.partition {
        let mut values = given.iter().filter(|equal| equal.attribute == key.name);
        match (values.next(), values.next()) {
            (Some(equal), None) => check_value(key, &equal.value, PARTITION_BYTES_MAX)?,
            _ => return Err(TableError::Partition { attribute: key.name.clone() }),
        }
    }
    match given.iter().find(|equal| shape.partition.iter().all(|key| key.name != equal.attribute)) {
        Some(foreign) => Err(TableError::Partition { attribute: foreign.attribute.to_string() }),
        None => Ok(()),
    }
}

fn check_sort(shape: &KeyShape, given: &[SortCondition]) -> Result<(), TableError> {
    if given.len() > shape.sort.len() {
        return Err(TableError::SortSequence);
    }
    for (at, (key, condition)) in shape.sort.iter().zip(given).enumerate() {
        let last = at + 1 == given.len();
        let equal = matches!(condition.test, SortTest::Equal(_));
        if condition.attribute != key.name || !(last || equal) {
            return Err(TableError::SortSequence);
        }
        check_test(key, &condition.test)?;
    }
    Ok(())
}

fn check_test(key: &KeyAttribute, test: &SortTest) -> Result<(), TableError> {
    let fits = |value: &AttributeValue| check_value(key, value, SORT_BYTES_MAX);
    match test {
        SortTest::BeginsWith(_) if key.scalar == ScalarType::N => {
            Err(TableError::PrefixOfNumber { attribute: key.name.clone() })
        }
        SortTest::Between(low, high) => {
            fits(low)?;
            fits(high)?;
            match compare(low, high) {
                Some(Ordering::Greater) | None => {
                    Err(TableError::InvertedBetween { attribute: key.name.clone() })
                }
                Some(_) => Ok(()),
            }
        }
        SortTest::Equal(value)
        | SortTest::BeginsWith(value)
        | SortTest::AtLeast(value)
        | SortTest::Above(value)
        | SortTest::AtMost(value)
        | SortTest::Below(value) => fits(value),
    }
}

fn check_value(key: &KeyAttribute, value: &AttributeValue, bytes_max: usize) -> Result<(), TableError> {
    let length = match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::B(bytes) => bytes.len(),
        _ => 1,
    };
    if type_letter(value) != key.scalar.letter() || !(1..=bytes_max).contains(&length) {
        return Err(TableError::KeyValue { attribute: key.name.clone() });
    }
    Ok(())
}

/// The last such attribute that a filter names.
fn named(filter: &Condition, is_such: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut found = None;
    filter.each(&mut |path, _| {
        if is_such(path.root.as_str()) {
            found = Some(path.root.as_str().to_owned());
        }
    });
    found
}
