//! `keyfold demo`: the main job, whole, on an embedded DynamoDB.
//!
//! An audit table was written by a program that knew nothing of folded keys; a newer program writes them. The question
//! "when did joe1 view r0007 in March 2017?" finds only what the newer one wrote, until the old items have their keys.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};
use futures_util::stream::{self, StreamExt};
use keyfold_core::cost::ReadUnits;
use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::query::{QueryRequest, explain::explain};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{
    Answer, Client, Fetch, KeysOutcome, PageRequest, RunOptions, ScanPage, TableOptions, load,
    run as run_plan, scan_page, set_keys,
};
use keyfold_local::EmbeddedDynamo;

use super::request;
use crate::args::DemoArgs;
use crate::output::Output;

/// The sample that the root of the repository holds.
const MANIFEST: &str = include_str!("../../../keyfold.toml");
/// Updates under way at once.
const UPDATES_IN_FLIGHT_MAX: usize = 16;
/// How often an item that changes meanwhile is read and tried again.
const TRIES_MAX: usize = 5;
/// One event in so many is by the newer program.
const NEWER_ONE_IN: u32 = 10;

const QUESTION: &str = r#"{"table":"audit","where":{"resourceId":"r0007","action":"viewed","accessedBy":"joe1",
    "timestamp":{"beginsWith":"2017-03"}},"order":"timestamp","limit":1000}"#;

pub(super) fn run(args: &DemoArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model =
        manifest::parse("keyfold.toml", MANIFEST).model.context("the built-in sample has mistakes")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(demo(&model, args, out))
}

async fn demo(model: &Model, args: &DemoArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let table = model.table("audit").context("the built-in sample has no audit table")?;
    let server = EmbeddedDynamo::memory()?;
    let client = server.client();
    server.create_tables([table], TableOptions::default()).await?;
    let events: Vec<Item> = (0..args.items).map(event).collect();
    let (old, new): (Vec<_>, Vec<_>) = events
        .iter()
        .cloned()
        .enumerate()
        .partition(|(number, _)| !u32::try_from(*number).unwrap_or(0).is_multiple_of(NEWER_ONE_IN));
    let step = Steps { out };

    step.title(&format!(
        "An audit table with {} events, {} of them by a program that knows no folded keys.",
        args.items,
        old.len()
    ));
    // The old program's view of the table: no index, so no keys are folded.
    let old_view = Table { indexes: Vec::new(), ..table.clone() };
    load(&client, &old_view, stream::iter(old.into_iter().map(|(_, event)| event))).await?;
    load(&client, table, stream::iter(new.into_iter().map(|(_, event)| event))).await?;

    step.title("When did joe1 view r0007 in March 2017?");
    let expected = events.iter().filter(|event| matches(event)).count() as u64;
    let before = ask(model, &client, QUESTION).await?;
    step.line(&format!("the index finds {} of {expected} events: the old items are not in it", before.count));

    step.title("Every old item gets its keys, if nothing they are made of has changed since it was read.");
    let folded = fold_all(&client, table).await?;
    step.line(&format!(
        "{} items read, {} updated, {} were right, in {:.1} s ({:.0} items/s); {} write units",
        folded.read,
        folded.set,
        folded.right,
        folded.seconds,
        f64::from(folded.read) / folded.seconds.max(0.001),
        folded.units
    ));

    step.title("The same question again.");
    let after = ask(model, &client, QUESTION).await?;
    let request: QueryRequest = serde_json::from_str(QUESTION)?;
    let plan = request::planned(&request::checked(model, &request)?)?;
    step.block(&explain(&plan).to_string());
    step.line(&format!("{} of {expected} events, for {} read units", after.count, after.consumed_read_units));
    let scan = scan_units(model, &client).await?;
    step.line(&format!(
        "a scan with a filter gives the same {} for {} read units",
        scan.count, scan.consumed_read_units
    ));
    step.line(&format!(
        "asked a million times: {} by the index, {} by scans",
        dollars(model, after.consumed_read_units),
        dollars(model, scan.consumed_read_units)
    ));
    let again = fold_all(&client, table).await?;
    step.line(&format!("a second pass writes {} items", again.set));
    ensure!(before.count < expected, "the demo shows nothing: the first answer was whole");
    ensure!(
        after.count == expected && scan.count == expected && again.set == 0,
        "items were lost: {} of {expected}",
        after.count
    );
    server.shutdown();
    Ok(ExitCode::SUCCESS)
}

struct Steps<'o> {
    out: &'o Output,
}

impl Steps<'_> {
    fn title(&self, text: &str) {
        self.out.text(format!("\n{text}\n"));
    }

    fn line(&self, text: &str) {
        self.out.text(format!("  {text}\n"));
    }

    fn block(&self, text: &str) {
        text.lines().take_while(|line| !line.starts_with("not taken")).for_each(|line| self.line(line));
    }
}

