//! The testkit's model table and the embedded DynamoDB behave the same: the same random operations run on both, over
//! the real protocol, and the results are compared: items, pages, start keys, refusals, consumed capacity.
//!
//! `KEYFOLD_OPERATIONS`: the number of operations; `KEYFOLD_SEED`: the first seed. `agree/differences.rs` lists the
//! known differences between the embedded DynamoDB and DynamoDB by name; the number of occurrences of each is printed.

#![expect(clippy::print_stdout, reason = "the tally is for the reader of the test's output")]

#[path = "agree/differences.rs"]
mod differences;
#[path = "agree/endpoint.rs"]
mod endpoint;

use std::collections::{BTreeMap, HashMap};

use futures_util::stream::{self, StreamExt};
use keyfold_core::model::Table;
use keyfold_core::query::Condition;
use keyfold_core::query::plan::{self, KeyEqual};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{Client, TableOptions, create_table};
use keyfold_local::EmbeddedDynamo;
use keyfold_testkit::ModelTable;
use keyfold_testkit::case::{good_manifest, setting};
use keyfold_testkit::generate::{Random, Words, operation};
use keyfold_testkit::operation::{Operation, OperationResult, Reading};
use keyfold_testkit::table::Shown;

use differences::Difference;
use endpoint::Endpoint;

const OPERATIONS_DEFAULT: usize = 4_000;
/// Operations on one table.
const OPERATIONS_PER_TABLE: usize = 250;
/// Maximum tables whose differences are printed.
const REPORTS_MAX: usize = 5;
/// Tables at work at the same time.
const TABLES_AT_ONCE: usize = 8;

/// The kinds of operations and results, and the names of differences, with counts.
type Tally = BTreeMap<String, usize>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_table_and_the_embedded_dynamodb_do_the_same() {
    let (first, operations) = (setting("KEYFOLD_SEED", 0), setting("KEYFOLD_OPERATIONS", OPERATIONS_DEFAULT));
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    let tables = operations.div_ceil(OPERATIONS_PER_TABLE);
    let outcomes: Vec<(Tally, Option<String>)> = stream::iter(first..first + tables)
        .map(|seed| one_table(&client, seed as u64))
        .buffer_unordered(TABLES_AT_ONCE)
        .collect()
        .await;
    let mut all = Tally::new();
    let mut reports = Vec::new();
    for (tally, report) in outcomes {
        reports.extend(report);
        for (what, count) in tally {
            *all.entry(what).or_default() += count;
        }
    }
    let shown = reports.iter().take(REPORTS_MAX).map(String::as_str).collect::<Vec<_>>().join("\n\n");
    assert!(reports.is_empty(), "{} tables do not agree\n\n{shown}", reports.len());
    for (what, count) in &all {
        println!("{count:>7}  {what}");
    }
    let compared: usize =
        all.iter().filter(|(what, _)| !what.starts_with("differs")).map(|(_, count)| count).sum();
    println!("{compared} operations agree, on {tables} tables");
    assert!(compared * 20 >= operations * 19, "more than one operation in twenty was not compared");
}

async fn one_table(client: &Client, seed: u64) -> (Tally, Option<String>) {
    let mut random = Random::new(seed);
    let (manifest, model, _) = good_manifest(&mut random);
    let mut table = model.tables[0].clone();
    table.name = format!("tableOfCase{seed}");
    create_table(client, &table, TableOptions::default())
        .await
        .expect("a table of a good manifest can be made");
    let words = Words::draw(&table, &mut random);
    let (mut here, there) = (ModelTable::new(&table), Endpoint { client, table: &table });
    let mut tally = Tally::new();
    for number in 0..OPERATIONS_PER_TABLE {
        let operation = operation(&here, &words, &mut random);
        if let Some(difference) = Difference::before(&table, &operation) {
            *tally.entry(format!("differs: {}", difference.name())).or_default() += 1;
            continue;
        }
        let before = here.clone();
        let (expected, found) = (here.apply(&operation), there.apply(&operation).await);
        let what = match Difference::after(&table, &operation, &expected, &found) {
            Some(difference) => format!("differs: {}", difference.name()),
            None if same(&table, &operation, &expected, &found) => kind(&operation, &expected),
            None => {
                let old = item_of(&before, &operation);
                let report = format!(
                    "table {seed}, operation {number}: {operation:?}\nthe model table: {expected:?}\n\
                     the embedded DynamoDB: {found:?}\nthe item before: {old:?}\n\n{manifest}\n\
                     replay: KEYFOLD_SEED={seed} KEYFOLD_OPERATIONS=1 cargo test -p keyfold-local --test agree",
                );
                return (tally, Some(report));
            }
        };
        *tally.entry(what).or_default() += 1;
    }
    (tally, None)
}

