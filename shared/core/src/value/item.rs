//! An item: its attributes by their names.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use serde_dynamo::AttributeValue;

/// The attributes of an item by their names.
///
/// The standard library's hash withstands a writer who tries out which names collide; this one takes a fraction of its time. It
/// is enough here, because an item has 400 KB at most: `docs/adr/0021`.
pub type Attributes = HashMap<String, AttributeValue, RandomState>;

/// An item. It is a map, and converts to and from the items of `serde_dynamo` and of the SDK.
///
/// ```
/// use keyfold_core::value::{AttributeValue, Item};
/// let item: Item = serde_json::from_str(r#"{"id":{"S":"111aaa"}}"#)?;
/// assert_eq!(item["id"], AttributeValue::S("111aaa".to_owned()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Item(Attributes);

impl Deref for Item {
    type Target = Attributes;

    fn deref(&self) -> &Attributes {
        &self.0
    }
}

impl DerefMut for Item {
    fn deref_mut(&mut self) -> &mut Attributes {
        &mut self.0
    }
}

impl IntoIterator for Item {
    type Item = (String, AttributeValue);
    type IntoIter = <Attributes as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(String, AttributeValue)> for Item {
    fn from_iter<I: IntoIterator<Item = (String, AttributeValue)>>(attributes: I) -> Item {
        Item(attributes.into_iter().collect())
    }
}

impl<T> From<HashMap<String, T>> for Item
where
    AttributeValue: From<T>,
{
    fn from(attributes: HashMap<String, T>) -> Item {
        attributes.into_iter().map(|(name, value)| (name, value.into())).collect()
    }
}

impl<T> From<Item> for HashMap<String, T>
where
    T: From<AttributeValue>,
{
    fn from(item: Item) -> HashMap<String, T> {
        item.into_iter().map(|(name, value)| (name, value.into())).collect()
    }
}

impl From<serde_dynamo::Item> for Item {
    fn from(item: serde_dynamo::Item) -> Item {
        item.into_inner().into()
    }
}

impl From<Item> for serde_dynamo::Item {
    fn from(item: Item) -> serde_dynamo::Item {
        HashMap::<String, AttributeValue>::from(item).into()
    }
}
