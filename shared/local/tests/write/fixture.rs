//! Two tables: events with folded keys over the project's own sample, and parts of two kinds with a folded primary key.

use keyfold_core::manifest;
use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{BatchGet, Client, TableOptions, batch_get, primary_key, put};
use keyfold_local::EmbeddedDynamo;

/// Things of two kinds under one folded key, with a local index.
const THINGS: &str = r#"
[tables.things]
name = "Things"
partition = "owner"
sort = "{kind}:{name}"
entity-attribute = "kind"
[tables.things.attributes]
owner = "string"
kind = { type = "string", values = ["tool", "part"] }
name = "string"
colour = "string"
note = "string"
[tables.things.entities.tool]
when = { kind = "tool" }
indexes.byLook.sort = "tool:{colour}"
[tables.things.entities.part]
when = { kind = "part" }
attributes.size = { type = "number", required = true }
indexes.byLook.sort = "part:{size:06}:{colour}"
[tables.things.indexes.byLook]
type = "local"
sort = { attribute = "byLook_sk" }
"#;

pub(crate) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(crate) fn number(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn item<const N: usize>(attributes: [(&str, AttributeValue); N]) -> Item {
    let attributes = attributes.into_iter().map(|(name, value)| (name.to_owned(), value));
    attributes.collect::<std::collections::HashMap<_, _>>().into()
}

fn table(manifest_text: &str, id: &str) -> Table {
    let parsed = manifest::parse("keyfold.toml", manifest_text);
    let report = parsed.render(manifest_text, false);
    let Some(model) = parsed.model else { panic!("{report}") };
    model.table(id).unwrap().clone()
}

/// The audit table of the project's sample.
pub(crate) fn audit() -> Table {
    table(include_str!("../../../../keyfold.toml"), "audit")
}

/// The table `things`.
pub(crate) fn things() -> Table {
    table(THINGS, "things")
}

pub(crate) fn event(id: &str) -> Item {
    item([
        ("id", text(id)),
        ("resourceId", text("123ccc")),
        ("action", text("viewed")),
        ("accessedBy", text("joe1")),
        ("timestamp", text("2017-03-01T08:00:00.000Z")),
        ("note", text("a note")),
    ])
}

pub(crate) fn key(id: &str) -> Item {
    item([("id", text(id))])
}

/// A DynamoDB with this table and these items.
pub(crate) async fn with(table: &Table, items: impl IntoIterator<Item = Item>) -> (EmbeddedDynamo, Client) {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    dynamo.create_tables([table], TableOptions::default()).await.unwrap();
    for item in items {
        put(&client, table, item).await.unwrap();
    }
    (dynamo, client)
}

/// The item with this key, as it is stored.
pub(crate) async fn stored(client: &Client, table: &Table, key: &Item) -> Option<Item> {
    let keys = vec![primary_key(table, key).unwrap()];
    let batch = BatchGet { table: table.name.clone(), keys, consistent: true, ..BatchGet::default() };
    batch_get(client, &batch).await.unwrap().items.pop()
}

/// Fails if an item does not have exactly the folded keys that it should have.
pub(crate) fn assert_keys_are_right(table: &Table, item: &Item) {
    for (name, wanted) in table.folded(item).unwrap() {
        assert_eq!(item.get(name), wanted.map(AttributeValue::S).as_ref(), "`{name}` is stale");
    }
}
