//! Every index can be read, page by page, with its projected attributes and the consumed units.

use std::collections::BTreeSet;

use keyfold_core::value::{AttributeValue, Item, Name};
use keyfold_dynamo::{
    BatchGet, Client, DynamoError, Fetch, PageRequest, QueryPage, ScanPage, Segment, batch_get, query_page,
    scan_page,
};

use crate::fixture::{ats, item, loaded, number, query, text, visit, visits, written};

/// All items of a query and the number of its pages.
async fn all(client: &Client, mut query: QueryPage) -> (Vec<Item>, usize) {
    let (mut items, mut pages) = (Vec::new(), 0);
    loop {
        let page = query_page(client, &query).await.unwrap();
        pages += 1;
        items.extend(page.items);
        query.page.start_key = page.last_key;
        if query.page.start_key.is_none() {
            return (items, pages);
        }
    }
}

#[tokio::test]
async fn the_table_answers_page_by_page_both_ways() {
    let (_dynamo, client) = loaded().await;
    let mut query = query(None, [("user", text("joe"))]);
    query.page.limit = Some(70);
    let (items, pages) = all(&client, query.clone()).await;
    assert_eq!((ats(&items), pages), ((0..300).collect(), 5));
    assert_eq!(items[299], visit("joe", 299));
    query.forward = false;
    assert_eq!(ats(&all(&client, query).await.0), (0..300).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn each_index_answers_with_what_it_holds() {
    let (_dynamo, client) = loaded().await;
    let joe = || ("user", text("joe"));
    let native = [
        ("place", text("even")),
        ("day", number(1)),
        ("badge", AttributeValue::B(vec![7])),
        ("user", text("joe")),
    ];
    for (query, count, attributes) in [
        (query(Some("byDay"), [joe(), ("day", number(2))]), 100, "at day user"),
        (query(Some("byPlace"), [joe(), ("place", text("odd"))]), 150, "at note place user"),
        (
            query(Some("byRoom"), [joe(), ("room", text("green"))]),
            30,
            "at badge day door extra note place room user",
        ),
        (query(Some("placeAll"), [("place", text("odd"))]), 150, "at badge day extra note place user"),
        (query(Some("dayKeys"), [("day", number(0))]), 101, "at day user"),
        (query(Some("roomNote"), [("room", text("green"))]), 31, "at note room user"),
        (query(Some("native"), native), 10, "at badge day door note place room user"),
    ] {
        let name = query.page.index.clone().unwrap();
        let mut small = query.clone();
        small.page.limit = Some(7);
        let (items, pages) = all(&client, small).await;
        assert_eq!((items.len(), pages), (count, count / 7 + 1), "{name}");
        assert_eq!(items, all(&client, query).await.0, "{name}");
        for item in items {
            let found: BTreeSet<_> = item.keys().map(Name::as_str).collect();
            assert_eq!(found.into_iter().collect::<Vec<_>>().join(" "), attributes, "{name}");
        }
    }
}

#[tokio::test]
async fn a_native_key_can_be_asked_with_a_part_of_its_sort_key() {
    let (_dynamo, client) = loaded().await;
    let key = [
        ("place", text("even")),
        ("day", number(1)),
        ("badge", AttributeValue::B(vec![7])),
        ("user", text("joe")),
        ("room", text("green")),
    ];
    let mut query = query(Some("native"), key);
    query.key_condition += " AND #at BETWEEN :low AND :high";
    query.page.names.insert("#at".to_owned(), "at".to_owned());
    query.page.values.extend([(":low".to_owned(), number(110)), (":high".to_owned(), number(130))]);
    assert_eq!(ats(&query_page(&client, &query).await.unwrap().items), [110, 120, 130]);
}

#[tokio::test]
async fn a_local_index_fetches_what_it_lacks() {
    let (_dynamo, client) = loaded().await;
    let mut query = query(Some("byDay"), [("user", text("joe")), ("day", number(2))]);
    query.page.fetch = Fetch::All;
    assert_eq!(query_page(&client, &query).await.unwrap().items[42], visit("joe", 242));
}

#[tokio::test]
async fn a_filter_reads_more_than_it_returns_and_a_count_returns_no_items() {
    let (_dynamo, client) = loaded().await;
    let mut query = query(None, [("user", text("joe"))]);
    query.page.filter = Some("attribute_exists(room)".to_owned());
    query.page.limit = Some(100);
    let page = query_page(&client, &query).await.unwrap();
    assert_eq!((page.items.len(), page.count, page.scanned), (10, 10, 100));
    query.page.fetch = Fetch::Count;
    let page = query_page(&client, &query).await.unwrap();
    assert_eq!((page.items.len(), page.count, page.scanned), (0, 10, 100));
    query.page.fetch = Fetch::Expression("room, #k0".to_owned());
    let page = query_page(&client, &query).await.unwrap();
    assert_eq!(page.items[0], item([("user", text("joe")), ("room", text("green"))]));
}

#[tokio::test]
async fn a_query_says_what_it_cost_and_where() {
    let (_dynamo, client) = loaded().await;
    let mut query = query(None, [("user", text("joe"))]);
    let eventual = query_page(&client, &query).await.unwrap().consumed;
    query.page.consistent = true;
    let consistent = query_page(&client, &query).await.unwrap().consumed;
    assert_eq!((consistent.units, consistent.table_units), (2.0 * eventual.units, 2.0 * eventual.units));
    assert!(eventual.units >= 1.0, "{eventual:?}");
    let by_room = crate::fixture::query(Some("byRoom"), [("user", text("joe"))]);
    let consumed = query_page(&client, &by_room).await.unwrap().consumed;
    assert_eq!((consumed.index_units["byRoom"], consumed.table_units), (consumed.units, 0.0));
}

#[tokio::test]
async fn the_segments_of_a_scan_hold_every_item_once() {
    let (_dynamo, client) = loaded().await;
    let page = PageRequest { table: visits().name, limit: Some(40), ..PageRequest::default() };
    let mut seen = Vec::new();
    for number in 0..3 {
        let mut scan = ScanPage { page: page.clone(), segment: Some(Segment { number, total: 3 }) };
        loop {
            let page = scan_page(&client, &scan).await.unwrap();
            seen.extend(
                page.items.iter().map(|item| (written(&item["user"]).to_owned(), item["at"].clone())),
            );
            scan.page.start_key = page.last_key;
            if scan.page.start_key.is_none() {
                break;
            }
        }
    }
    let mut expected: Vec<_> = (0..300).map(|at| ("joe".to_owned(), number(at))).collect();
    expected.push(("ann".to_owned(), number(0)));
    let order =
        |a: &(String, AttributeValue), b: &(String, AttributeValue)| format!("{a:?}").cmp(&format!("{b:?}"));
    seen.sort_by(order);
    expected.sort_by(order);
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_scan_of_an_index_reads_only_what_is_in_it() {
    let (_dynamo, client) = loaded().await;
    let page =
        PageRequest { table: visits().name, index: Some("roomNote".to_owned()), ..PageRequest::default() };
    assert_eq!(scan_page(&client, &ScanPage { page, segment: None }).await.unwrap().scanned, 31);
}

#[tokio::test]
async fn a_batch_of_a_hundred_keys_is_read_and_one_more_is_refused() {
    let (_dynamo, client) = loaded().await;
    let key = |at| item([("user", text("joe")), ("at", number(at))]);
    let mut batch =
        BatchGet { table: visits().name, keys: (250..350).map(key).collect(), ..BatchGet::default() };
    let got = batch_get(&client, &batch).await.unwrap();
    let mut found = ats(&got.items);
    found.sort_unstable();
    // Keys without an item are not in the answer, but cost half a unit each.
    assert_eq!((found, got.consumed.units), ((250..300).collect(), 50.0));
    batch.projection = Some("#n".to_owned());
    batch.names.insert("#n".to_owned(), "note".to_owned());
    assert_eq!(batch_get(&client, &batch).await.unwrap().items[0].len(), 1);
    batch.keys.push(key(350));
    let error = batch_get(&client, &batch).await.unwrap_err();
    assert!(matches!(error, DynamoError::TooMany { given: 101, most: 100, .. }), "{error:?}");
}
