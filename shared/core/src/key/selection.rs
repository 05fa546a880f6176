//! Tests of attributes, and the ranges of keys that can pass them.

use std::cmp::Ordering;
use std::ops::Bound;

use smallvec::SmallVec;

use crate::condition::begins_with;
use crate::value::{AttributeValue, compare, equal};

/// A request's test of one attribute, in a form that keys can use. The values of [`Tests`] are borrowed from the
/// request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Test<V = AttributeValue> {
    /// It is this value.
    Equal(V),
    /// A range, compared as DynamoDB does.
    Range {
        /// The lower end.
        low: Bound<V>,
        /// The upper end.
        high: Bound<V>,
    },
    /// It begins with this text (or these bytes).
    BeginsWith(V),
    /// The item lacks the attribute.
    Absent,
}

impl Test {
    /// The same test of a borrowed value.
    pub fn as_ref(&self) -> Test<&AttributeValue> {
        match self {
            Test::Equal(value) => Test::Equal(value),
            Test::Range { low, high } => Test::Range { low: low.as_ref(), high: high.as_ref() },
            Test::BeginsWith(prefix) => Test::BeginsWith(prefix),
            Test::Absent => Test::Absent,
        }
    }
}

/// A request's tests, at most one for each attribute. With so few, a list is faster than a tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tests<'n>(SmallVec<[(&'n str, Test<&'n AttributeValue>); 4]>);

impl<'n> Tests<'n> {
    /// The test of an attribute.
    pub fn get(&self, attribute: &str) -> Option<Test<&'n AttributeValue>> {
        self.0.iter().find(|(name, _)| *name == attribute).map(|(_, test)| *test)
    }

    /// Sets the test of an attribute, replacing an earlier one.
    pub fn set(&mut self, attribute: &'n str, test: Test<&'n AttributeValue>) {
        match self.0.iter_mut().find(|(name, _)| *name == attribute) {
            Some((_, known)) => *known = test,
            None => self.0.push((attribute, test)),
        }
    }

    /// All tests, each with its attribute.
    pub fn iter(&self) -> impl Iterator<Item = (&'n str, Test<&'n AttributeValue>)> {
        self.0.iter().copied()
    }
}

impl<'n> FromIterator<(&'n str, Test<&'n AttributeValue>)> for Tests<'n> {
    fn from_iter<I: IntoIterator<Item = (&'n str, Test<&'n AttributeValue>)>>(all: I) -> Tests<'n> {
        let mut tests = Tests::default();
        all.into_iter().for_each(|(name, test)| tests.set(name, test));
        tests
    }
}

/// A condition on one string key that DynamoDB's key conditions can express.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyRange {
    /// Every key.
    All,
    /// This key.
    Exact(String),
    /// Keys with this prefix.
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
    /// Is this key in the range?
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

impl Test<&AttributeValue> {
    /// Does this value pass?
    pub(crate) fn passes(self, value: &AttributeValue) -> bool {
        match self {
            Test::Equal(wanted) => equal(value, wanted),
            Test::BeginsWith(prefix) => begins_with(value, prefix),
            Test::Absent => false,
            Test::Range { low, high } => {
                let above = match low {
                    Bound::Unbounded => true,
                    Bound::Included(low) => compare(value, low).is_some_and(Ordering::is_ge),
                    Bound::Excluded(low) => compare(value, low).is_some_and(Ordering::is_gt),
                };
                let below = match high {
                    Bound::Unbounded => true,
                    Bound::Included(high) => compare(value, high).is_some_and(Ordering::is_le),
                    Bound::Excluded(high) => compare(value, high).is_some_and(Ordering::is_lt),
                };
                above && below
            }
        }
    }
}
