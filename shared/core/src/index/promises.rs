//! What the manifest promises of every item, checked when one is written: the planner relies on it.

use crate::index::ItemError;
use crate::model::Table;
use crate::value::{Item, equal, type_letter};

impl Table {
    /// Checks what the manifest says of attributes: their types, the values it lists, and which ones every item of the
    /// table, or of its entity, must have.
    pub fn check_promises(&self, item: &Item) -> Result<(), ItemError> {
        let at = |name: &str| self.place(None, Some(name), item);
        for attribute in self.attributes.values() {
            let name = attribute.name.as_str();
            let Some(value) = item.get(name) else {
                if attribute.required {
                    return Err(ItemError::Required { at: at(name), entity: None });
                }
                continue;
            };
            let (expected, found) = (attribute.kind.type_letter(), type_letter(value));
            if expected != found {
                return Err(ItemError::AttributeType { at: at(name), expected, found });
            }
            if attribute.values.as_ref().is_some_and(|listed| !listed.iter().any(|known| equal(known, value)))
            {
                return Err(ItemError::NotListed { at: at(name) });
            }
        }
        let Some(entity) = self.entity_of(item)?.map(|id| &self.entities[id.0]) else { return Ok(()) };
        match entity.requires.iter().find(|name| !item.contains_key(*name)) {
            Some(name) => Err(ItemError::Required { at: at(name), entity: Some(entity.name.clone()) }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::fixture;
    use crate::model::AttributeKind;
    use crate::value::AttributeValue;

    fn table() -> Table {
        let mut table = fixture::table("audit", "id", None, Vec::new());
        let mut action = crate::model::Attribute::new("action", AttributeKind::String);
        action.values = Some(vec![AttributeValue::S("viewed".to_owned())]);
        action.required = true;
        table.attributes.insert("action".to_owned(), action);
        table
    }

    #[test]
    fn an_item_that_breaks_a_promise_of_the_manifest_is_not_written() {
        for (item, code) in [
            (r#"{"id":{"S":"1"},"action":{"S":"viewed"}}"#, None),
            (r#"{"id":{"S":"1"}}"#, Some("item-attribute-required")),
            (r#"{"id":{"S":"1"},"action":{"N":"1"}}"#, Some("item-attribute-type")),
            (r#"{"id":{"S":"1"},"action":{"S":"deleted"}}"#, Some("item-value-not-listed")),
        ] {
            let outcome = table().with_keys(fixture::item(item)).map_err(|error| error.code());
            assert_eq!(outcome.err(), code, "{item}");
        }
    }
}
