//! An item: its attributes by their names.

use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut, Index};

use litemap::LiteMap;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_dynamo::AttributeValue;
use smol_str::SmolStr;

/// The name of an attribute. Most are short enough to be stored inline.
pub type Name = SmolStr;

/// The attributes of an item, in the order of their names.
///
/// A list: with some ten attributes, as most items have, it is as fast as a hash map and smaller. `docs/adr/0021`.
pub type Attributes = LiteMap<Name, AttributeValue>;

/// An item. It is a map, and converts to and from the items of `serde_dynamo` and of the SDK.
///
/// ```
/// use keyfold_core::value::{AttributeValue, Item};
/// let item: Item = serde_json::from_str(r#"{"id":{"S":"111aaa"}}"#)?;
/// assert_eq!(item["id"], AttributeValue::S("111aaa".to_owned()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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

impl<N: AsRef<str> + ?Sized> Index<&N> for Item {
    type Output = AttributeValue;

    /// Panics if the item has no such attribute.
    fn index(&self, name: &N) -> &AttributeValue {
        match self.get(name) {
            Some(value) => value,
            None => panic!("the item has no attribute `{}`", name.as_ref()),
        }
    }
}

/// Maximum length of a list that is scanned by name: most names already differ in length.
const LOOKED_THROUGH_MAX: usize = 16;

impl Item {
    /// The value of an attribute.
    pub fn get(&self, name: &(impl AsRef<str> + ?Sized)) -> Option<&AttributeValue> {
        let (all, name) = (self.0.as_slice(), name.as_ref());
        if all.len() > LOOKED_THROUGH_MAX {
            return self.0.get(name);
        }
        all.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Does it have the attribute?
    pub fn contains_key(&self, name: &(impl AsRef<str> + ?Sized)) -> bool {
        self.get(name).is_some()
    }

    /// Removes an attribute.
    pub fn remove(&mut self, name: &(impl AsRef<str> + ?Sized)) -> Option<AttributeValue> {
        self.0.remove(name.as_ref())
    }

    /// Sets an attribute, and returns its former value.
    pub fn insert(&mut self, name: impl Into<Name>, value: AttributeValue) -> Option<AttributeValue> {
        self.0.insert(name.into(), value)
    }
}

impl Item {
    /// An item of attributes in any order; `None` if a name is repeated.
    pub(crate) fn of_distinct(mut attributes: Vec<(Name, AttributeValue)>) -> Option<Item> {
        attributes.sort_by(|(a, _), (b, _)| a.cmp(b));
        let distinct = attributes.windows(2).all(|pair| pair[0].0 != pair[1].0);
        distinct.then(|| Item(LiteMap::from_sorted_store_unchecked(attributes)))
    }
}

/// Attributes in any order. The last value of a repeated name counts, as in every map.
impl From<Vec<(Name, AttributeValue)>> for Item {
    fn from(mut attributes: Vec<(Name, AttributeValue)>) -> Item {
        attributes.sort_by(|(a, _), (b, _)| a.cmp(b));
        attributes.dedup_by(|later, earlier| {
            let again = later.0 == earlier.0;
            if again {
                mem::swap(later, earlier);
            }
            again
        });
        Item(LiteMap::from_sorted_store_unchecked(attributes))
    }
}

/// Always a map: the list's own form would write an empty one as a list.
impl Serialize for Item {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter())
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Item, D::Error> {
        from.deserialize_map(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item, A::Error> {
        let mut attributes = Vec::new();
        while let Some(attribute) = map.next_entry::<Name, AttributeValue>()? {
            attributes.push(attribute);
        }
        Ok(attributes.into())
    }
}

impl IntoIterator for Item {
    type Item = (Name, AttributeValue);
    type IntoIter = <Attributes as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<N: Into<Name>> FromIterator<(N, AttributeValue)> for Item {
    fn from_iter<I: IntoIterator<Item = (N, AttributeValue)>>(attributes: I) -> Item {
        attributes.into_iter().map(|(name, value)| (name.into(), value)).collect::<Vec<_>>().into()
    }
}

impl<N: Into<Name>> Extend<(N, AttributeValue)> for Item {
    fn extend<I: IntoIterator<Item = (N, AttributeValue)>>(&mut self, attributes: I) {
        self.0.extend(attributes.into_iter().map(|(name, value)| (name.into(), value)));
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
        item.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Out of order, with `b` twice.
    const PAIRS: [(&str, &str); 4] = [("b", "1"), ("c", "2"), ("a", "3"), ("b", "4")];

    fn pairs() -> impl Iterator<Item = (Name, AttributeValue)> {
        PAIRS.into_iter().map(|(name, text)| (name.into(), AttributeValue::S(text.to_owned())))
    }

    #[test]
    fn attributes_come_in_any_order_and_stand_in_one() {
        let json: Vec<String> =
            PAIRS.iter().map(|(name, text)| format!(r#""{name}":{{"S":"{text}"}}"#)).collect();
        let mut one_by_one = Item::default();
        pairs().for_each(|(name, value)| drop(one_by_one.insert(name, value)));
        let mut extended = Item::from_iter([("b", AttributeValue::Bool(true))]);
        extended.extend(pairs());
        let all = [
            one_by_one,
            extended,
            Item::from(pairs().collect::<Vec<_>>()),
            pairs().collect(),
            serde_json::from_str(&format!("{{{}}}", json.join(","))).unwrap(),
        ];
        for item in all {
            let text = serde_json::to_string(&item).unwrap();
            assert_eq!(text, r#"{"a":{"S":"3"},"b":{"S":"4"},"c":{"S":"2"}}"#);
        }
    }

    #[test]
    fn an_item_without_attributes_is_a_map_too_and_a_list_is_no_item() {
        assert_eq!(serde_json::to_string(&Item::default()).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<Item>("{}").unwrap(), Item::default());
        for list in ["[]", r#"[["a",{"S":"1"}]]"#] {
            assert!(serde_json::from_str::<Item>(list).is_err(), "{list}");
        }
    }

    #[test]
    fn a_list_without_order_is_found_in_too() {
        let item = Item::from(pairs().collect::<Vec<_>>());
        for name in ["a", "b", "c"] {
            assert!(item.contains_key(name), "{name}");
        }
        let twice = Item::from(vec![
            ("a".into(), AttributeValue::Bool(false)),
            ("a".into(), AttributeValue::Bool(true)),
        ]);
        assert_eq!((twice.len(), &twice["a"]), (1, &AttributeValue::Bool(true)));
    }

    /// Short items are scanned; long items use binary search.
    #[test]
    fn a_long_list_that_came_in_another_order_is_found_in_too() {
        let names = || (0..LOOKED_THROUGH_MAX * 3).rev().map(|number| Name::from(format!("name{number}")));
        let value = |name: &Name| AttributeValue::S(name.to_string());
        let item = Item::from(names().map(|name| (name.clone(), value(&name))).collect::<Vec<_>>());
        for name in names() {
            assert_eq!(item.get(&name), Some(&value(&name)));
        }
        assert_eq!((item.get("name"), item.get("other")), (None, None));
    }
}
