//! `keyfold demo`: the whole job on an embedded DynamoDB, while writers continue.
//!
//! The only key of an audit table is the event's id. A new question comes: who did what to a resource, and when? A retrofit gives
//! the events the keys that answer it, in a new table or in place, while other programs put, change and delete events. Then the
//! writers move to the new table and back. At the end the demo compares every event, and fails if one is lost. It also runs the naive protocol on the same table and
//! reports what that one loses.

mod compare;
mod events;
mod pages;
mod plain;
mod stage;
mod summary;
mod writers;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use keyfold_core::model::Table;
use keyfold_core::query::explain::explain;
use keyfold_core::query::{QueryRequest, Readiness};
use keyfold_core::value::Item;
use keyfold_dynamo::{TableOptions, create_table, enable_stream};
use keyfold_local::{CONTROL_TABLE, InProcessReplicator, PollerOptions, Start, StreamPoller};
use serde_json::Value;

use super::request;
use crate::args::DemoArgs;
use crate::output::{Output, grouped};
use compare::{Differences, Truth};
use events::{QUESTION, QUESTION_IN_WORDS};
use stage::Stage;
use summary::{Summary, whole};
use writers::Writers;

/// The longest wait for the end of a stream.
const DRAIN_WAIT_MAX: Duration = Duration::from_secs(60);
/// How long writers use the new table before they go back.
const WRITING_THERE: Duration = Duration::from_secs(2);
/// The default number of events.
const ITEMS: u32 = 100_000;
/// The default number of events in place.
const ITEMS_IN_PLACE: u32 = 5_000;
/// Segments of the source that are read at the same time.
const SEGMENTS: &str = "4";
/// The maximum capacity units per second of a pass: more than one machine can do.
const RATE: &str = "1000000";
/// The table that the naive protocol writes.
const PLAIN_TABLE: &str = "ResourceAccessAuditPlain";

