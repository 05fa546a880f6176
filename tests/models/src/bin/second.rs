//! `second`: the samples' tables and questions on any DynamoDB, each answer compared with a check of every item.
//!
//! The checks use it to test another implementation than the embedded one. Indexes with native multi-attribute keys are
//! skipped, because that implementation does not support them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use futures_util::stream;
use keyfold_core::model::Model;
use keyfold_core::query::check::Caller;
use keyfold_core::query::order::compare_items;
use keyfold_core::query::{QueryRequest, Readiness, check, plan};
use keyfold_core::value::Item;
use keyfold_dynamo::{Client, Endpoint, RunOptions, Settings, TableOptions, client, ensure_table, load, run};

/// Loads the samples into a DynamoDB and asks them questions.
#[derive(Debug, Parser)]
#[command(name = "second")]
struct Arguments {
    /// The DynamoDB.
    #[arg(long, value_name = "URL")]
    endpoint: String,
    /// The folder with the samples.
    #[arg(long, value_name = "DIR", default_value = "examples")]
    samples: PathBuf,
}

/// Every operator, local and global indexes, entities, fan-outs, orders, sorting, fetching, counting.
const QUESTIONS: [(&str, &str); 24] = [
    ("pets", r#"{"table":"pets","entity":"dog","where":{"owner":"ana","command":"sit"}}"#),
    ("pets", r#"{"table":"pets","where":{"owner":"ana"}}"#),
    ("pets", r#"{"table":"pets","where":{"owner":"ana"},"order":"born"}"#),
    ("pets", r#"{"table":"pets","where":{"owner":"ana","born":{">=":"2015-01-01"}},"order":"-born"}"#),
    ("pets", r#"{"table":"pets","where":{"owner":"ana","species":{"in":["cat","dog"]}},"order":"born"}"#),
    (
        "pets",
        r#"{"table":"pets","entity":"parrot","where":{"owner":"ana","words":{">":5}},"order":"-words"}"#,
    ),
    ("pets", r#"{"table":"pets","entity":"parrot","where":{"owner":"ana","words":{"between":[2,300]}}}"#),
    ("pets", r#"{"table":"pets","entity":"dog","where":{"command":"sit"}}"#),
    ("pets", r#"{"table":"pets","entity":"cat","where":{"tree":"oak"}}"#),
    ("pets", r#"{"table":"pets","entity":["dog","cat"],"where":{"owner":"ana"}}"#),
    (
        "pets",
        r#"{"table":"pets","where":{"or":[{"owner":"ana","petId":{"beginsWith":"a"}},{"owner":"ben"}]}}"#,
    ),
    ("pets", r#"{"table":"pets","where":{"owner":"ana","not":{"species":"cat"},"name":{"contains":"e"}}}"#),
    (
        "pets",
        r#"{"table":"pets","where":{"name":{"exists":true}},"scan":true,"order":"name","sortInMemory":1000}"#,
    ),
    ("pets", r#"{"table":"homes","where":{"country":"GB","city":"London"}}"#),
    ("pets", r#"{"table":"homes","where":{"country":"GB","city":"London","district":"Westminster"}}"#),
    ("pets", r#"{"table":"homes","where":{"country":"GB","city":{"beginsWith":"London"}}}"#),
    ("pets", r#"{"table":"homes","where":{"country":"GB","number":{"in":["1","10"]}}}"#),
    ("projects", r#"{"table":"organisations","where":{"id":"acme"}}"#),
    ("projects", r#"{"table":"projects","where":{"organisationId":"acme"},"order":"projectId"}"#),
    (
        "projects",
        r#"{"table":"projects","where":{"organisationId":"acme"},"order":"-lastUpdated","limit":3}"#,
    ),
    (
        "projects",
        r#"{"table":"projects","where":{"organisationId":"acme","lastUpdated":{">=":"2018"}},"order":"lastUpdated"}"#,
    ),
    (
        "projects",
        r#"{"table":"projects","where":{"organisationId":"acme","owner":"jane"},"order":"-lastUpdated"}"#,
    ),
    (
        "projects",
        r#"{"table":"projects","where":{"organisationId":{"in":["acme","birch"]},"owner":"jane"},"order":"lastUpdated"}"#,
    ),
    (
        "projects",
        r#"{"table":"projects","where":{"organisationId":"acme"},"consistent":true,"order":"lastUpdated"}"#,
    ),
];

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let client = client(&Settings::at(Endpoint::parse(&arguments.endpoint)?)).await;
    let mut samples = BTreeMap::new();
    for name in ["pets", "projects"] {
        samples.insert(name, Sample::load(&client, &arguments.samples.join(name)).await?);
    }
    let (mut passed, mut failed) = (0, 0);
    for (sample, question) in QUESTIONS {
        match samples[sample].ask(&client, question).await {
            Ok(found) => {
                passed += 1;
                say(&format!("right  {found:>3} items  {question}\n"));
            }
            Err(error) => {
                failed += 1;
                say(&format!("WRONG  {error:#}  {question}\n"));
            }
        }
    }
    say(&format!("second: {passed} passed, {failed} failed\n"));
    Ok(ExitCode::from(u8::from(failed > 0)))
}

fn say(text: &str) {
    use std::io::Write;
    // A closed standard output is no failure.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// A sample: its model, and the items of each table as they were loaded.
struct Sample {
    model: Model,
    items: BTreeMap<String, Vec<Item>>,
}

impl Sample {
    async fn load(client: &Client, folder: &Path) -> anyhow::Result<Sample> {
        let text = std::fs::read_to_string(folder.join("keyfold.toml"))?;
        let parsed = keyfold_core::manifest::parse("keyfold.toml", &text);
        let mut model = parsed.model.ok_or_else(|| anyhow::anyhow!("the sample has mistakes"))?;
        for table in &mut model.tables {
            table.indexes.retain(|index| index.partition.len() <= 1 && index.sort.len() <= 1);
        }
        let mut items = BTreeMap::new();
        for table in &model.tables {
            let lines = std::fs::read_to_string(folder.join(format!("{}.jsonl", table.id)))?;
            let read = lines.lines().map(|line| {
                let value: serde_json::Value = serde_json::from_str(line)?;
                Ok(table.with_keys(serde_dynamo::to_item(value)?)?)
            });
            let read: Vec<Item> = read.collect::<anyhow::Result<_>>()?;
            ensure_table(client, table, TableOptions::default()).await?;
            load(client, table, stream::iter(read.clone())).await?;
            items.insert(table.id.clone(), read);
        }
        Ok(Sample { model, items })
    }

    /// Asks the question, and compares the answer with a check of every item.
    async fn ask(&self, client: &Client, question: &str) -> anyhow::Result<usize> {
        let request: QueryRequest = serde_json::from_str(question)?;
        let checked = check(&self.model, &request, &Caller::Trusted)?;
        let plan = plan(&checked, &Readiness::complete())?;
        let mut found = Vec::new();
        let mut from = None;
        loop {
            let page = run(client, checked.table, &plan, from.as_ref(), &RunOptions::default()).await?;
            found.extend(page.items);
            from = page.next;
            if from.is_none() || (checked.limited && found.len() >= checked.limit as usize) {
                break;
            }
        }
        let wanted = |item: &&Item| {
            let kind = checked.table.entity_of(item).ok().flatten();
            checked.condition.holds(item)
                && (checked.entities.is_empty() || kind.is_some_and(|kind| checked.entities.contains(&kind)))
        };
        let mut expected: Vec<Item> = self.items[&checked.table.id].iter().filter(wanted).cloned().collect();
        expected.sort_by(|a, b| compare_items(checked.table, &checked.order, a, b));
        if checked.limited {
            expected.truncate(checked.limit as usize);
        }
        let same_order = found.len() == expected.len()
            && found
                .iter()
                .zip(&expected)
                .all(|(a, b)| compare_items(checked.table, &checked.order, a, b).is_eq());
        anyhow::ensure!(same_order, "{} items in this order, {} expected", found.len(), expected.len());
        let is_cut = checked.limited && found.len() == checked.limit as usize;
        anyhow::ensure!(
            is_cut || expected.iter().all(|item| found.contains(item)),
            "other items than expected"
        );
        Ok(found.len())
    }
}
