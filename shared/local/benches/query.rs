//! What the executor adds to the SDK: CPU of the client's thread for one query that returns one page, the SDK alone
//! beside ours, in one run and on one endpoint.
//!
//! The server has threads of its own, and only the client's thread is measured. The two are interleaved call by call, so
//! that whatever else the machine does meets both; medians are compared.
//!
//! ```text
//! cargo bench -p keyfold-local --bench query
//! ```
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for the terminal")]

use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue as SdkValue, ReturnConsumedCapacity};
use cpu_time::ThreadTime;
use futures_util::stream;
use keyfold_core::model::{Expect, KeyAttribute, KeySource, OrderBy, ScalarType, Table};
use keyfold_core::query::plan::{Access, Delivery, Hydration, KeyEqual, Operation, Source};
use keyfold_core::query::{Condition, QueryPlan};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Client, RunOptions, TableOptions, create_table, load, run};
use keyfold_local::EmbeddedDynamo;

const TABLE: &str = "resource-views";
const CALLS: usize = 1000;
const WARM_UP_CALLS: usize = 100;
/// What one request may add.
const TARGET: Duration = Duration::from_micros(25);

fn main() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, table) = (dynamo.client(), table());
        create_table(&client, &table, TableOptions::default()).await.unwrap();
        load(&client, &table, stream::iter((0..1000).map(item))).await.unwrap();
        println!("CPU of the client's thread per query, medians of {CALLS} calls");
        println!("{:>6} {:>10} {:>10} {:>10}", "items", "SDK", "keyfold", "added");
        for limit in [1, 10, 20, 50, 100] {
            compare(&client, &table, limit).await;
        }
        println!("at most {TARGET:?} may be added to a request");
    });
}

async fn compare(client: &Client, table: &Table, limit: u32) {
    let plan = plan(limit);
    let (mut raw, mut ours) = (Vec::new(), Vec::new());
    for call in 0..WARM_UP_CALLS + CALLS {
        let start = ThreadTime::now();
        by_sdk(client, limit).await;
        let by_sdk = start.elapsed();
        let start = ThreadTime::now();
        by_us(client, table, &plan).await;
        let by_us = start.elapsed();
        if call >= WARM_UP_CALLS {
            raw.push(by_sdk);
            ours.push(by_us);
        }
    }
    let (raw, ours) = (median(&mut raw), median(&mut ours));
    let added = (ours.as_secs_f64() - raw.as_secs_f64()) * 1e6;
    println!("{limit:>6} {raw:>10.1?} {ours:>10.1?} {added:>8.1}µs");
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The query as one would write it by hand.
async fn by_sdk(client: &Client, limit: u32) {
    let answer = client
        .query()
        .table_name(TABLE)
        .key_condition_expression("#user = :user")
        .expression_attribute_names("#user", "user")
        .expression_attribute_values(":user", SdkValue::S("joe1".to_owned()))
        .scan_index_forward(false)
        .limit(limit.cast_signed())
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.items().len(), limit as usize);
}

async fn by_us(client: &Client, table: &Table, plan: &QueryPlan) {
    let answer = run(client, table, plan, None, &RunOptions::default()).await.unwrap();
    assert_eq!(answer.items.len(), plan.limit as usize);
}

fn table() -> Table {
    let key = |name: &str, scalar| KeyAttribute { name: name.to_owned(), scalar, source: KeySource::Natural };
    Table {
        id: "views".to_owned(),
        name: TABLE.to_owned(),
        partition: key("user", ScalarType::S),
        sort: Some(key("at", ScalarType::N)),
        attributes: [].into(),
        entity_attribute: None,
        entities: Vec::new(),
        indexes: Vec::new(),
        scope: [].into(),
        expect: Expect::default(),
        ttl: None,
        collection_bytes_warn: 0,
    }
}

fn item(number: u32) -> Item {
    let mut item = Item::default();
    for (name, value) in [
        ("user", "joe1"),
        ("kind", "viewed"),
        ("resource", "123bbb"),
        ("resourceName", "a resource of a usual length"),
        ("organisation", "0b8f3d0e-3f4c-4a56-9d3c-2f9b"),
    ] {
        item.insert(name.to_owned(), AttributeValue::S(value.to_owned()));
    }
    item.insert("at".to_owned(), AttributeValue::N(number.to_string()));
    item
}

fn plan(limit: u32) -> QueryPlan {
    let user = KeyEqual { attribute: "user".to_owned(), value: AttributeValue::S("joe1".to_owned()) };
    QueryPlan {
        table: "views".to_owned(),
        table_name: TABLE.to_owned(),
        accesses: vec![Access {
            source: Source::Table,
            operation: Operation::Query { partition: vec![user], sort: Vec::new() },
            filter: Condition::always(),
            recheck: Condition::always(),
            hydration: Hydration::None,
            descending: true,
        }],
        delivery: Delivery::Sequential,
        order: vec![OrderBy { attribute: "at".to_owned(), descending: true }],
        limit,
        select: None,
        count: false,
        consistent: false,
        estimated_units: 0.5,
        rejected: Vec::new(),
    }
}
