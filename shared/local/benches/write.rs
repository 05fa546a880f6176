//! What writing through the model costs beside the SDK alone: conditional PutItem by hand, `put_new`, and `put_new_all`
//! with one item and with 25, at the same concurrency, on one endpoint, in one run.
//!
//! Rounds of the four are interleaved, so that whatever else the machine does meets all of them; medians of the rates are
//! compared, and the CPU of the client's thread, which the server's share of the machine does not touch. What is written by
//! hand has its folded keys made before, so that all four write the same bytes.
//!
//! ```text
//! cargo bench -p keyfold-local --bench write
//! ```
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for the terminal")]

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::{AttributeValue as SdkValue, ReturnConsumedCapacity};
use cpu_time::ThreadTime;
use futures_util::stream::{self, StreamExt};
use keyfold_core::manifest;
use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Client, PutNew, PutNewOptions, TableOptions, put_new, put_new_all};
use keyfold_local::EmbeddedDynamo;

const ITEMS: usize = 500;
const ROUNDS: usize = 15;
const CONCURRENCY: usize = 8;
/// What part of the rate by hand the library must reach.
const TARGET: f64 = 0.95;

#[derive(Clone, Copy)]
enum Way {
    ByHand,
    One,
    BatchOfOne,
    BatchOf25,
}

const WAYS: [(Way, &str); 4] = [
    (Way::ByHand, "conditional PutItem by hand"),
    (Way::One, "put_new"),
    (Way::BatchOfOne, "put_new_all, 1 item"),
    (Way::BatchOf25, "put_new_all, 25 items"),
];

fn main() {
    let text = include_str!("../../../keyfold.toml");
    let model = manifest::parse("keyfold.toml", text).model.unwrap();
    let table = model.table("audit").unwrap();
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = dynamo.client();
        dynamo.create_tables([table], TableOptions::default()).await.unwrap();
        let (mut rates, mut cpus) = ([const { Vec::new() }; 4], [const { Vec::new() }; 4]);
        for round in 0..=ROUNDS {
            for (number, (way, _)) in WAYS.into_iter().enumerate() {
                let (rate, cpu) = rate(&client, table, way, &format!("{round}-{number}")).await;
                // The first round warms up.
                if round > 0 {
                    rates[number].push(rate);
                    cpus[number].push(cpu);
                }
            }
        }
        let rates = rates.map(|mut rates| {
            rates.sort_unstable_by(f64::total_cmp);
            rates[rates.len() / 2]
        });
        let cpus = cpus.map(|mut cpus| {
            cpus.sort_unstable();
            cpus[cpus.len() / 2]
        });
        println!("medians of {ROUNDS} rounds of {ITEMS} items, {CONCURRENCY} requests at a time");
        println!("{:<30} {:>10} {:>9} {:>24}", "", "items/s", "", "client's CPU for an item");
        for (number, (_, name)) in WAYS.into_iter().enumerate() {
            let share = 100.0 * rates[number] / rates[0];
            println!("{name:<30} {:>10.0} {share:>7.1} % {:>24.1?}", rates[number], cpus[number]);
        }
        println!("put_new must reach {:.0} %", 100.0 * TARGET);
    });
}

async fn rate(client: &Client, table: &Table, way: Way, name: &str) -> (f64, Duration) {
    let mut items: Vec<Item> = (0..ITEMS).map(|at| item(&format!("{name}-{at}"))).collect();
    if matches!(way, Way::ByHand) {
        items = items.into_iter().map(|item| table.with_keys(item).unwrap()).collect();
    }
    let size = if matches!(way, Way::BatchOf25) { 25 } else { 1 };
    let groups: Vec<Vec<Item>> = items.chunks(size).map(<[Item]>::to_vec).collect();
    let (started, cpu) = (Instant::now(), ThreadTime::now());
    stream::iter(groups).for_each_concurrent(CONCURRENCY, |group| write(client, table, way, group)).await;
    let cpu = cpu.elapsed() / u32::try_from(ITEMS).unwrap();
    (ITEMS as f64 / started.elapsed().as_secs_f64(), cpu)
}

async fn write(client: &Client, table: &Table, way: Way, mut group: Vec<Item>) {
    match way {
        Way::ByHand => by_hand(client, table, group.remove(0)).await,
        Way::One => drop(put_new(client, table, group.remove(0)).await.unwrap()),
        Way::BatchOfOne | Way::BatchOf25 => {
            let inserted = put_new_all(client, table, group, &PutNewOptions::default()).await;
            assert!(inserted.outcomes.iter().all(|outcome| matches!(outcome, Ok(PutNew::Written))));
        }
    }
}

/// The write as one would do it without the library.
async fn by_hand(client: &Client, table: &Table, item: Item) {
    let item: std::collections::HashMap<String, SdkValue> = item.into();
    client
        .put_item()
        .table_name(&table.name)
        .set_item(Some(item))
        .condition_expression("attribute_not_exists(#key)")
        .expression_attribute_names("#key", "id")
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await
        .unwrap();
}

fn item(id: &str) -> Item {
    let attributes = [
        ("id", id),
        ("resourceId", "123ccc"),
        ("resourceName", "a resource of a usual length"),
        ("action", "viewed"),
        ("accessedBy", "joe1"),
        ("timestamp", "2017-03-01T08:00:00.000Z"),
        ("note", "something else that was said of it"),
    ];
    let attributes = attributes.map(|(name, text)| (name.to_owned(), AttributeValue::S(text.to_owned())));
    std::collections::HashMap::from(attributes).into()
}