/// An event: few users, some resources, four years.
fn event(number: u32) -> Item {
    let pick = |salt: u32, of: u32| {
        let mixed = (u64::from(number) << 8 | u64::from(salt)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        u32::try_from((mixed ^ (mixed >> 32)) % u64::from(of)).unwrap_or(0)
    };
    let user = ["joe1", "jane", "bill", "ann"][pick(1, 4) as usize];
    let action = ["viewed", "viewed", "edited", "deleted"][pick(2, 4) as usize];
    let time = format!(
        "201{}-{:02}-{:02}T{:02}:{:02}:00.000Z",
        6 + pick(3, 2),
        1 + pick(4, 4),
        1 + pick(5, 28),
        pick(6, 24),
        pick(7, 60)
    );
    let attributes = [
        ("id", format!("event-{number:07}")),
        ("resourceId", format!("r{:04}", pick(8, 10))),
        ("resourceName", format!("Thing {}", pick(8, 10))),
        ("action", action.to_owned()),
        ("accessedBy", user.to_owned()),
        ("timestamp", time),
    ];
    let map: std::collections::HashMap<String, AttributeValue> =
        attributes.into_iter().map(|(name, value)| (name.to_owned(), AttributeValue::S(value))).collect();
    map.into()
}

/// Does an event answer the question? By looking at it, without any key.
fn matches(event: &Item) -> bool {
    let is = |name: &str, wanted: &str| event.get(name) == Some(&AttributeValue::S(wanted.to_owned()));
    let in_march =
        matches!(event.get("timestamp"), Some(AttributeValue::S(time)) if time.starts_with("2017-03"));
    is("resourceId", "r0007") && is("action", "viewed") && is("accessedBy", "joe1") && in_march
}

async fn ask(model: &Model, client: &Client, question: &str) -> anyhow::Result<Answer> {
    let request: QueryRequest = serde_json::from_str(question)?;
    let checked = request::checked(model, &request)?;
    let plan = request::planned(&checked)?;
    Ok(run_plan(client, checked.table, &plan, None, &RunOptions::default()).await?)
}

/// What the same question costs without an index.
async fn scan_units(model: &Model, client: &Client) -> anyhow::Result<Answer> {
    let mut without = model.clone();
    without.tables.iter_mut().for_each(|table| table.indexes.clear());
    let mut request: QueryRequest = serde_json::from_str(QUESTION)?;
    (request.scan, request.count) = (true, true);
    request.order.clear();
    ask(&without, client, &serde_json::to_string(&request)?).await
}

fn dollars(model: &Model, units: f64) -> keyfold_core::cost::Dollars {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "consumed units, never negative"
    )]
    let halves = (units * 2.0) as u64;
    model.prices.dollars_for_reads(ReadUnits::from_halves(halves * 1_000_000))
}

#[derive(Default)]
struct Folded {
    read: u32,
    set: u32,
    right: u32,
    units: f64,
    seconds: f64,
}

/// Reads every page with strong consistency, and sets the keys of its items.
async fn fold_all(client: &Client, table: &Table) -> anyhow::Result<Folded> {
    let begin = Instant::now();
    let mut folded = Folded::default();
    let mut start_key = None;
    loop {
        let page = PageRequest {
            table: table.name.clone(),
            consistent: true,
            fetch: Fetch::Projected,
            start_key,
            ..PageRequest::default()
        };
        let page = scan_page(client, &ScanPage { page, segment: None }).await?;
        let mut outcomes = stream::iter(&page.items)
            .map(|item| fold_one(client, table, item))
            .buffer_unordered(UPDATES_IN_FLIGHT_MAX);
        while let Some(outcome) = outcomes.next().await {
            folded.read += 1;
            match outcome? {
                KeysOutcome::Set(consumed) => {
                    folded.set += 1;
                    folded.units += consumed.units;
                }
                KeysOutcome::Right | KeysOutcome::Changed => folded.right += 1,
            }
        }
        start_key = page.last_key;
        if start_key.is_none() {
            folded.seconds = begin.elapsed().as_secs_f64();
            return Ok(folded);
        }
    }
}

async fn fold_one(client: &Client, table: &Table, item: &Item) -> anyhow::Result<KeysOutcome> {
    let mut read = item.clone();
    for _ in 0..TRIES_MAX {
        let outcome = set_keys(client, table, &read).await?;
        if outcome != KeysOutcome::Changed {
            return Ok(outcome);
        }
        let key = table.key_of(&read).context("an item without its key")?;
        let batch = keyfold_dynamo::BatchGet {
            table: table.name.clone(),
            keys: vec![key],
            consistent: true,
            ..Default::default()
        };
        match keyfold_dynamo::batch_get(client, &batch).await?.items.pop() {
            Some(again) => read = again,
            None => return Ok(KeysOutcome::Right),
        }
    }
    anyhow::bail!("an item changed {TRIES_MAX} times while it was read")
}
