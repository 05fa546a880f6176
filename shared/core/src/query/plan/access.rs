//! One read: a query of a key range, or a scan, and the remaining filter.

use smol_str::SmolStr;

use crate::condition::Condition;
use crate::model::{Index, IndexKind};
use crate::value::AttributeValue;

/// The source of items. The order is the preference among equal candidates.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadFrom {
    /// The table itself.
    Table,
    /// A local index.
    Local(SmolStr),
    /// A global index.
    Global(SmolStr),
}

impl ReadFrom {
    /// The index's name, if it is one.
    pub fn index(&self) -> Option<&str> {
        match self {
            ReadFrom::Table => None,
            ReadFrom::Local(name) | ReadFrom::Global(name) => Some(name),
        }
    }

    pub(super) fn of(index: Option<&Index>) -> ReadFrom {
        match index {
            None => ReadFrom::Table,
            Some(index) if index.kind == IndexKind::Local => ReadFrom::Local(index.name.as_str().into()),
            Some(index) => ReadFrom::Global(index.name.as_str().into()),
        }
    }
}

/// An attribute of a partition key, and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyEqual {
    /// The attribute's name.
    pub attribute: SmolStr,
    /// Its value.
    pub value: AttributeValue,
}

/// A condition on an attribute of a sort key.
#[derive(Debug, Clone, PartialEq)]
pub struct SortCondition {
    /// The attribute's name.
    pub attribute: SmolStr,
    /// Its test.
    pub test: SortTest,
}

/// A test of a sort key in DynamoDB's key conditions.
#[derive(Debug, Clone, PartialEq)]
pub enum SortTest {
    /// `=`
    Equal(AttributeValue),
    /// `begins_with`
    BeginsWith(AttributeValue),
    /// `BETWEEN`, both ends included
    Between(AttributeValue, AttributeValue),
    /// `>=`
    AtLeast(AttributeValue),
    /// `>`
    Above(AttributeValue),
    /// `<=`
    AtMost(AttributeValue),
    /// `<`
    Below(AttributeValue),
}

/// Query or scan.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// The items of one partition, or a range of its sort keys.
    Query {
        /// The partition key: every attribute of it.
        partition: Vec<KeyEqual>,
        /// Conditions on the sort key, from the left; only the last one may be a range.
        sort: Vec<SortCondition>,
    },
    /// Everything.
    Scan,
}

/// The source of attributes that the index lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hydration {
    /// None are missing.
    None,
    /// DynamoDB fetches them (a local index), at the price of reading each item.
    Fetched,
    /// A second read by primary key (a global index), and the whole condition is checked again.
    ByKey,
}

/// One read.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// Table or index.
    pub source: ReadFrom,
    /// Query or scan.
    pub operation: Operation,
    /// DynamoDB's filter.
    pub filter: Condition,
    /// The check of each arriving item: conditions on the index's own key, and on attributes fetched later.
    pub recheck: Condition,
    /// The source of missing attributes.
    pub hydration: Hydration,
    /// Largest sort keys first?
    pub descending: bool,
}
