//! Keys of sample events.

use std::collections::HashMap;

use keyfold_core::value::{AttributeValue, Item};

/// The key of the event with this id.
pub(crate) fn key(id: &str) -> Item {
    HashMap::from([("id".to_owned(), AttributeValue::S(id.to_owned()))]).into()
}
