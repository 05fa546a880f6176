//! Readers never see the traces of retrofits: neither tombstones nor Keyfold's own attributes.

use aws_sdk_dynamodb::types::AttributeValue as SdkValue;
use keyfold_core::model::{Expect, Index, IndexKind, Projection, Table};
use keyfold_core::query::QueryPlan;
use keyfold_core::query::plan::{Access, Delivery, ReadFrom, SortTest};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Answer, Client, RunOptions, run};
use keyfold_local::EmbeddedDynamo;

use crate::plans::{
    ascending, ats, by_kind_score, global, narrowed, number, of_user, plan, query, scan, text,
};
use crate::views;
use crate::watch::Watch;

/// The table of the other tests, with an index whose key has only the table's key attributes: tombstones are in it.
fn table() -> Table {
    let mut table = views::table();
    let partition = vec![table.sort.clone().unwrap()];
    let sort = vec![table.partition.clone()];
    for (name, projection) in [("byAt", Projection::KeysOnly), ("byAtAll", Projection::All)] {
        let (partition, sort) = (partition.clone(), sort.clone());
        table.indexes.push(Index {
            name: name.to_owned(),
            kind: IndexKind::Global,
            partition,
            sort,
            projection,
            expect: Expect::default(),
        });
    }
    table
}

/// Writes as a retrofit does: around Keyfold's own checks.
async fn put(client: &Client, item: &Item) {
    let item = item.iter().map(|(name, value)| (name.to_string(), SdkValue::from(value.clone()))).collect();
    client.put_item().table_name("resource-views").set_item(Some(item)).send().await.unwrap();
}

fn tombstone(of: &Item) -> Item {
    let mut item = Item::default();
    for name in ["user", "at"] {
        item.insert(name.to_owned(), of[name].clone());
    }
    item.insert("keyfold_tombstone".to_owned(), AttributeValue::Bool(true));
    fenced(item)
}

fn fenced(mut item: Item) -> Item {
    item.insert("keyfold_fence".to_owned(), text("0001.0000000000000000000000000000000000000001.000000"));
    item
}

/// 60 items after a retrofit, 40 of them deleted.
async fn cut_over() -> (EmbeddedDynamo, Client, Vec<Item>) {
    let (dynamo, client) = views::own(&table(), Vec::new()).await;
    for at in 0..60 {
        let item = views::item(at);
        put(&client, &if at % 3 == 0 { fenced(item) } else { tombstone(&item) }).await;
    }
    (dynamo, client, (0..60).step_by(3).map(views::item).collect())
}

async fn whole(client: &Client, plan: &QueryPlan) -> Vec<Answer> {
    let (mut pages, mut from): (Vec<Answer>, _) = (Vec::new(), None);
    while pages.len() < 100 {
        let page = run(client, &table(), plan, from.as_ref(), &RunOptions::default()).await.unwrap();
        from = page.next.clone();
        pages.push(page);
        if from.is_none() {
            return pages;
        }
    }
    panic!("a hundred pages and no end");
}

/// Every page but the last is full, and together they are these items as they were written.
async fn is_exactly(client: &Client, accesses: Vec<Access>, delivery: Delivery, expected: &[Item]) {
    for limit in [1, 3, 1000] {
        let paged = plan(accesses.clone(), delivery, ascending("at"), limit);
        let pages = whole(client, &paged).await;
        let (last, full) = pages.split_last().unwrap();
        assert!(full.iter().all(|page| page.items.len() == limit as usize), "limit {limit}");
        assert!(last.items.len() <= limit as usize);
        let items: Vec<Item> = pages.into_iter().flat_map(|page| page.items).collect();
        assert_eq!(ats(&items).len(), expected.len(), "limit {limit}");
        assert!(
            items.iter().all(|item| expected.contains(item)),
            "with what the writers wrote and nothing else"
        );
    }
    let counted = QueryPlan { count: true, ..plan(accesses, delivery, Vec::new(), 1000) };
    let count: u64 = whole(client, &counted).await.iter().map(|page| page.count).sum();
    assert_eq!(count, expected.len() as u64);
}

#[tokio::test]
async fn a_deleted_item_is_in_no_answer_no_count_and_fills_no_page() {
    let (_dynamo, client, items) = cut_over().await;
    let of = |user: &str| -> Vec<Item> {
        items.iter().filter(|item| item["user"] == text(user)).cloned().collect()
    };
    is_exactly(&client, vec![of_user(0)], Delivery::Sequential, &of("user0")).await;
    is_exactly(&client, vec![of_user(1)], Delivery::Sequential, &[]).await;
    is_exactly(&client, vec![scan(ReadFrom::Table)], Delivery::Sequential, &items).await;
    let users = || (0..views::USERS).map(of_user).collect();
    is_exactly(&client, users(), Delivery::Merged, &items).await;
    is_exactly(&client, users(), Delivery::SortedInMemory { items_max: 100 }, &items).await;
}

#[tokio::test]
async fn an_index_of_the_tables_own_key_shows_no_tombstone_even_where_it_holds_only_keys() {
    let (_dynamo, client, items) = cut_over().await;
    for (index, whole_items) in [("byAt", false), ("byAtAll", true)] {
        for at in 0..60 {
            let item = views::item(at);
            let expected: Vec<_> = items.iter().filter(|known| known["at"] == item["at"]).cloned().collect();
            let access = query(global(index), &[("at", item["at"].clone())]);
            if whole_items {
                is_exactly(&client, vec![access], Delivery::Sequential, &expected).await;
            } else {
                let counted =
                    QueryPlan { count: true, ..plan(vec![access], Delivery::Sequential, vec![], 10) };
                assert_eq!(whole(&client, &counted).await[0].count, expected.len() as u64);
            }
        }
    }
}

#[tokio::test]
async fn one_item_by_its_key_is_there_or_is_not() {
    let (_dynamo, client, _) = cut_over().await;
    for (at, expected) in [(0, 1), (1, 0)] {
        let item = views::item(at);
        let by_key = narrowed(of_user(at), "at", SortTest::Equal(item["at"].clone()));
        let answer = &whole(&client, &plan(vec![by_key], Delivery::Sequential, vec![], 10)).await[0];
        assert_eq!((answer.items.len(), answer.items_read, answer.requests), (expected, 1, 1));
    }
    assert_eq!(views::item(1)["at"], number(1007), "the deleted one");
}

/// The index still had the entry; the table has a tombstone by the time its item is read.
#[tokio::test]
async fn an_item_that_is_deleted_behind_its_entry_is_left_out() {
    let (_dynamo, client) = views::own(&table(), (0..30).map(views::item).collect()).await;
    let (watched, watch) = Watch::over(&client);
    let mut by_score = plan(vec![by_kind_score("viewed")], Delivery::Sequential, ascending("score"), 1000);
    by_score.accesses[0].recheck = keyfold_core::condition::Condition::always();
    by_score.select = Some(vec!["at".to_owned()]);
    let before = whole(&client, &by_score).await.remove(0).items;
    let gone = (0..30).map(views::item).find(|item| item["at"] == before[0]["at"]).unwrap();
    watch.hold_items(true);
    let delete = async {
        while watch.sent().len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        put(&client, &tombstone(&gone)).await;
        watch.hold_items(false);
    };
    let (after, ()) = tokio::join!(whole(&watched, &by_score), delete);
    assert_eq!(ats(&after[0].items), ats(&before[1..]));
}
