//! Random models, items and requests, answered through Rust: one JSON line each, with every page of the answer, for
//! comparison with the packages in other languages. `answers FROM..TO ENDPOINT`; the tables stay at the endpoint.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use anyhow::{Context, Result, anyhow, bail};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use keyfold_core::manifest;
use keyfold_core::model::Table;
use keyfold_core::query::check::Caller;
use keyfold_core::query::{QueryPlan, QueryRequest, Readiness, check, plan};
use keyfold_core::value::Item;
use keyfold_dynamo::{
    Answer, Client, Position, QueryError, RunOptions, Settings, TableOptions, create_table, plain_client, run,
};
use keyfold_testkit::case::{Case, seeds};
use serde_json::{Value, json};

/// Maximum pages of one answer.
const PAGES_MAX: usize = 12;
/// Puts in flight.
const PUTS: usize = 8;
/// The name that the generator gives to every table.
const TABLE: &str = "tableOfTheCase";

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [range, endpoint] = arguments.as_slice() else { bail!("usage: answers FROM..TO ENDPOINT") };
    let range = seeds(range).context("give a range of seeds, `FROM..TO`")?;
    let client = plain_client(endpoint, &Settings::default());
    for seed in range {
        let line = answered(&client, &Case::new(seed)).await.with_context(|| format!("seed {seed}"))?;
        println!("{line}");
    }
    Ok(())
}

async fn answered(client: &Client, case: &Case) -> Result<Value> {
    // Every case has a separate table, so that all can stay.
    let text = case.manifest.replacen(TABLE, &format!("case{}", case.seed), 1);
    let model = manifest::model("case.toml", &text).map_err(|report| anyhow!(report))?;
    let (table, request) = (&model.tables[0], &case.asking.request);
    create_table(client, table, TableOptions::default()).await?;
    let puts = case.items.iter().map(|item| put(client, table, &item.stored));
    stream::iter(puts).buffer_unordered(PUTS).try_collect::<Vec<()>>().await?;
    let pages = match planned(&model, request) {
        Ok(plan) => pages(client, table, &plan, request).await?,
        Err(refusal) => vec![refusal],
    };
    Ok(json!({ "seed": case.seed, "manifest": text, "request": request, "pages": pages }))
}

async fn put(client: &Client, table: &Table, item: &Item) -> Result<()> {
    client.put_item().table_name(&table.name).set_item(Some(item.clone().into())).send().await?;
    Ok(())
}

fn planned(model: &keyfold_core::model::Model, request: &QueryRequest) -> Result<QueryPlan, Value> {
    let checked = check(model, request, &Caller::Trusted).map_err(|error| json!({ "code": error.code() }))?;
    plan(&checked, &Readiness::complete()).map_err(|error| json!({ "code": error.code() }))
}

/// All pages, or those up to a refusal.
async fn pages(
    client: &Client,
    table: &Table,
    plan: &QueryPlan,
    request: &QueryRequest,
) -> Result<Vec<Value>> {
    let options = RunOptions { read_units_max: request.read_units_max, ..RunOptions::default() };
    let (mut pages, mut from): (_, Option<Position>) = (Vec::new(), None);
    while pages.len() < PAGES_MAX {
        match run(client, table, plan, from.as_ref(), &options).await {
            Ok(answer) => {
                pages.push(shown(&answer)?);
                from = answer.next;
            }
            Err(QueryError::Answer(error)) => {
                pages.push(json!({ "code": error.code() }));
                from = None;
            }
            // DynamoDB's own refusal, whose message depends on the language's SDK.
            Err(QueryError::Dynamo(_)) => {
                pages.push(json!({ "code": "dynamo" }));
                from = None;
            }
        }
        if from.is_none() {
            break;
        }
    }
    Ok(pages)
}

fn shown(answer: &Answer) -> Result<Value> {
    Ok(json!({
        "items": answer.items,
        "count": answer.count,
        "page": answer.next.as_ref().map(serde_json::to_string).transpose()?,
        "consumedReadUnits": answer.consumed_read_units,
        "itemsRead": answer.items_read,
        "requests": answer.requests,
    }))
}
