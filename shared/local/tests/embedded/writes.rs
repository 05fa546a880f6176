//! Items arrive as they were given, one by one and by the thousand.

use futures_util::stream;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{
    BatchGet, DynamoError, PageRequest, QueryPage, ScanPage, TableOptions, WriteError, batch_get, load, put,
    put_new, query_page, scan_page,
};
use keyfold_local::EmbeddedDynamo;

use crate::fixture::{folded_audit, item, number, table, text, visit, visits, written};

async fn all(client: &keyfold_dynamo::Client, table: &str) -> Vec<Item> {
    let page = PageRequest { table: table.to_owned(), ..PageRequest::default() };
    let mut scan = ScanPage { page, segment: None };
    let mut items = Vec::new();
    loop {
        let page = scan_page(client, &scan).await.unwrap();
        items.extend(page.items);
        scan.page.start_key = page.last_key;
        if scan.page.start_key.is_none() {
            return items;
        }
    }
}

#[tokio::test]
async fn an_item_comes_back_with_every_type_of_value() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    let table = table("ThingsOfAllKinds", "id", None, Vec::new());
    dynamo.create_tables([&table], TableOptions::default()).await.unwrap();
    let thing = item([
        ("id", text("1")),
        ("number", AttributeValue::N("-1234567890.0123456789".to_owned())),
        ("binary", AttributeValue::B(vec![0, 255])),
        ("bool", AttributeValue::Bool(true)),
        ("null", AttributeValue::Null(true)),
        ("empty", text("")),
        (
            "list",
            AttributeValue::L(vec![
                number(1),
                text("ü"),
                AttributeValue::M([("k".to_owned(), number(2))].into()),
            ]),
        ),
        ("strings", AttributeValue::Ss(vec!["a".to_owned(), "b".to_owned()])),
        ("numbers", AttributeValue::Ns(vec!["1".to_owned(), "2".to_owned()])),
        ("binaries", AttributeValue::Bs(vec![vec![1], vec![2]])),
    ]);
    put(&client, &table, thing.clone()).await.unwrap();
    let batch = BatchGet {
        table: table.name.clone(),
        keys: vec![item([("id", text("1"))])],
        consistent: true,
        ..BatchGet::default()
    };
    assert_eq!(batch_get(&client, &batch).await.unwrap().items, [thing]);
}

#[tokio::test]
async fn a_put_says_what_it_cost_in_each_index() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    dynamo.create_tables([&visits()], TableOptions::default()).await.unwrap();
    let consumed = put(&client, &visits(), visit("joe", 5)).await.unwrap();
    let touched: Vec<_> = consumed.index_units.keys().map(String::as_str).collect();
    assert_eq!(touched, ["byDay", "byPlace", "dayKeys", "placeAll"]);
    assert_eq!((consumed.units, consumed.table_units), (5.0, 1.0));
}

#[tokio::test]
async fn a_new_item_is_never_put_over_another() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    dynamo.create_tables([&visits()], TableOptions::default()).await.unwrap();
    put_new(&client, &visits(), visit("joe", 5)).await.unwrap();
    let mut second = visit("joe", 5);
    second.insert("extra".to_owned(), text("second"));
    let error = put_new(&client, &visits(), second).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("condition-failed", false));
    assert!(!format!("{error} {error:?}").contains("note"), "{error:?}");
    let WriteError::Dynamo(DynamoError::ConditionFailed { item, .. }) = error else { panic!("{error:?}") };
    assert_eq!(item.into_revealed().as_deref(), Some(&visit("joe", 5)));
    assert_eq!(all(&client, &visits().name).await, [visit("joe", 5)]);
}

#[tokio::test]
async fn a_load_writes_everything_and_of_one_key_the_last() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    let table = table("RoundsOfCounting", "id:N", None, Vec::new());
    dynamo.create_tables([&table], TableOptions::default()).await.unwrap();
    // 40 rounds over 50 keys: each key is repeated while batches with it are in flight, and in two spellings.
    let round = |round: u32| {
        (0..50).map(move |id| {
            let id = if round.is_multiple_of(2) { format!("{id}") } else { format!("{id}.0") };
            item([("id", AttributeValue::N(id)), ("round", number(round))])
        })
    };
    let loaded = load(&client, &table, stream::iter((0..40).flat_map(round))).await.unwrap();
    assert_eq!((loaded.written, loaded.resent, loaded.consumed.units), (2000, 0, 2000.0));
    let items = all(&client, &table.name).await;
    assert_eq!(items.len(), 50);
    assert!(items.iter().all(|item| item["round"] == number(39)), "{items:?}");
}

#[tokio::test]
async fn one_key_twice_in_a_row_does_not_share_a_batch() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    let table = table("RoundsOfCounting", "id:N", None, Vec::new());
    dynamo.create_tables([&table], TableOptions::default()).await.unwrap();
    let items = ["1", "2", "1.0", "2.00"].map(|id| item([("id", AttributeValue::N(id.to_owned()))]));
    let loaded = load(&client, &table, stream::iter(items)).await.unwrap();
    assert_eq!((loaded.written, loaded.batches), (4, 2));
}

#[tokio::test]
async fn a_load_ends_at_an_item_that_cannot_be_written() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    dynamo.create_tables([&visits()], TableOptions::default()).await.unwrap();
    let items = (0..60).map(|at| if at == 30 { item([("user", text("joe"))]) } else { visit("joe", at) });
    let error = load(&client, &visits(), stream::iter(items)).await.unwrap_err();
    assert_eq!(error.source.code(), "item-key-missing");
    // The previous batch was in flight and was completed.
    assert_eq!((error.loaded.written, all(&client, &visits().name).await.len()), (25, 25));
}

#[tokio::test]
async fn a_load_into_no_table_writes_nothing() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let items = stream::iter((0..60).map(|at| visit("joe", at)));
    let error = load(&dynamo.client(), &visits(), items).await.unwrap_err();
    assert_eq!((error.source.code(), error.loaded.written), ("table-not-found", 0));
}

#[tokio::test]
async fn folded_keys_are_written_and_answer_their_question() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    let audit = folded_audit();
    dynamo.create_tables([&audit], TableOptions::default()).await.unwrap();
    let event = |id: &str, user: Option<&str>| {
        let mut event = item([("id", text(id)), ("resourceId", text("123ccc")), ("action", text("viewed"))]);
        event.extend(user.map(|user| ("accessedBy".to_owned(), text(user))));
        event
    };
    let events = [event("111aaa", Some("joe1")), event("222bbb", Some("sam")), event("333ccc", None)];
    load(&client, &audit, stream::iter(events)).await.unwrap();
    let page = PageRequest {
        table: audit.name.clone(),
        index: Some("byResourceActionUser".to_owned()),
        values: [(":k".to_owned(), text("123ccc-viewed-joe1"))].into(),
        ..PageRequest::default()
    };
    let query = QueryPage { page, key_condition: "folded = :k".to_owned(), forward: true };
    let found = query_page(&client, &query).await.unwrap().items;
    assert_eq!(found.len(), 1);
    assert_eq!((written(&found[0]["id"]), written(&found[0]["folded"])), ("111aaa", "123ccc-viewed-joe1"));
    // An item that lacks a part has no folded key, but is in the table.
    let all = all(&client, &audit.name).await;
    assert_eq!(all.iter().filter(|item| item.contains_key("folded")).count(), 2);
    assert_eq!(all.len(), 3);
}
