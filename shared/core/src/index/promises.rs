//! The manifest's rules for items, checked on every write because the planner relies on them.

use std::collections::BTreeSet;

use crate::index::error::{ItemError, ItemProblem};
use crate::key::{is_date, is_timestamp};
use crate::model::{Attribute, AttributeKind, EntityId, Table};
use crate::value::{AttributeValue, Item, equal, type_letter};

impl Table {
    /// Checks the declared types, the listed values, and the required attributes of the table and of the item's entity.
    pub fn check_promises(&self, item: &Item) -> Result<(), ItemError> {
        let item = &*self.with_key_parts(item);
        self.check_promises_of(self.entity_of(item)?, item)
    }

    /// The same for an item whose entity is known, and which has the attributes of its keys.
    pub(super) fn check_promises_of(&self, entity: Option<EntityId>, item: &Item) -> Result<(), ItemError> {
        for attribute in self.attributes_of(entity).values() {
            match item.get(&attribute.name) {
                Some(value) => self.check_given(entity, attribute, value, item)?,
                None if attribute.required => return Err(self.missing(attribute, entity, item)),
                None => {}
            }
        }
        self.check_never(entity, item)
    }

    /// The planner leaves an entity out of a question about an attribute that the entity never has: an item that
    /// breaks the promise would be missing from the answer.
    fn check_never(&self, entity: Option<EntityId>, item: &Item) -> Result<(), ItemError> {
        let Some(EntityId(at)) = entity else { return Ok(()) };
        let entity = &self.entities[at];
        match self.never(entity).find(|name| item.contains_key(*name)) {
            Some(name) => {
                let problem = ItemProblem::Never { entity: entity.name.clone() };
                Err(self.item_error(None, Some(name), item, problem))
            }
            None => Ok(()),
        }
    }

    /// Checks an update of an item of this entity: `known` are the known attributes after it, `removed` the removed
    /// ones. Other attributes are not checked.
    pub(crate) fn check_change(
        &self,
        entity: Option<EntityId>,
        known: &Item,
        removed: &BTreeSet<String>,
    ) -> Result<(), ItemError> {
        for attribute in self.attributes_of(entity).values() {
            match known.get(&attribute.name) {
                Some(value) => self.check_given(entity, attribute, value, known)?,
                None if attribute.required && removed.contains(&attribute.name) => {
                    return Err(self.missing(attribute, entity, known));
                }
                None => {}
            }
        }
        self.check_never(entity, known)
    }

    /// Checks the type and the value of an attribute that the item has.
    fn check_given(
        &self,
        entity: Option<EntityId>,
        attribute: &Attribute,
        value: &AttributeValue,
        item: &Item,
    ) -> Result<(), ItemError> {
        // A declaration that differs between entities does not bind an item of neither.
        if entity.is_none() && self.mixed_type(&[], &attribute.name).is_some() {
            return Ok(());
        }
        let refused = |problem| Err(self.item_error(None, Some(&attribute.name), item, problem));
        let (expected, found) = (attribute.kind.type_letter(), type_letter(value));
        if expected != found {
            return refused(ItemProblem::AttributeType { expected, found });
        }
        let is_in_key = || self.every_key().any(|(_, key)| key.name == attribute.name);
        let is_no_time = match (attribute.kind, value) {
            (AttributeKind::Timestamp(_), AttributeValue::S(text)) => is_in_key() && !is_timestamp(text),
            (AttributeKind::Date, AttributeValue::S(text)) => is_in_key() && !is_date(text),
            _ => false,
        };
        // A folded key refuses such a value; a natural one would accept it in the wrong place.
        if is_no_time {
            return refused(ItemProblem::NotATime { kind: attribute.kind.name() });
        }
        match &attribute.values {
            Some(listed) if !listed.iter().any(|known| equal(known, value)) => {
                refused(ItemProblem::NotListed)
            }
            _ => Ok(()),
        }
    }

