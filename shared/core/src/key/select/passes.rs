//! What a test says of a value.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::condition::begins_with;
use crate::key::selection::Test;
use crate::value::{AttributeValue, compare, equal};

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
