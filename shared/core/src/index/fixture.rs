//! Small tables and items for the tests of this module and of `cost`.

use std::collections::BTreeMap;

use crate::key::{KeyMode, KeyRole, Template};
use crate::model::{
    Attribute, AttributeKind, Entity, EntityId, Expect, FoldRule, Index, IndexKind, KeyAttribute, KeySource,
    Projection, ScalarType, Table, When, WhenTest,
};
use crate::value::{AttributeValue, Item};

/// An item from DynamoDB JSON.
pub(crate) fn item(json: &str) -> Item {
    serde_json::from_str(json).unwrap()
}

/// A value from DynamoDB JSON.
pub(crate) fn value(json: &str) -> AttributeValue {
    serde_json::from_str(json).unwrap()
}

/// A natural string key attribute.
pub(crate) fn key(name: &str) -> KeyAttribute {
    KeyAttribute { name: name.to_owned(), scalar: ScalarType::S, source: KeySource::Natural }
}

/// A local index of `forum()`.
pub(crate) fn local(name: &str, sort: &str, projection: Projection) -> Index {
    let (partition, sort) = (vec![key("ForumName")], vec![key(sort)]);
    let (name, expect) = (name.to_owned(), Expect::default());
    Index { name, kind: IndexKind::Local, partition, sort, projection, expect }
}

/// A global index with these key attributes.
pub(crate) fn global(name: &str, partition: &[&str], sort: &[&str], projection: Projection) -> Index {
    let keys = |names: &[&str]| names.iter().map(|name| key(name)).collect();
    let (partition, sort) = (keys(partition), keys(sort));
    let (name, expect) = (name.to_owned(), Expect::default());
    Index { name, kind: IndexKind::Global, partition, sort, projection, expect }
}

/// An INCLUDE projection.
pub(crate) fn include(names: &[&str]) -> Projection {
    Projection::Include(names.iter().map(|&name| name.to_owned()).collect())
}

/// A table without anything but keys.
pub(crate) fn table(id: &str, partition: &str, sort: Option<&str>, indexes: Vec<Index>) -> Table {
    Table {
        expect: Expect::default(),
        id: id.to_owned(),
        name: id.to_owned(),
        partition: key(partition),
        sort: sort.map(key),
        attributes: BTreeMap::new(),
        entity_attribute: None,
        entities: Vec::new(),
        indexes,
        scope: BTreeMap::new(),
        written_by: BTreeMap::new(),
        ttl: None,
        collection_bytes_warn: 8 << 30,
        facts: Default::default(),
    }
}

/// The forum of DynamoDB's guide: threads, and local indexes on the time of the last post.
pub(crate) fn forum(indexes: Vec<Index>) -> Table {
    table("thread", "ForumName", Some("Subject"), indexes)
}

/// A thread of the forum that is in the indexes on `LastPostDateTime`.
pub(crate) fn thread() -> Item {
    item(
        r#"{"ForumName":{"S":"EC2"},"Subject":{"S":"b"},"LastPostDateTime":{"S":"2015-01-15T00:00:00.000Z"},
            "Replies":{"N":"12"},"Tags":{"SS":["x","y"]}}"#,
    )
}

/// A key attribute folded from the given attributes, for all items or for one entity each.
pub(crate) fn folded(name: &str, role: KeyRole, rules: &[(Option<usize>, &str)]) -> KeyAttribute {
    let rules = rules.iter().map(|&(entity, text)| FoldRule {
        entity: entity.map(EntityId),
        template: Template::parse(
            text,
            &strings(&["resourceId", "action", "accessedBy", "species", "name"]),
            role,
            KeyMode::Escaped,
        )
        .unwrap(),
    });
    KeyAttribute { name: name.to_owned(), scalar: ScalarType::S, source: KeySource::Folded(rules.collect()) }
}

/// The resource audit: one folded global index.
pub(crate) fn audit() -> Table {
    let mut index = global("byUser", &["x"], &["timestamp"], Projection::All);
    index.partition =
        vec![folded("byUserKey", KeyRole::Partition, &[(None, "{resourceId}-{action}-{accessedBy}")])];
    table("audit", "id", None, vec![index])
}

/// Dogs and parrots in one index, and cats that are not in it.
pub(crate) fn pets() -> Table {
    let rules = [(Some(0), "dog:{name}"), (Some(1), "parrot:{name}")];
    let mut index = global("index1", &["owner"], &["x"], Projection::KeysOnly);
    index.sort = vec![folded("index1Sort", KeyRole::Sort, &rules)];
    let mut pets = table("pets", "id", None, vec![index]);
    pets.entities = vec![
        entity("dog", "species", WhenTest::In(vec![value(r#"{"S":"dog"}"#), value(r#"{"S":"hound"}"#)])),
        entity("parrot", "species", WhenTest::In(vec![value(r#"{"S":"parrot"}"#)])),
        entity("cat", "whiskers", WhenTest::Exists(true)),
    ];
    pets
}

fn entity(name: &str, attribute: &str, test: WhenTest) -> Entity {
    Entity {
        name: name.to_owned(),
        when: vec![When { attribute: attribute.to_owned(), test }],
        attributes: BTreeMap::new(),
        expect: Expect::default(),
    }
}

fn strings(names: &[&str]) -> BTreeMap<String, Attribute> {
    let attribute = |&name: &&str| {
        let name = name.to_owned();
        (name.clone(), Attribute::new(&name, AttributeKind::String))
    };
    names.iter().map(attribute).collect()
}
