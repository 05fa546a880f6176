//! The model table of the testkit and the embedded DynamoDB do the same: the same random operations on both, over the real
//! protocol, and what comes of each is compared: items, pages, start keys, refusals, consumed capacity.
//!
//! `KEYFOLD_OPERATIONS` says how many; `KEYFOLD_SEED` the first seed. Where the embedded DynamoDB is known to differ from
//! DynamoDB is in `agree/differences.rs`, each difference with a name, and how often each was met is printed.

#![expect(clippy::print_stdout, reason = "the tally is for whoever runs the test")]

#[path = "agree/differences.rs"]
mod differences;
#[path = "agree/endpoint.rs"]
mod endpoint;

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt};
use keyfold_core::model::Table;
use keyfold_dynamo::{Client, TableOptions, create_table};
use keyfold_local::EmbeddedDynamo;
use keyfold_testkit::ModelTable;
use keyfold_testkit::case::good_manifest;
use keyfold_testkit::generate::{Random, Words, operation};
use keyfold_testkit::operation::{Operation, Outcome};

use differences::Difference;
use endpoint::Endpoint;

const OPERATIONS_DEFAULT: usize = 4_000;
/// Operations on one table.
const OPERATIONS_PER_TABLE: usize = 250;
/// The most tables whose disagreement is printed.
const REPORTS_MAX: usize = 5;
/// Tables at work at the same time.
const TABLES_AT_ONCE: usize = 8;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What was met: the kind of operation and outcome, or the name of a difference.
type Tally = BTreeMap<String, usize>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_table_and_the_embedded_dynamodb_do_the_same() {
    let (first, operations) = (number("KEYFOLD_SEED", 0), number("KEYFOLD_OPERATIONS", OPERATIONS_DEFAULT));
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
    create_table(client, &table, TableOptions::default()).await.unwrap();
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

fn item_of(table: &ModelTable, operation: &Operation) -> Option<keyfold_core::value::Item> {
    let key = match operation {
        Operation::Put { item, .. } => table.model().key_of(item)?,
        Operation::Update { key, .. } | Operation::Delete { key, .. } | Operation::Get { key } => key.clone(),
        Operation::Read(_) => return None,
    };
    table.get(&key).ok()?.cloned()
}

/// The same outcome. What DynamoDB leaves open is not compared: the order of a scan.
fn same(table: &Table, operation: &Operation, expected: &Outcome, found: &Outcome) -> bool {
    match (operation, expected, found) {
        (Operation::Read(reading), Outcome::Pages(a), Outcome::Pages(b))
            if differences::order_is_open(table, reading) =>
        {
            differences::same_unordered(table, a, b)
        }
        _ => expected == found,
    }
}

fn kind(operation: &Operation, outcome: &Outcome) -> String {
    let what = match operation {
        Operation::Put { .. } => "put",
        Operation::Update { .. } => "update",
        Operation::Delete { .. } => "delete",
        Operation::Get { .. } => "get",
        Operation::Read(reading) => match (&reading.operation, &reading.index) {
            (keyfold_core::query::plan::Operation::Scan, None) => "scan of a table",
            (keyfold_core::query::plan::Operation::Scan, Some(_)) => "scan of an index",
            (_, None) => "query of a table",
            (_, Some(_)) => "query of an index",
        },
    };
    let how = match outcome {
        Outcome::Refused => "refused",
        Outcome::ConditionFailed(_) => "condition failed",
        Outcome::Pages(pages) if pages.iter().all(|page| page.count == 0) => "nothing",
        Outcome::Pages(pages) if pages.len() > 1 => "several pages",
        _ => "done",
    };
    format!("{what}: {how}")
}
