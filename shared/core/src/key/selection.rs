//! What is asked of attributes, and the ranges of keys that can answer it.

use std::ops::Bound;

use crate::value::AttributeValue;

/// What a request says of one attribute, as far as a key can use it.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// It is this value.
    Equal(AttributeValue),
    /// It lies between these, as DynamoDB compares.
    Range {
        /// The lower end.
        low: Bound<AttributeValue>,
        /// The upper end.
        high: Bound<AttributeValue>,
    },
    /// It begins with this text (or these bytes).
    BeginsWith(AttributeValue),
    /// The item does not have it.
    Absent,
}

/// A condition on one string key, in a form that DynamoDB's key conditions can say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyRange {
    /// Every key.
    All,
    /// This key.
    Exact(String),
    /// Keys that begin so.
    BeginsWith(String),
    /// Both ends included, as DynamoDB's BETWEEN.
    Between(String, String),
    /// `>=`
    AtLeast(String),
    /// `>`
    Above(String),
    /// `<=`
    AtMost(String),
    /// `<`
    Below(String),
}

impl KeyRange {
    /// Does a key lie in the range?
    pub fn contains(&self, key: &str) -> bool {
        match self {
            KeyRange::All => true,
            KeyRange::Exact(only) => key == only,
            KeyRange::BeginsWith(prefix) => key.starts_with(prefix),
            KeyRange::Between(low, high) => (low.as_str()..=high).contains(&key),
            KeyRange::AtLeast(low) => key >= low.as_str(),
            KeyRange::Above(low) => key > low.as_str(),
            KeyRange::AtMost(high) => key <= high.as_str(),
            KeyRange::Below(high) => key < high.as_str(),
        }
    }
}

/// The keys that can belong to items which pass the tests.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection<'t> {
    /// Disjoint and ascending. Empty: no key of this template can match.
    pub ranges: Vec<KeyRange>,
    /// The tested attributes that narrow the ranges.
    pub served: Vec<Served<'t>>,
}

/// A tested attribute that narrows a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served<'t> {
    /// The attribute, as the template names it.
    pub attribute: &'t str,
    /// Do all keys of this template within the ranges pass the test? If not, the test must be applied to the items too.
    pub exact: bool,
}
