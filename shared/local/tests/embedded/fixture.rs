//! A table with every kind of index, and items for it.

use std::collections::BTreeMap;

use keyfold_core::key::{KeyMode, KeyRole, Template};
use keyfold_core::model::{
    Attribute, AttributeKind, FoldRule, Index, IndexKind, KeyAttribute, KeySource, Projection, ScalarType,
    Table,
};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Client, PageRequest, QueryPage, TableOptions, load};
use keyfold_local::EmbeddedDynamo;

pub(crate) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(crate) fn number(number: u32) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn item<const N: usize>(attributes: [(&str, AttributeValue); N]) -> Item {
    let attributes = attributes.into_iter().map(|(name, value)| (name.to_owned(), value));
    attributes.collect::<std::collections::HashMap<_, _>>().into()
}

/// `name:type`, a natural key attribute.
fn key(key: &str) -> KeyAttribute {
    let (name, letter) = key.split_once(':').unwrap_or((key, "S"));
    let scalar = match letter {
        "N" => ScalarType::N,
        "B" => ScalarType::B,
        _ => ScalarType::S,
    };
    KeyAttribute { name: name.to_owned(), scalar, source: KeySource::Natural }
}

pub(crate) fn index(
    name: &str,
    kind: IndexKind,
    partition: &[&str],
    sort: &[&str],
    projection: Projection,
) -> Index {
    let keys = |names: &[&str]| names.iter().map(|name| key(name)).collect();
    let (name, expect) = (name.to_owned(), Default::default());
    Index { name, kind, partition: keys(partition), sort: keys(sort), projection, expect }
}

pub(crate) fn table(name: &str, partition: &str, sort: Option<&str>, indexes: Vec<Index>) -> Table {
    Table {
        id: name.to_lowercase(),
        name: name.to_owned(),
        partition: key(partition),
        sort: sort.map(key),
        attributes: Default::default(),
        entity_attribute: None,
        entities: Vec::new(),
        indexes,
        scope: Default::default(),
        written_by: Default::default(),
        expect: Default::default(),
        ttl: None,
        collection_bytes_warn: 0,
        facts: Default::default(),
    }
}

/// Visits of users to places: a table with local, global and native indexes, with every projection.
pub(crate) fn visits() -> Table {
    let note = || Projection::Include(vec!["note".to_owned()]);
    let native = ["place", "day:N", "badge:B", "user"];
    table(
        "VisitsOfPlaces",
        "user",
        Some("at:N"),
        vec![
            index("byDay", IndexKind::Local, &["user"], &["day:N"], Projection::KeysOnly),
            index("byPlace", IndexKind::Local, &["user"], &["place"], note()),
            index("byRoom", IndexKind::Local, &["user"], &["room"], Projection::All),
            index("placeAll", IndexKind::Global, &["place"], &["at:N"], Projection::All),
            index("dayKeys", IndexKind::Global, &["day:N"], &[], Projection::KeysOnly),
            index("roomNote", IndexKind::Global, &["room"], &["at:N"], note()),
            index(
                "native",
                IndexKind::Global,
                &native,
                &["room", "at:N", "note", "door"],
                Projection::KeysOnly,
            ),
        ],
    )
}

/// The audit table with one folded global key, in the attribute `folded`.
pub(crate) fn folded_audit() -> Table {
    let attributes: BTreeMap<_, _> = ["resourceId", "action", "accessedBy"]
        .map(|name| (name.to_owned(), Attribute::new(name, AttributeKind::String)))
        .into();
    let template = "{resourceId}-{action}-{accessedBy}";
    let template = Template::parse(template, &attributes, KeyRole::Partition, KeyMode::Escaped).unwrap();
    let mut by_all = index("byResourceActionUser", IndexKind::Global, &["folded"], &[], Projection::All);
    by_all.partition[0].source = KeySource::Folded(vec![FoldRule { entity: None, template }]);
    Table { attributes, ..table("ResourceAccessAudit", "id", None, vec![by_all]) }
}

/// The visit number `at`. Every tenth is to a room, and only that one has all attributes of the native key.
pub(crate) fn visit(user: &str, at: u32) -> Item {
    let mut visit = item([
        ("user", text(user)),
        ("at", number(at)),
        ("day", number(at / 100)),
        ("place", text(if at.is_multiple_of(2) { "even" } else { "odd" })),
        ("badge", AttributeValue::B(vec![7])),
        ("note", text(&format!("note {at:04}"))),
        ("extra", text("x")),
    ]);
    if at.is_multiple_of(10) {
        visit.insert("room".to_owned(), text("green"));
        visit.insert("door".to_owned(), text("front"));
    }
    visit
}

/// An embedded DynamoDB with 300 visits of joe and one of ann.
pub(crate) async fn loaded() -> (EmbeddedDynamo, Client) {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    assert_eq!(dynamo.create_tables(&[visits()], TableOptions::default()).await.unwrap(), 1);
    let client = dynamo.client();
    let items = (0..300).map(|at| visit("joe", at)).chain([visit("ann", 0)]);
    load(&client, &visits(), futures_util::stream::iter(items)).await.unwrap();
    (dynamo, client)
}

/// A query of an index of the visits: `user = joe`, with values written as in DynamoDB JSON's short form.
pub(crate) fn query<const N: usize>(
    index: Option<&str>,
    conditions: [(&str, AttributeValue); N],
) -> QueryPage {
    let mut page =
        PageRequest { table: visits().name, index: index.map(str::to_owned), ..PageRequest::default() };
    let mut condition = Vec::new();
    for (at, (name, value)) in conditions.into_iter().enumerate() {
        page.names.insert(format!("#k{at}"), name.to_owned());
        page.values.insert(format!(":k{at}"), value);
        condition.push(format!("#k{at} = :k{at}"));
    }
    QueryPage { page, key_condition: condition.join(" AND "), forward: true }
}

/// The `at` of items, in their order.
pub(crate) fn ats(items: &[Item]) -> Vec<u32> {
    items.iter().map(|item| written(&item["at"]).parse().unwrap()).collect()
}

/// The text of a string or a number.
pub(crate) fn written(value: &AttributeValue) -> &str {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => text,
        other => panic!("{other:?}"),
    }
}
