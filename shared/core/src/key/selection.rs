//! What is asked of attributes, and the ranges of keys that can answer it.

use std::ops::Bound;

use smallvec::SmallVec;

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

/// What a request says of attributes: at most one test for each. They are few, so a list finds one faster than a tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tests<'n>(Vec<(&'n str, Test)>);

impl<'n> Tests<'n> {
    /// No tests, with room for so many.
    pub fn with_capacity(capacity: usize) -> Tests<'n> {
        Tests(Vec::with_capacity(capacity))
    }

    /// The test of an attribute.
    pub fn get(&self, attribute: &str) -> Option<&Test> {
        self.0.iter().find(|(name, _)| *name == attribute).map(|(_, test)| test)
    }

    /// Sets the test of an attribute. One that it has already is replaced.
    pub fn set(&mut self, attribute: &'n str, test: Test) {
        match self.0.iter_mut().find(|(name, _)| *name == attribute) {
            Some((_, known)) => *known = test,
            None => self.0.push((attribute, test)),
        }
    }

    /// All tests, each with its attribute.
    pub fn iter(&self) -> impl Iterator<Item = (&'n str, &Test)> {
        self.0.iter().map(|(name, test)| (*name, test))
    }
}

impl<'n> FromIterator<(&'n str, Test)> for Tests<'n> {
    fn from_iter<I: IntoIterator<Item = (&'n str, Test)>>(all: I) -> Tests<'n> {
        let mut tests = Tests::default();
        all.into_iter().for_each(|(name, test)| tests.set(name, test));
        tests
    }
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
    pub ranges: SmallVec<[KeyRange; 1]>,
    /// The tested attributes that narrow the ranges.
    pub served: SmallVec<[Served<'t>; 4]>,
}

/// A tested attribute that narrows a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served<'t> {
    /// The attribute, as the template names it.
    pub attribute: &'t str,
    /// Do all keys of this template within the ranges pass the test? If not, the test must be applied to the items too.
    pub exact: bool,
}
