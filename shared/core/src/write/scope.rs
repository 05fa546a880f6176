//! What a caller with a scope may write: items of its own, and nothing that tells it of others.

use std::collections::BTreeMap;

use super::action::Guard;
use super::expected::Expected;
use super::primary_key::primary_key;
use crate::condition::Condition;
use crate::index::ItemError;
use crate::model::Table;
use crate::query::check::{Caller, RequestError, caller_scope};
use crate::value::{AttributeValue, Item, equal};

/// The attributes that a caller's claims fix in what it writes to a table. A trusted caller has none.
///
/// An item is the caller's own if it has these values. To a caller, an item of others looks like one that is not there.
#[derive(Debug, Clone)]
pub struct WriteScope<'t> {
    table: &'t Table,
    fixed: BTreeMap<String, AttributeValue>,
}

/// Why a caller may not write this.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScopeError {
    /// A claim is missing or fits no item, or the request names another scope than the caller's.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Whether such an item exists would tell the caller of items outside its scope.
    #[error(
        "the primary key of table `{table}` does not hold attribute `{attribute}`, which is the scope of callers"
    )]
    KeyWithout {
        /// The table's name in the manifest.
        table: String,
        /// The attribute of the scope.
        attribute: String,
    },
    /// The item has no primary key.
    #[error(transparent)]
    Item(#[from] ItemError),
}

impl ScopeError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            ScopeError::Request(error) => error.code(),
            ScopeError::KeyWithout { .. } => "needs-scoped-key",
            ScopeError::Item(error) => error.code(),
        }
    }

    /// What the asker can do, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        match self {
            ScopeError::Request(error) => error.hint(),
            ScopeError::KeyWithout { .. } => Some(
                "a trusted writer can put such items; callers can update and delete those in their scope"
                    .to_owned(),
            ),
            ScopeError::Item(error) => error.hint().map(str::to_owned),
        }
    }
}

