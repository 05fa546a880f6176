//! The first and the last few of a very large item collection, at the price of those few.
//!
//! `KEYFOLD_COLLECTION_ITEMS`: the number of items of the collection; 100,000 by default.

use futures_util::stream;
use keyfold_core::manifest;
use keyfold_core::query::check::Caller;
use keyfold_core::query::{Readiness, check, plan};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Answer, Client, RunOptions, TableOptions, create_table, load, run};
use keyfold_local::EmbeddedDynamo;

const COLLECTION_ITEMS: usize = 100_000;
const TOP: usize = 10;

const MANIFEST: &str = r#"
[tables.scores]
name = "scoresOfGames"
partition = "game"
sort = "score"
attributes = { game = "string", score = "number" }
"#;

fn items() -> usize {
    std::env::var("KEYFOLD_COLLECTION_ITEMS").map_or(COLLECTION_ITEMS, |text| text.parse().unwrap())
}

fn item(score: usize) -> Item {
    let mut item = Item::default();
    item.insert("game".to_owned(), AttributeValue::S("chess".to_owned()));
    item.insert("score".to_owned(), AttributeValue::N(score.to_string()));
    item
}

async fn top(client: &Client, order: &str) -> Answer {
    let model = manifest::parse("keyfold.toml", MANIFEST).model.unwrap();
    let request =
        serde_json::json!({"table": "scores", "where": {"game": "chess"}, "order": order, "limit": TOP});
    let request = serde_json::from_value(request).unwrap();
    let checked = check(&model, &request, &Caller::Trusted).unwrap();
    let plan = plan(&checked, &Readiness::complete()).unwrap();
    run(client, checked.table, &plan, None, &RunOptions::default()).await.unwrap()
}

fn scores(answer: &Answer) -> Vec<usize> {
    let score = |item: &Item| match &item["score"] {
        AttributeValue::N(score) => score.parse().unwrap(),
        other => panic!("the score is {other:?}"),
    };
    answer.items.iter().map(score).collect()
}

#[tokio::test]
async fn the_ends_of_a_large_collection_cost_a_page_of_their_items() {
    let (dynamo, count) = (EmbeddedDynamo::memory().unwrap(), items());
    let model = manifest::parse("keyfold.toml", MANIFEST).model.unwrap();
    let (client, table) = (dynamo.client(), &model.tables[0]);
    create_table(&client, table, TableOptions::default()).await.unwrap();
    load(&client, table, stream::iter((0..count).map(item))).await.unwrap();
    for (order, expected) in
        [("score", (0..TOP).collect::<Vec<_>>()), ("-score", (count - TOP..count).rev().collect())]
    {
        let answer = top(&client, order).await;
        assert_eq!(scores(&answer), expected, "{order}");
        assert_eq!((answer.items_read, answer.requests), (TOP as u64, 1), "{order}");
        assert_eq!(answer.consumed_read_units, 0.5, "{order}: ten small items are half a unit");
    }
}
