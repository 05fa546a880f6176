//! The table that the tests read: who viewed what, when and where, with local and global indexes of every kind.

use std::sync::OnceLock;

use futures_util::stream;
use keyfold_core::model::{Expect, Index, IndexKind, KeyAttribute, KeySource, Projection, ScalarType, Table};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Client, Settings, TableOptions, load, plain_client};
use keyfold_local::EmbeddedDynamo;

pub(crate) const USERS: usize = 6;
pub(crate) const KINDS: [&str; 3] = ["deleted", "edited", "viewed"];

fn key(name: &str, scalar: ScalarType) -> KeyAttribute {
    KeyAttribute { name: name.to_owned(), scalar, source: KeySource::Natural }
}

fn index(
    name: &str,
    kind: IndexKind,
    partition: Vec<KeyAttribute>,
    sort: Vec<KeyAttribute>,
    holds: Projection,
) -> Index {
    let (name, expect) = (name.to_owned(), Default::default());
    Index { name, kind, partition, sort, projection: holds, expect }
}

/// The table `views`.
pub(crate) fn table() -> Table {
    use IndexKind::{Global, Local};
    use ScalarType::{N, S};
    let user = || vec![key("user", S)];
    let kind = || vec![key("kind", S)];
    Table {
        id: "views".to_owned(),
        name: "resource-views".to_owned(),
        partition: key("user", S),
        sort: Some(key("at", N)),
        attributes: [].into(),
        entity_attribute: None,
        entities: Vec::new(),
        indexes: vec![
            index("byScore", Local, user(), vec![key("score", N)], Projection::KeysOnly),
            index("byKind", Global, kind(), vec![key("at", N)], Projection::All),
            index("byKindScore", Global, kind(), vec![key("score", N)], Projection::KeysOnly),
            index(
                "byKindCity",
                Global,
                vec![key("kind", S), key("city", S)],
                vec![key("score", N), key("at", N)],
                Projection::Include(vec!["note".to_owned()]),
            ),
        ],
        scope: [].into(),
        written_by: [].into(),
        expect: Expect { item_bytes: Some(150), ..Expect::default() },
        ttl: None,
        collection_bytes_warn: 0,
        facts: Default::default(),
    }
}

/// One item. `at` is different in all of them; every third lacks `city`.
pub(crate) fn item(number: usize) -> Item {
    let mut random = fastrand::Rng::with_seed(number as u64);
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let mut item = Item::default();
    item.insert("user".to_owned(), text(&format!("user{}", number % USERS)));
    item.insert("at".to_owned(), AttributeValue::N((1000 + number * 7 % 1009).to_string()));
    item.insert("kind".to_owned(), text(KINDS[random.usize(..KINDS.len())]));
    item.insert("score".to_owned(), AttributeValue::N(random.u32(..30).to_string()));
    item.insert("note".to_owned(), text(&format!("note {number}")));
    if !number.is_multiple_of(3) {
        item.insert("city".to_owned(), text(["London", "Londonderry"][random.usize(..2)]));
    }
    item
}

/// All items of the shared table.
pub(crate) fn items() -> Vec<Item> {
    (0..400).map(item).collect()
}

/// A client for a table `views` that all tests share and none writes to.
pub(crate) fn shared() -> Client {
    static DYNAMO: OnceLock<EmbeddedDynamo> = OnceLock::new();
    let dynamo = DYNAMO.get_or_init(|| {
        let (dynamo, items) = (EmbeddedDynamo::memory().unwrap(), items());
        let (client, table) = (dynamo.client(), table());
        // A separate runtime on a separate thread, because the caller is within one.
        let made = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(fill(&client, &table, items));
        });
        made.join().unwrap();
        dynamo
    });
    // A connection belongs to the runtime of the test that opened it.
    plain_client(dynamo.endpoint(), &Settings { attempts_max: 1, ..Settings::default() })
}

/// A table of one test's own.
pub(crate) async fn own(table: &Table, items: Vec<Item>) -> (EmbeddedDynamo, Client) {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    fill(&client, table, items).await;
    (dynamo, client)
}

async fn fill(client: &Client, table: &Table, items: Vec<Item>) {
    keyfold_dynamo::create_table(client, table, TableOptions::default()).await.unwrap();
    load(client, table, stream::iter(items)).await.unwrap();
}