impl<'t> WriteScope<'t> {
    /// What this caller's claims fix.
    pub fn of(table: &'t Table, caller: &Caller) -> Result<WriteScope<'t>, RequestError> {
        Ok(WriteScope { table, fixed: caller_scope(table, caller)? })
    }

    /// The item, in the scope: what is absent of that is added. Another's value is refused, and so is an item whose primary key
    /// could be another's.
    pub fn item(&self, item: Item) -> Result<Item, ScopeError> {
        let item = self.with_fixed(item)?;
        let key = primary_key(self.table, &item)?;
        let mut whole = item.clone();
        whole.extend(key.iter().map(|(name, value)| (name.clone(), value.clone())));
        for (name, own) in &self.fixed {
            let told = self.table.in_primary_key(&whole, name);
            if !told.is_some_and(|told| equal(&told, own)) {
                let (table, attribute) = (self.table.id.clone(), name.clone());
                return Err(ScopeError::KeyWithout { table, attribute });
            }
        }
        Ok(item)
    }

    /// What there may be under the key of an item that is written over. `None`: anything.
    pub fn replaceable(&self) -> Option<Guard> {
        let own = self.expected(Expected::nothing()).ok()?;
        (!own.is_empty()).then(|| Guard::AbsentOr(Condition::all(own.conditions())))
    }

    /// The primary key that is meant. Attributes of the scope that it is folded from need not be given. `None`: it says itself
    /// that the item is another's.
    pub fn key(&self, key: Item) -> Result<Option<Item>, ScopeError> {
        let is_whole = self.table.key_of(&key).is_some();
        let key = primary_key(self.table, &if is_whole { key } else { self.with_fixed(key)? })?;
        let others = self
            .fixed
            .iter()
            .any(|(name, own)| self.table.in_primary_key(&key, name).is_some_and(|told| !equal(&told, own)));
        Ok((!others).then_some(key))
    }

    /// What is expected of an item, and that it is the caller's own. A scope that only the key holds is checked there.
    pub fn expected(&self, mut expected: Expected) -> Result<Expected, ScopeError> {
        for (name, own) in &self.fixed {
            match expected.get(name) {
                Some(wanted) if !wanted.is_some_and(|wanted| equal(wanted, own)) => {
                    return Err(self.outside(name));
                }
                _ if self.table.attributes.get(name).is_some_and(|declared| declared.from_key) => {}
                _ => expected = expected.value(name.clone(), own.clone()),
            }
        }
        Ok(expected)
    }

    /// A caller changes nothing of what makes an item its own.
    pub fn check_change<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> Result<(), ScopeError> {
        match names.find(|name| self.fixed.contains_key(*name)) {
            Some(name) => Err(self.outside(name)),
            None => Ok(()),
        }
    }

    /// Is this attribute one that the caller's claims fix?
    pub fn fixes(&self, attribute: &str) -> bool {
        self.fixed.contains_key(attribute)
    }

    /// Is this item the caller's?
    pub fn holds(&self, item: &Item) -> bool {
        let item = self.table.with_key_parts(item);
        self.fixed.iter().all(|(name, own)| item.get(name).is_some_and(|value| equal(value, own)))
    }

    fn with_fixed(&self, mut item: Item) -> Result<Item, ScopeError> {
        for (name, own) in &self.fixed {
            match item.get(name) {
                Some(value) if !equal(value, own) => return Err(self.outside(name)),
                Some(_) => {}
                None => drop(item.insert(name, own.clone())),
            }
        }
        Ok(item)
    }

    fn outside(&self, attribute: &str) -> ScopeError {
        let (table, attribute) = (self.table.id.clone(), attribute.to_owned());
        RequestError::OutOfScope { table, attribute }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = r#"
[tables.tasks]
partition = "{org}#{project}"
sort = "id"
scope = { org = "jwt.org" }
attributes = { org = "string", project = "string", id = "string", note = "string" }

[tables.documents]
partition = "id"
scope = { org = "jwt.org" }
attributes = { id = "string", org = "string" }

[tables.sharded]
partition = "{org|shard:4}"
sort = "id"
scope = { org = "jwt.org" }
attributes = { id = "string", org = "string" }

[tables.keyed]
partition = "{org}#{id}"
scope = { org = "jwt.org" }
attributes = { id = "string", org = { type = "string", from-key = true } }
"#;

    fn table(id: &str) -> Table {
        let model = crate::manifest::parse("keyfold.toml", MODEL).model.unwrap();
        model.table(id).unwrap().clone()
    }

    fn item(json: &str) -> Item {
        crate::write::item_of_json(&table("tasks"), json).unwrap()
    }

    fn acme() -> Caller {
        Caller::Claims(BTreeMap::from([("jwt.org".to_owned(), "acme".to_owned())]))
    }

    #[test]
    fn an_item_is_put_into_the_callers_scope_and_into_no_other() {
        let table = table("tasks");
        let scope = WriteScope::of(&table, &acme()).unwrap();
        let put = scope.item(item(r#"{"project":"p","id":"1"}"#)).unwrap();
        assert_eq!(put["org"], AttributeValue::S("acme".to_owned()));
        assert_eq!(scope.item(put.clone()), Ok(put));
        let refused = scope.item(item(r#"{"org":"umbrella","project":"p","id":"1"}"#)).unwrap_err();
        assert_eq!(refused.code(), "out-of-scope");
        let trusted = WriteScope::of(&table, &Caller::Trusted).unwrap();
        assert!(trusted.item(item(r#"{"org":"umbrella","project":"p","id":"1"}"#)).is_ok());
        assert_eq!(trusted.replaceable(), None);
        assert!(scope.replaceable().is_some());
    }

    #[test]
    fn a_key_that_others_could_have_is_not_put() {
        for id in ["documents", "sharded"] {
            let table = table(id);
            let refused = WriteScope::of(&table, &acme()).unwrap().item(item(r#"{"id":"1"}"#)).unwrap_err();
            assert_eq!(refused.code(), "needs-scoped-key", "{id}");
            assert!(
                WriteScope::of(&table, &Caller::Trusted)
                    .unwrap()
                    .item(item(r#"{"org":"a","id":"1"}"#))
                    .is_ok()
            );
        }
        let keyed = table("keyed");
        assert!(WriteScope::of(&keyed, &acme()).unwrap().item(item(r#"{"id":"1"}"#)).is_ok());
    }

    #[test]
    fn a_key_that_says_that_it_is_anothers_leads_nowhere() {
        let table = table("tasks");
        let scope = WriteScope::of(&table, &acme()).unwrap();
        let folded = table.partition.name.clone();
        let own = scope.key(item(r#"{"project":"p","id":"1"}"#)).unwrap().unwrap();
        assert_eq!(own[folded.as_str()], AttributeValue::S("acme#p".to_owned()));
        assert_eq!(scope.key(own.clone()), Ok(Some(own)));
        let theirs = item(&format!(r#"{{"{folded}":"umbrella#p","id":"1"}}"#));
        assert_eq!(scope.key(theirs), Ok(None));
        let refused = scope.key(item(r#"{"org":"umbrella","project":"p","id":"1"}"#)).unwrap_err();
        assert_eq!(refused.code(), "out-of-scope");
    }

    #[test]
    fn what_is_expected_of_an_item_includes_whose_it_is() {
        let table = table("documents");
        let scope = WriteScope::of(&table, &acme()).unwrap();
        let own = AttributeValue::S("acme".to_owned());
        let expected = scope.expected(Expected::nothing()).unwrap();
        assert_eq!(expected, Expected::nothing().value("org", own.clone()));
        assert!(scope.expected(Expected::nothing().value("org", own)).is_ok());
        assert!(scope.expected(Expected::nothing().absent("org")).is_err());
        assert!(scope.check_change(["org"].into_iter()).is_err());
        assert!(scope.check_change(["id"].into_iter()).is_ok());
        let keyed = self::table("keyed");
        let scope = WriteScope::of(&keyed, &acme()).unwrap();
        assert!(scope.expected(Expected::nothing()).unwrap().is_empty(), "no item has it as an attribute");
    }
}
