//! Writes of a caller with a scope: only to its own items. No answer reveals whether an item of another caller exists.
//!
//! Every such write has a condition which proves that the stored item is in the caller's scope, unless the primary key
//! alone proves it.

use std::collections::BTreeMap;

use super::action::Guard;
use super::expected::{Expected, is};
use super::primary_key::primary_key;
use crate::condition::Condition;
use crate::index::ItemError;
use crate::model::{Entity, EntityId, Table, When, WhenTest};
use crate::query::check::{Caller, RequestError, caller_scope};
use crate::value::{AttributeValue, Item, equal};

/// The attributes that a caller's claims fix in its writes to a table. A trusted caller has none.
///
/// Items with these values are the caller's own. Items of others look like missing ones.
#[derive(Debug, Clone)]
pub struct WriteScope<'t> {
    table: &'t Table,
    fixed: BTreeMap<String, AttributeValue>,
}

/// Why a caller may not write.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum ScopeError {
    /// A claim is missing or fits no item, or the request names another scope than the caller's.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The write would reveal the existence of items outside the caller's scope.
    #[error(
        "no key of table `{table}` proves attribute `{attribute}` of the item, which is the scope of callers"
    )]
    KeyWithout { table: String, attribute: String },
    /// The item has no primary key.
    #[error(transparent)]
    Item(#[from] ItemError),
}

