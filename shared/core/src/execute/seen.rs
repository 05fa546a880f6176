//! The items that an answer already holds, where several accesses could give the same one: an item that moves from one
//! partition of an index to another while both are read.

use std::collections::HashSet;

use crate::value::Item;

use super::error::AnswerError;
use super::key_value::KeyValue;
use super::shape::Shape;

/// The primary keys given out so far.
pub(super) struct Seen {
    /// `None` where nothing can come twice.
    keys: Option<HashSet<Vec<KeyValue>>>,
}

impl Seen {
    pub(super) fn among(accesses: usize) -> Seen {
        Seen { keys: (accesses > 1).then(HashSet::new) }
    }

    /// Is this the first time? Remembers it.
    pub(super) fn is_new(&mut self, shape: &Shape, item: &Item) -> Result<bool, AnswerError> {
        match &mut self.keys {
            Some(keys) => Ok(keys.insert(shape.primary_key(item)?)),
            None => Ok(true),
        }
    }
}
