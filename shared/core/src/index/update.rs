//! What must be set on a stored item so that its folded keys are what they should be, and on what condition.

use std::collections::BTreeSet;

use crate::condition::{Comparison, Condition, Path};
use crate::index::ItemError;
use crate::model::{KeySource, Table};
use crate::value::{AttributeValue, Item};

/// An update of one item's folded keys, in place.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyUpdate {
    /// Folded attributes, and the values they should have.
    pub set: Vec<(String, String)>,
    /// Folded attributes that should not be there.
    pub remove: Vec<String>,
    /// The item is still there, and all that the keys are made of is what was read. Otherwise nothing may be written.
    pub condition: Condition,
}

impl Table {
    /// The update that gives a stored item its folded keys; `None` if it has them all. The table's own key is not
    /// touched: it never changes in place.
    pub fn key_update(&self, stored: &Item) -> Result<Option<KeyUpdate>, ItemError> {
        let own: BTreeSet<&str> = self.key_attributes().map(|key| key.name.as_str()).collect();
        let (mut set, mut remove) = (Vec::new(), Vec::new());
        for (name, wanted) in self.folded(stored)?.into_iter().filter(|(name, _)| !own.contains(name)) {
            match (stored.get(name), wanted) {
                (Some(AttributeValue::S(known)), Some(wanted)) if *known == wanted => {}
                (None, None) => {}
                (_, Some(wanted)) => set.push((name.to_owned(), wanted)),
                (Some(_), None) => remove.push(name.to_owned()),
            }
        }
        if set.is_empty() && remove.is_empty() {
            return Ok(None);
        }
        let mut unchanged: Vec<Condition> = self
            .key_attributes()
            .map(|key| Condition::Is(Path::attribute(&key.name), Comparison::Exists(true)))
            .collect();
        unchanged.extend(self.key_inputs().into_iter().map(|name| {
            let same = match stored.get(name) {
                Some(value) => Comparison::Equal(value.clone()),
                None => Comparison::Exists(false),
            };
            Condition::Is(Path::attribute(name), same)
        }));
        Ok(Some(KeyUpdate { set, remove, condition: Condition::all(unchanged) }))
    }

    /// Every attribute that some folded key is made of, or that decides which entity an item is.
    pub fn key_inputs(&self) -> BTreeSet<&str> {
        let keys =
            self.key_attributes().chain(self.indexes.iter().flat_map(crate::model::Index::key_attributes));
        let folded = keys.filter_map(|key| match &key.source {
            KeySource::Folded(rules) => Some(rules),
            KeySource::Natural => None,
        });
        let inputs = folded.flatten().flat_map(|rule| rule.template.attributes());
        inputs
            .chain(
                self.entities
                    .iter()
                    .flat_map(|entity| entity.when.iter().map(|when| when.attribute.as_str())),
            )
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::fixture::{audit, item};

    fn event() -> Item {
        item(r#"{"id":{"S":"1"},"resourceId":{"S":"r"},"action":{"S":"viewed"},"accessedBy":{"S":"joe1"}}"#)
    }

    #[test]
    fn an_old_item_gets_its_keys_if_nothing_they_are_made_of_has_changed() {
        let table = audit();
        let update = table.key_update(&event()).unwrap().unwrap();
        assert!(update.condition.holds(&event()));
        for name in ["resourceId", "action", "accessedBy"] {
            let mut changed = event();
            changed.insert(name.to_owned(), AttributeValue::S("other".to_owned()));
            assert!(!update.condition.holds(&changed), "{name} changed");
            changed.remove(name);
            assert!(!update.condition.holds(&changed), "{name} removed");
        }
        assert!(
            !update.condition.holds(&Item::default()),
            "an item that is gone must not come back as a stub"
        );
    }

    #[test]
    fn an_item_that_has_its_keys_is_left_alone() {
        let table = audit();
        let mut stored = event();
        for (name, value) in table.key_update(&event()).unwrap().unwrap().set {
            stored.insert(name, AttributeValue::S(value));
        }
        assert_eq!(table.key_update(&stored).unwrap(), None);
        stored.remove("action");
        let update = table.key_update(&stored).unwrap().unwrap();
        assert!(
            update.set.is_empty() && !update.remove.is_empty(),
            "a key that lost a part must go: {update:?}"
        );
    }
}