fn item_of(table: &ModelTable, operation: &Operation) -> Option<Item> {
    let key = match operation {
        Operation::Put { item, .. } => table.model().key_of(item)?,
        Operation::Update { key, .. } | Operation::Delete { key, .. } | Operation::Get { key } => key.clone(),
        Operation::Read(_) => return None,
    };
    table.get(&key).ok()?.cloned()
}

/// The same result. Aspects that DynamoDB leaves open, such as the order of a scan, are not compared.
fn same(table: &Table, operation: &Operation, expected: &OperationResult, found: &OperationResult) -> bool {
    match (operation, expected, found) {
        (Operation::Read(reading), OperationResult::Pages(a), OperationResult::Pages(b))
            if differences::order_is_open(table, reading) =>
        {
            differences::same_unordered(table, a, b)
        }
        _ => expected == found,
    }
}

fn kind(operation: &Operation, outcome: &OperationResult) -> String {
    let what = match operation {
        Operation::Put { .. } => "put",
        Operation::Update { .. } => "update",
        Operation::Delete { .. } => "delete",
        Operation::Get { .. } => "get",
        Operation::Read(reading) => match (&reading.operation, &reading.index) {
            (plan::Operation::Scan, None) => "scan of a table",
            (plan::Operation::Scan, Some(_)) => "scan of an index",
            (_, None) => "query of a table",
            (_, Some(_)) => "query of an index",
        },
    };
    let how = match outcome {
        OperationResult::Refused => "refused",
        OperationResult::ConditionFailed(_) => "condition failed",
        OperationResult::Pages(pages) if pages.iter().all(|page| page.count == 0) => "nothing",
        OperationResult::Pages(pages) if pages.len() > 1 => "several pages",
        _ => "done",
    };
    format!("{what}: {how}")
}

#[tokio::test]
async fn pages_of_large_items_hold_the_same_items_wherever_they_end() {
    let manifest = r#"
        [tables.t]
        name = "tableOfLargeItems"
        partition = "p1"
        sort = "n1"
        attributes = { p1 = "string", n1 = "number", body = "string" }
    "#;
    let parsed = keyfold_core::manifest::parse("keyfold.toml", manifest);
    let table = &parsed.model.unwrap().tables[0];
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    create_table(&client, table, TableOptions::default()).await.unwrap();
    let (mut here, there) = (ModelTable::new(table), Endpoint { client: &client, table });
    let always = Condition::always;
    let (mut random, body) = (Random::new(1), "x".repeat(300_000));
    for number in 0..40 {
        let values = [
            ("p1", AttributeValue::S("one".to_owned())),
            ("n1", AttributeValue::N(number.to_string())),
            ("body", AttributeValue::S(body[..random.between(0, body.len())].to_owned())),
        ];
        let item: HashMap<_, _> = values.map(|(name, value)| (name.to_owned(), value)).into();
        let put = Operation::Put { item: Item::from(item), condition: always() };
        assert_eq!(here.apply(&put), there.apply(&put).await);
    }
    for descending in [false, true] {
        let value = AttributeValue::S("one".to_owned());
        let partition = vec![KeyEqual { attribute: "p1".into(), value }];
        let query = Operation::Read(Reading {
            index: None,
            operation: plan::Operation::Query { partition, sort: Vec::new() },
            filter: always(),
            shown: Shown::Held,
            consistent: true,
            descending,
            limit: 1000,
        });
        let (OperationResult::Pages(expected), OperationResult::Pages(found)) =
            (here.apply(&query), there.apply(&query).await)
        else {
            panic!("refused");
        };
        assert!(expected.len() > 4 && found.len() > 4);
        assert_eq!(differences::all_items(&expected), differences::all_items(&found));
    }
}