    /// An attribute is missing that the table, or the entity, requires.
    fn missing(&self, attribute: &Attribute, entity: Option<EntityId>, item: &Item) -> ItemError {
        let name = attribute.name.as_str();
        let of_all = self.attributes.get(name).is_some_and(|attribute| attribute.required);
        let entity = entity.filter(|_| !of_all).map(|EntityId(at)| self.entities[at].name.clone());
        self.item_error(None, Some(name), item, ItemProblem::Required { entity })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::fixture;

    fn table() -> Table {
        let mut table = fixture::table("audit", "id", None, Vec::new());
        let mut action = Attribute::new("action", AttributeKind::String);
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

    #[test]
    fn an_update_is_held_to_what_it_gives_and_takes_and_to_nothing_else() {
        for (known, removed, code) in [
            (r#"{"id":{"S":"1"}}"#, None, None),
            (r#"{"id":{"S":"1"},"note":{"S":"x"}}"#, Some("other"), None),
            (r#"{"id":{"S":"1"}}"#, Some("action"), Some("item-attribute-required")),
            (r#"{"id":{"S":"1"},"action":{"N":"1"}}"#, None, Some("item-attribute-type")),
            (r#"{"id":{"S":"1"},"action":{"S":"deleted"}}"#, None, Some("item-value-not-listed")),
        ] {
            let removed = removed.map(str::to_owned).into_iter().collect();
            let outcome =
                table().check_change(None, &fixture::item(known), &removed).map_err(|error| error.code());
            assert_eq!(outcome.err(), code, "{known}");
        }
    }

    #[test]
    fn what_the_manifest_rules_out_is_refused() {
        let text = "[tables.app]\npartition = \"id\"\nsort = \"at\"\n\
            attributes = { id = \"string\", at = \"timestamp\", day = \"date\", kind = \"string\" }\n\
            indexes.byDay.partition = \"day\"\n\
            [tables.app.entities.a]\nwhen = { kind = \"a\" }\n[tables.app.entities.b]\nwhen = { kind = \"b\" }\nattributes.user = \"string\"\n";
        let table = crate::manifest::parse("keyfold.toml", text).model.unwrap().tables.remove(0);
        let code = |item: &str| table.written(fixture::item(item)).map(drop).map_err(|error| error.code());
        let with = |more: &str| format!(r#"{{"id":{{"S":"1"}},"at":{{"S":"2017-03-01T08:00:00Z"}}{more}}}"#);
        assert_eq!(code(&with("")), Ok(()));
        assert_eq!(code(&with(r#","kind":{"S":"b"},"user":{"S":"x"}"#)), Ok(()));
        assert_eq!(code(&with(r#","kind":{"S":"a"},"user":{"S":"x"}"#)), Err("item-attribute-never"));
        assert_eq!(code(&with(r#","keyfold_fence":{"S":"x"}"#)), Err("item-attribute-reserved"));
        assert_eq!(code(&with(r#","day":{"S":"2015-02-31"}"#)), Err("item-key-time"));
        assert_eq!(code(r#"{"id":{"S":"1"},"at":{"S":"2015-02-31T08:00:00Z"}}"#), Err("item-key-time"));
    }

    #[test]
    fn a_key_that_begins_as_that_of_another_entity_is_refused() {
        let text = "[tables.app]\npartition = { attribute = \"PK\", fold = \"{id}\" }\nattributes = { id = \"string\" }\n\
            entities.user = { when = { PK = { begins-with = \"u\" } }, partition = \"u{id}\" }\n";
        let parsed = crate::manifest::parse("keyfold.toml", text);
        let table = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics)).tables.remove(0);
        let written = |item: &str| table.written(fixture::item(item)).map_err(|error| error.code());
        assert!(written(r#"{"id":{"S":"1"}}"#).is_ok());
        assert_eq!(written(r#"{"id":{"S":"u1"}}"#), Err("item-not-this-entity"));
        assert_eq!(
            written(r#"{"PK":{"S":"u1"},"id":{"S":"1"}}"#).unwrap()["PK"],
            AttributeValue::S("u1".to_owned())
        );
    }
}