pub(super) fn run(args: &DemoArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let summary = runtime.block_on(play(args, out))?;
    Ok(if summary.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn play(args: &DemoArgs, out: &Output) -> anyhow::Result<Summary> {
    let tell = Teller { out };
    let number = args.items.unwrap_or(if args.in_place { ITEMS_IN_PLACE } else { ITEMS });
    let items = grouped(u64::from(number));
    tell.title(&format!("An audit table with {items} events. Its only key is the event's id."));
    let stage = Stage::set(number, args.in_place).await?;
    tell.title(QUESTION_IN_WORDS);
    tell.plan(&stage)?;

    tell.title("Programs that know nothing of the new key keep writing. A retrofit starts.");
    let sample = stage.sample().await?;
    let writers = Writers::start(&stage.client, &stage.source, number);
    tell.command(&format!("keyfold retrofit start {}", stage.retrofit));
    let started = stage.retrofit(&["start", stage.retrofit], out).await?;
    tell.line(text(&started, "said"));
    let replicator =
        Arc::new(InProcessReplicator::new(&stage.model, stage.retrofit, CONTROL_TABLE, &stage.server));
    let poller = StreamPoller::start(
        stage.server.database(),
        &stage.source.name,
        Arc::clone(&replicator),
        PollerOptions::default(),
    )
    .await?;
    tell.line("the replicator follows the table's stream");
    tokio::time::sleep(Duration::from_millis(300)).await;
    let early = stage.ask().await?.count;
    let there = stage.answers_at_first;
    tell.line(&format!(
        "the same question now: {early} of about {there} events, because older events are not in the index yet"
    ));

    let backfill = ["backfill", stage.retrofit, "--segments", SEGMENTS, "--rate", RATE];
    tell.command(&format!("keyfold retrofit {}", backfill.join(" ")));
    let backfill = stage.retrofit(&backfill, out).await?;
    tell.line(&format!(
        "{} items read, {} written, {} items/s",
        grouped(count(&backfill, "items")),
        grouped(count(&backfill, "written")),
        grouped(whole(backfill["itemsPerSecond"].as_f64().unwrap_or(0.0))),
    ));

    let plain = if args.in_place { None } else { Some(play_plain(&stage, &tell).await?) };
    let writes = writers.stop().await?;
    poller.drained(DRAIN_WAIT_MAX).await?;
    let plain = match plain {
        Some((table, poller)) => {
            poller.drained(DRAIN_WAIT_MAX).await?;
            Some(table)
        }
        None => None,
    };

    tell.title(&format!(
        "The writers stop after {} writes, and the replicator has read the whole stream.",
        grouped(writes)
    ));
    if !args.in_place {
        tell.command(&format!("keyfold retrofit tidy {}", stage.retrofit));
        // Nothing is under way any more that would have to be waited for.
        let tidied = stage.retrofit(&["tidy", stage.retrofit, "--wait", "0", "--rate", RATE], out).await?;
        let swept = tidied["swept"].as_u64().unwrap_or(0);
        tell.line(&format!("{} tombstones swept: readers will meet none", grouped(swept)));
    }
    tell.command(&format!("keyfold retrofit verify {}", stage.retrofit));
    let verified =
        stage.retrofit(&["verify", stage.retrofit, "--segments", SEGMENTS, "--rate", RATE], out).await?;
    tell.line(&format!(
        "{} items compared, in both directions: no difference",
        grouped(count(&verified, "items"))
    ));
    let mut writes = writes;
    if args.in_place {
        tell.command(&format!("keyfold retrofit cutover {}", stage.retrofit));
        let cut = stage.retrofit(&["cutover", stage.retrofit], out).await?;
        tell.line(text(&cut, "said"));
    } else {
        writes += there_and_back(&stage, &tell, number, replicator, out).await?;
        poller.drained(DRAIN_WAIT_MAX).await?;
    }

    tell.title(&format!("The question again: {QUESTION_IN_WORDS}"));
    let summary =
        sum_up(args, &stage, &sample, &backfill, plain.as_ref(), (writes, poller.counts().records)).await?;
    tell.line(&format!(
        "{} of {} events found, for {} read units",
        summary.answer, summary.expected, summary.by_index
    ));
    tell.title("The figures of this run:");
    summary.print(&stage, out)?;
    stage.server.shutdown();
    Ok(summary)
}

/// Moves the writers to the new table, and back, with what they wrote there.
async fn there_and_back(
    stage: &Stage,
    tell: &Teller<'_>,
    items: u32,
    replicator: Arc<InProcessReplicator>,
    out: &Output,
) -> anyhow::Result<u64> {
    // Only now: what the backfill and the sweep wrote is nothing to follow.
    enable_stream(&stage.client, &stage.target).await?;
    let back = PollerOptions { start: Start::Latest, ..PollerOptions::default() };
    let back = StreamPoller::start(stage.server.database(), &stage.target.name, replicator, back).await?;
    let moved = |command: &'static str| async move {
        tell.command(&format!("keyfold retrofit {command} {} --writers attested", stage.retrofit));
        let arguments = [command, stage.retrofit, "--writers", "attested", "--quiet", "1"];
        let moved = stage.retrofit(&arguments, out).await?;
        tell.line(&format!(
            "writers may use table `{}` now; nobody could write for {:.1} s",
            text(&moved, "open"),
            moved["seconds"].as_f64().unwrap_or(0.0)
        ));
        anyhow::Ok(())
    };
    moved("switch").await?;
    let writers = Writers::start(&stage.client, &stage.target, items);
    tokio::time::sleep(WRITING_THERE).await;
    let writes = writers.stop().await?;
    tell.line(&format!("the writers use the new table: {} writes", grouped(writes)));
    moved("return").await?;
    back.stop().await?;
    Ok(writes)
}

/// Copies the same table with the naive protocol, while the same writers work.
async fn play_plain(stage: &Stage, tell: &Teller<'_>) -> anyhow::Result<(Table, StreamPoller)> {
    tell.title("For comparison, the naive protocol: update the items that exist, copy those that do not.");
    // Only the index that the question needs: what this protocol loses does not depend on the others.
    let mut table = Table { name: PLAIN_TABLE.to_owned(), ..stage.target.clone() };
    table.indexes.retain(|index| index.name == "byResourceActionUser");
    create_table(&stage.client, &table, TableOptions::default()).await?;
    let poller = plain::follow(stage.server.database(), &stage.source, &stage.client, &table).await?;
    let written = plain::copy(&stage.client, &stage.source, &table).await?;
    tell.line(&format!("{} items copied; at first sight everything is right", grouped(written)));
    Ok((table, poller))
}

async fn sum_up(
    args: &DemoArgs,
    stage: &Stage,
    sample: &[Item],
    backfill: &Value,
    plain: Option<&Table>,
    (writes, replicated): (u64, u64),
) -> anyhow::Result<Summary> {
    let found = stage.ask().await?;
    let truth = Truth::read(&stage.client, &stage.source).await?;
    let plain: Option<Differences> = match plain {
        Some(table) => Some(truth.compare(&stage.client, table).await?),
        None => None,
    };
    Ok(Summary {
        items: count(backfill, "items"),
        items_per_second: backfill["itemsPerSecond"].as_f64().unwrap_or(0.0),
        written: count(backfill, "written"),
        write_units: backfill["writeUnits"].as_f64().unwrap_or(0.0),
        least_units: summary::estimate(stage, args.in_place, count(backfill, "written"), sample)
            .map(|estimate| estimate.write_units().get()),
        writes,
        replicated,
        ours: truth.compare(&stage.client, &stage.target).await?,
        plain,
        answer: found.count,
        expected: truth.answers,
        by_index: found.consumed_read_units,
        by_filter: stage.ask_by_filter().await?.consumed_read_units,
        by_scan: stage.ask_by_scan().await?.consumed_read_units,
        billion: summary::billion(stage, args.in_place, sample),
    })
}

/// Prints the story for people.
struct Teller<'o> {
    out: &'o Output,
}

impl Teller<'_> {
    fn title(&self, text: &str) {
        self.say(&format!("\n{}\n", self.out.strong(text)));
    }

    fn line(&self, text: &str) {
        self.say(&format!("  {text}\n"));
    }

    fn command(&self, text: &str) {
        self.say(&format!("  {}\n", self.out.faint(&format!("$ {text}"))));
    }

    /// Prints the plan of the question.
    fn plan(&self, stage: &Stage) -> anyhow::Result<()> {
        let request: QueryRequest = serde_json::from_str(QUESTION)?;
        let plan = request::planned(&request::checked(&stage.model, &request)?, &Readiness::complete())?;
        explain(&plan)
            .to_string()
            .lines()
            .take_while(|line| !line.starts_with("not taken"))
            .for_each(|line| self.line(line));
        Ok(())
    }

    fn say(&self, text: &str) {
        if !self.out.json {
            self.out.text(text);
        }
    }
}

fn count(value: &Value, name: &str) -> u64 {
    value["counts"][name].as_u64().unwrap_or(0)
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}