impl ScopeError {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            ScopeError::Request(error) => error.code(),
            ScopeError::KeyWithout { .. } => "needs-scoped-key",
            ScopeError::Item(error) => error.code(),
        }
    }

    /// A suggestion, if there is one.
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
    /// The scope of this caller's claims.
    pub fn of(table: &'t Table, caller: &Caller) -> Result<WriteScope<'t>, RequestError> {
        Ok(WriteScope { table, fixed: caller_scope(table, caller)? })
    }

    /// The item in the scope: missing attributes of the scope are added, unless only keys contain them. An item with
    /// another's value is refused, and so is one whose primary key could be another's, because the write would reveal
    /// it.
    pub fn item(&self, item: &Item) -> Result<Item, ScopeError> {
        let mut whole = self.with_fixed(item.clone())?;
        let key = primary_key(self.table, &whole)?;
        whole.extend(key.iter().map(|(name, value)| (name.clone(), value.clone())));
        for (name, own) in &self.fixed {
            let own_by = |entity| {
                let told = self.table.in_primary_key_of(entity, &key, name);
                told.is_some_and(|told| equal(&told, own))
            };
            let entity = self.table.entity_of(&whole)?;
            let others = possible_entities(self.table, &key).into_iter().map(|(entity, _)| entity);
            let is_own =
                own_by(entity) && others.filter(|other| self.table.can_have_key(*other, &key)).all(own_by);
            if !is_own {
                return Err(self.unprovable(name));
            }
            if self.table.is_from_key(entity, name) && !item.contains_key(name) {
                whole.remove(name);
            }
        }
        Ok(whole)
    }

    /// The guard for a put of the caller's item. `None`: anything may be overwritten.
    pub fn replaceable(&self, item: &Item) -> Result<Option<Guard>, ScopeError> {
        let proof = self.proof(&primary_key(self.table, item)?)?;
        Ok((!proof.is_always()).then_some(Guard::AbsentOr(proof)))
    }

    /// The complete primary key. Attributes of the scope may be omitted. `None`: no item with this key is the caller's.
    pub fn key(&self, key: &Item) -> Result<Option<Item>, ScopeError> {
        let is_whole = self.table.key_of(key).is_some();
        let key = match is_whole {
            true => primary_key(self.table, key)?,
            false => primary_key(self.table, &self.with_fixed(key.clone())?)?,
        };
        // The position of an attribute that only keys contain depends on the entity, which the proof considers.
        let is_others = |(name, own): (&String, &AttributeValue)| {
            !self.is_from_key(name)
                && self.table.in_primary_key(&key, name).is_some_and(|told| !equal(&told, own))
        };
        let others = self.fixed.iter().any(is_others) || self.proof(&key)?.is_never();
        Ok((!others).then_some(key))
    }

    /// The expectations of an update, and that the item is the caller's own.
    pub fn expected(&self, key: &Item, mut expected: Expected) -> Result<Expected, ScopeError> {
        for (name, own) in &self.fixed {
            match expected.get(name) {
                Some(wanted) if !wanted.is_some_and(|wanted| equal(wanted, own)) => {
                    return Err(self.outside(name));
                }
                _ if self.is_from_key(name) => {}
                _ => expected = expected.value(name.clone(), own.clone()),
            }
        }
        Ok(expected.also(self.proof_by(key, |name| self.is_from_key(name))?))
    }

    /// The condition under which a stored item with this primary key is the caller's own. "Always" if the key proves
    /// it, "never" if the key proves another owner.
    fn proof(&self, key: &Item) -> Result<Condition, ScopeError> {
        self.proof_by(key, |_| true)
    }

    /// The proof for some attributes of the scope.
    fn proof_by(&self, key: &Item, wanted: impl Fn(&str) -> bool) -> Result<Condition, ScopeError> {
        let some = self.fixed.iter().filter(|(name, _)| wanted(name));
        let parts: Vec<Condition> =
            some.map(|(name, own)| self.proof_of(key, name, own)).collect::<Result<_, _>>()?;
        Ok(Condition::all(parts).simplified())
    }

    /// The proof for one attribute. An attribute that only keys contain is proven by the primary key, or by the first
    /// index key that contains it. That key depends on the item's entity, so the condition tests the entity too.
    fn proof_of(&self, key: &Item, name: &str, own: &AttributeValue) -> Result<Condition, ScopeError> {
        if !self.is_from_key(name) {
            return Ok(is(name, Some(own)));
        }
        let (mut proofs, mut is_provable) = (Vec::new(), false);
        for (entity, condition) in possible_entities(self.table, key) {
            let proof = match self.table.in_primary_key_of(entity, key, name) {
                _ if !self.table.is_from_key(entity, name) => Some(is(name, Some(own))),
                Some(told) if equal(&told, own) => Some(Condition::always()),
                Some(_) => Some(Condition::Any(Vec::new())),
                None => self.table.proof_by_index_key(entity, name, &self.fixed),
            };
            is_provable |= proof.is_some();
            proofs.extend(proof.map(|proof| Condition::all([condition, proof])));
        }
        // An item can store the attribute as well, and then the stored value counts.
        let stored = Condition::Any(vec![is(name, None), is(name, Some(own))]);
        match is_provable {
            true => Ok(Condition::all([stored, Condition::Any(proofs)])),
            false => Err(self.unprovable(name)),
        }
    }

    /// Is it stored only in keys, in items of some entity?
    fn is_from_key(&self, name: &str) -> bool {
        self.table.is_from_key(None, name)
    }

    fn unprovable(&self, name: &str) -> ScopeError {
        ScopeError::KeyWithout { table: self.table.id.clone(), attribute: name.to_owned() }
    }

    /// A caller must not change the attributes that make an item its own.
    pub fn check_change<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> Result<(), ScopeError> {
        match names.find(|name| self.fixed.contains_key(*name)) {
            Some(name) => Err(self.outside(name)),
            None => Ok(()),
        }
    }

    /// Is this stored item the caller's?
    pub fn holds(&self, item: &Item) -> bool {
        let key = self.table.key_of(item);
        key.is_some_and(|key| self.proof(&key).is_ok_and(|proof| proof.holds(item)))
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

/// The entities that an item with this primary key can have (`None`: no entity), each with the condition on its other
/// attributes. An item that matches two entities has none.
pub(super) fn possible_entities(table: &Table, key: &Item) -> Vec<(Option<EntityId>, Condition)> {
    let in_key = |when: &&When| key.contains_key(&when.attribute);
    let by_key =
        |(_, entity): &(usize, &Entity)| entity.when.iter().filter(in_key).all(|when| when.holds(key));
    let possible: Vec<_> = table.entities.iter().enumerate().filter(by_key).collect();
    let rest = |entity: &Entity| {
        Condition::all(entity.when.iter().filter(|when| !in_key(when)).map(Condition::from))
    };
    let without = |apart_from: Option<&Entity>| {
        let others = possible.iter().map(|(_, other)| *other).filter(|other| match apart_from {
            Some(entity) => entity.name != other.name && !exclude(entity, other),
            None => true,
        });
        Condition::all(others.map(|other| Condition::Not(Box::new(rest(other)))))
    };
    let some = possible.iter().map(|(at, entity)| {
        (Some(EntityId(*at)), Condition::all([rest(entity), without(Some(entity))]).simplified())
    });
    let all = some.chain([(None, without(None).simplified())]);
    all.filter(|(_, condition)| !condition.is_never()).collect()
}

/// Do both entities list different values of one attribute, so that no item can match both?
fn exclude(one: &Entity, other: &Entity) -> bool {
    one.when.iter().any(|when| {
        let WhenTest::In(values) = &when.test else { return false };
        other.when.iter().any(|theirs| match &theirs.test {
            WhenTest::In(listed) => {
                theirs.attribute == when.attribute
                    && !values.iter().any(|value| listed.iter().any(|known| equal(known, value)))
            }
            _ => false,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{Update, UpdateTask};

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
        let put = scope.item(&item(r#"{"project":"p","id":"1"}"#)).unwrap();
        assert_eq!(put["org"], AttributeValue::S("acme".to_owned()));
        assert_eq!(scope.item(&put), Ok(put.clone()));
        let refused = scope.item(&item(r#"{"org":"umbrella","project":"p","id":"1"}"#)).unwrap_err();
        assert_eq!(refused.code(), "out-of-scope");
        let trusted = WriteScope::of(&table, &Caller::Trusted).unwrap();
        assert!(trusted.item(&item(r#"{"org":"umbrella","project":"p","id":"1"}"#)).is_ok());
        assert_eq!(trusted.replaceable(&put), Ok(None));
        assert!(scope.replaceable(&put).unwrap().is_some());
    }

    #[test]
    fn a_key_that_others_could_have_is_not_put() {
        for id in ["documents", "sharded"] {
            let table = table(id);
            let refused = WriteScope::of(&table, &acme()).unwrap().item(&item(r#"{"id":"1"}"#)).unwrap_err();
            assert_eq!(refused.code(), "needs-scoped-key", "{id}");
            assert!(
                WriteScope::of(&table, &Caller::Trusted)
                    .unwrap()
                    .item(&item(r#"{"org":"a","id":"1"}"#))
                    .is_ok()
            );
        }
        let keyed = table("keyed");
        assert!(WriteScope::of(&keyed, &acme()).unwrap().item(&item(r#"{"id":"1"}"#)).is_ok());
    }

    #[test]
    fn a_key_that_says_that_it_is_anothers_leads_nowhere() {
        let table = table("tasks");
        let scope = WriteScope::of(&table, &acme()).unwrap();
        let folded = table.partition.name.clone();
        let own = scope.key(&item(r#"{"project":"p","id":"1"}"#)).unwrap().unwrap();
        assert_eq!(own[folded.as_str()], AttributeValue::S("acme#p".to_owned()));
        assert_eq!(scope.key(&own), Ok(Some(own)));
        let theirs = item(&format!(r#"{{"{folded}":"umbrella#p","id":"1"}}"#));
        assert_eq!(scope.key(&theirs), Ok(None));
        let refused = scope.key(&item(r#"{"org":"umbrella","project":"p","id":"1"}"#)).unwrap_err();
        assert_eq!(refused.code(), "out-of-scope");
    }

    #[test]
    fn what_is_expected_of_an_item_includes_whose_it_is() {
        let table = table("documents");
        let scope = WriteScope::of(&table, &acme()).unwrap();
        let own = AttributeValue::S("acme".to_owned());
        let key = item(r#"{"id":"1"}"#);
        let proof = Condition::all(scope.expected(&key, Expected::nothing()).unwrap().conditions());
        assert_eq!(proof, is("org", Some(&own)));
        assert!(scope.expected(&key, Expected::nothing().value("org", own)).is_ok());
        assert!(scope.expected(&key, Expected::nothing().absent("org")).is_err());
        assert!(scope.check_change(["org"].into_iter()).is_err());
        assert!(scope.check_change(["id"].into_iter()).is_ok());
        let keyed = self::table("keyed");
        let scope = WriteScope::of(&keyed, &acme()).unwrap();
        let key = scope.key(&item(r#"{"id":"1"}"#)).unwrap().unwrap();
        let expected = scope.expected(&key, Expected::nothing()).unwrap();
        assert!(expected.holds(&key), "the primary key proves it");
        let mut contradicting = key.clone();
        contradicting.insert("org", AttributeValue::S("umbrella".to_owned()));
        assert!(!expected.holds(&contradicting), "but for an item that stores another value");
    }

    /// The customer of an order is only in an index key.
    const SHOP: &str = r##"
[tables.shop]
partition = { attribute = "PK" }
sort = { attribute = "SK" }
scope = { org = "jwt.org" }
attributes = { org = { type = "string", from-key = true }, id = { type = "string", from-key = true }, note = "string" }
indexes.byOrg.partition = { attribute = "GSI1PK" }
[tables.shop.entities.customer]
when = { PK = { begins-with = "CUSTOMER#" } }
partition = "CUSTOMER#{org}"
sort = "PROFILE"
[tables.shop.entities.order]
when = { PK = { begins-with = "ORDER#" } }
partition = "ORDER#{id}"
sort = "ORDER"
indexes.byOrg.partition = "CUSTOMER#{org}"
[deploy]
query-api = ["shop"]
query-api-writes = ["shop"]
"##;

    fn parsed(text: &str) -> Table {
        let parsed = crate::manifest::parse("keyfold.toml", text);
        parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics)).tables.remove(0)
    }

    #[test]
    fn a_scope_that_an_index_key_holds_is_proven_by_that_key_of_the_stored_item() {
        let table = parsed(SHOP);
        let stored = |text: &str| crate::write::item_of_json(&table, text).unwrap();
        let scope = WriteScope::of(&table, &acme()).unwrap();
        let order = stored(r##"{"PK":"ORDER#7","SK":"ORDER"}"##);
        assert_eq!(scope.key(&order), Ok(Some(order.clone())));
        let expected = scope.expected(&order, Expected::nothing()).unwrap();
        for (item, is_own) in [
            (r##"{"PK":"ORDER#7","SK":"ORDER","GSI1PK":"CUSTOMER#acme"}"##, true),
            (r##"{"PK":"ORDER#7","SK":"ORDER","GSI1PK":"CUSTOMER#acme","org":"acme"}"##, true),
            (r##"{"PK":"ORDER#7","SK":"ORDER","GSI1PK":"CUSTOMER#umbrella"}"##, false),
            (r##"{"PK":"ORDER#7","SK":"ORDER","GSI1PK":"CUSTOMER#acme","org":"umbrella"}"##, false),
            (r##"{"PK":"ORDER#7","SK":"ORDER","GSI1PK":"acme"}"##, false),
            (r##"{"PK":"ORDER#7","SK":"ORDER"}"##, false),
        ] {
            let item = stored(item);
            assert_eq!(expected.holds(&item), is_own, "{item:?}");
            assert_eq!(scope.holds(&item), is_own, "{item:?}");
        }
        assert!(scope.holds(&stored(r##"{"PK":"CUSTOMER#acme","SK":"PROFILE"}"##)));
        assert_eq!(scope.key(&stored(r##"{"PK":"CUSTOMER#umbrella","SK":"PROFILE"}"##)), Ok(None));
        let unknown = scope.key(&stored(r##"{"PK":"OTHER#1","SK":"x"}"##)).unwrap_err();
        assert_eq!(unknown.code(), "needs-scoped-key", "an item of no entity is of no scope");
        let refused = scope.item(&stored(r#"{"PK":"ORDER#7","SK":"ORDER","id":"7"}"#)).unwrap_err();
        assert_eq!(refused.code(), "needs-scoped-key");
    }

    #[test]
    fn a_table_whose_scope_no_key_proves_cannot_be_written() {
        let unproven = SHOP.replace("\"CUSTOMER#{org}\"\nsort", "\"CUSTOMER#{id}\"\nsort").replace(
            "indexes.byOrg.partition = \"CUSTOMER#{org}\"",
            "indexes.byOrg.partition = \"{note}#{org}\"",
        );
        let found = crate::manifest::parse("keyfold.toml", &unproven).diagnostics;
        assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), ["scope-unproven"]);
    }

    #[test]
    fn where_the_keys_of_two_entities_collide_the_stored_item_shows_which_it_is() {
        let table = parsed(
            r##"
[tables.app]
partition = { attribute = "PK" }
scope = { org = "jwt.org" }
attributes = { org = { type = "string", from-key = true }, id = { type = "string", from-key = true }, kind = "string" }
[tables.app.entities.first]
when = { kind = "first" }
partition = "{org}#{id}"
[tables.app.entities.second]
when = { kind = "second" }
partition = "{id}#{org}"
"##,
        );
        let scope = WriteScope::of(&table, &acme()).unwrap();
        let stored = |text: &str| crate::write::item_of_json(&table, text).unwrap();
        let key = stored(r##"{"PK":"acme#umbrella"}"##);
        let expected = scope.expected(&key, Expected::nothing()).unwrap();
        assert!(expected.holds(&stored(r##"{"PK":"acme#umbrella","kind":"first"}"##)));
        assert!(!expected.holds(&stored(r##"{"PK":"acme#umbrella","kind":"second"}"##)), "umbrella's");
        assert!(!expected.holds(&stored(r##"{"PK":"acme#umbrella"}"##)), "of no entity");
        let refused = scope.item(&stored(r#"{"org":"acme","id":"umbrella","kind":"first"}"#)).unwrap_err();
        assert_eq!(refused.code(), "needs-scoped-key", "umbrella may have an item with this key");

        let stored_item = stored(r##"{"PK":"acme#umbrella","kind":"first"}"##);
        let moved =
            Update::new().set("kind", AttributeValue::S("second".to_owned())).expecting(expected).reading();
        let mut task = UpdateTask::new(&table, &key, moved).unwrap();
        let refused = task.was_read(Some(stored_item)).unwrap_err();
        assert_eq!(refused.code(), "item-key-part-lost", "an update moves no item into another scope");
    }

    #[test]
    fn an_item_of_two_entities_is_of_no_scope() {
        let table = parsed(
            r##"
[tables.app]
partition = { attribute = "PK" }
scope = { org = "jwt.org" }
attributes = { org = { type = "string", from-key = true }, id = { type = "string", from-key = true }, kind = "string", flag = "string" }
[tables.app.entities.first]
when = { kind = "first" }
partition = "{org}#{id}"
[tables.app.entities.second]
when = { flag = "x" }
partition = "{id}#{org}"
"##,
        );
        let scope = WriteScope::of(&table, &acme()).unwrap();
        let stored = |text: &str| crate::write::item_of_json(&table, text).unwrap();
        assert!(scope.holds(&stored(r##"{"PK":"acme#umbrella","kind":"first"}"##)));
        assert!(!scope.holds(&stored(r##"{"PK":"acme#umbrella","kind":"first","flag":"x"}"##)));
        assert!(scope.holds(&stored(r##"{"PK":"umbrella#acme","flag":"x"}"##)));
    }

    #[test]
    fn where_the_first_key_is_absent_the_next_one_proves_it() {
        let table = parsed(
            r##"
[tables.app]
partition = "id"
scope = { org = "jwt.org" }
attributes = { id = "string", org = { type = "string", from-key = true }, day = "string", state = "string" }
indexes.byDay.partition = { attribute = "GPK", fold = "{org}#{day}" }
indexes.byState.partition = { attribute = "HPK", fold = "{org}#{state}" }
"##,
        );
        let scope = WriteScope::of(&table, &acme()).unwrap();
        for (keys, is_own) in [
            (r##""HPK":"acme#x""##, true),
            (r##""GPK":"acme#1","HPK":"umbrella#x""##, true),
            (r##""GPK":"umbrella#1","HPK":"acme#x""##, false),
            (r##""HPK":"acmecorp#x""##, false),
        ] {
            let item = crate::write::item_of_json(&table, &format!(r#"{{"id":"1",{keys}}}"#)).unwrap();
            assert_eq!(scope.holds(&item), is_own, "{keys}");
        }
    }
}
