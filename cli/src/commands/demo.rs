//! `keyfold demo`: the whole job on an embedded DynamoDB, while writers continue.
//!
//! The only key of an audit table is the event's id. A new question comes: who did what to a resource, and when? A retrofit gives
//! the events the keys that answer it, in a new table or in place, while other programs put, change and delete events. Then the
//! writers move to the new table and back. At the end the demo compares every event, and fails if one is lost. It also runs the naive
//! protocol on the same table and reports its losses.

mod compare;
mod events;
mod plain;
mod stage;
mod summary;
mod writers;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use keyfold_core::model::Table;
use keyfold_core::query::Readiness;
use keyfold_core::query::explain::explain;
use keyfold_dynamo::{TableOptions, create_table, enable_stream};
use keyfold_local::{CONTROL_TABLE, InProcessReplicator, PollerOptions, Start, StreamPoller};
use serde_json::Value;

use crate::output::{Output, columns, grouped};
use crate::refusal::Refusal;
use crate::request;
use crate::support::{block_on, exit_code};
use events::{QUESTION_IN_WORDS, question};
use stage::Stage;
use summary::{Counts, Summary, summarise, whole};
use writers::Writers;

/// The longest wait for the end of a stream.
const DRAIN_WAIT_MAX: Duration = Duration::from_secs(60);
/// How long writers use the new table before they go back.
const WRITING_TARGET: Duration = Duration::from_secs(2);
/// The default number of events.
const ITEMS: u32 = 20_000;
/// The default number of events in place.
const ITEMS_IN_PLACE: u32 = 5_000;
/// The table that the naive protocol writes.
const PLAIN_TABLE: &str = "ResourceAccessAuditPlain";

#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// How many events the table has [default: 20,000; in place 5,000, because there each item becomes a record of the stream
    /// and the embedded DynamoDB slows down with every record].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1000..=1_000_000))]
    pub(crate) items: Option<u32>,
    /// Give the items their keys in the same table, without a new table.
    #[arg(long)]
    pub(crate) in_place: bool,
}

pub(super) fn run(args: &DemoArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let summary = block_on(play(args, out))?;
    Ok(exit_code(summary.is_whole))
}

async fn play(args: &DemoArgs, out: &Output) -> anyhow::Result<Summary> {
    let story = Story { out };
    let number = args.items.unwrap_or(if args.in_place { ITEMS_IN_PLACE } else { ITEMS });
    let items = grouped(u64::from(number));
    story.title(&format!("An audit table with {items} events. Its only key is the event's id."));
    let stage = Stage::set(number, args.in_place).await?;
    story.title(QUESTION_IN_WORDS);
    story.plan(&stage)?;

    story.title("Programs that know nothing of the new key keep writing. A retrofit starts.");
    let sample = stage.sample().await?;
    let writers = Writers::start(&stage.client, &stage.source, number);
    let (replicator, poller) = start(&stage, &story).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let early = stage.ask().await?.count;
    let all = stage.answers_at_first;
    story.line(&format!(
        "the same question now: {early} of about {all} events, because older events are not in the index yet"
    ));

    let backfill = backfill(&stage, &story).await?;
    let plain = if args.in_place { None } else { Some(play_plain(&stage, &story).await?) };
    let mut writes = writers.stop().await?;
    poller.drained(DRAIN_WAIT_MAX).await?;
    let plain = match plain {
        Some((table, poller)) => {
            poller.drained(DRAIN_WAIT_MAX).await?;
            Some(table)
        }
        None => None,
    };

    story.title(&format!(
        "The writers stop after {} writes, and the replicator has read the whole stream.",
        grouped(writes)
    ));
    compare(&stage, &story).await?;
    if args.in_place {
        story.command(&format!("keyfold retrofit switch {}", stage.retrofit));
        let switched = stage.retrofit(&["switch", stage.retrofit], out).await?;
        story.line(text(&switched, "said"));
    } else {
        writes += switch_and_back(&stage, &story, number, replicator).await?;
        poller.drained(DRAIN_WAIT_MAX).await?;
    }

    story.title(&format!("The question again: {QUESTION_IN_WORDS}"));
    let counts = Counts { writes, replicated: poller.counts().records };
    let summary = summarise(&stage, &sample, &backfill, plain.as_ref(), counts).await?;
    let (answer, expected) = (&summary.value["answer"], &summary.value["expected"]);
    let units = &summary.value["readUnits"]["index"];
    story.line(&format!("{answer} of {expected} events found, for {units} read units"));
    story.title("The figures of this run:");
    out.show(&summary.value, columns(&summary.rows))?;
    stage.server.shutdown();
    Ok(summary)
}

/// Starts the retrofit, and the replicator that follows the source's stream.
async fn start(stage: &Stage, story: &Story<'_>) -> anyhow::Result<(Arc<InProcessReplicator>, StreamPoller)> {
    story.command(&format!("keyfold retrofit run {} --until start", stage.retrofit));
    let started = stage.retrofit(&["run", stage.retrofit, "--until", "start"], story.out).await?;
    story.line(text(&started, "said"));
    let replicator =
        Arc::new(InProcessReplicator::new(&stage.model, stage.retrofit, CONTROL_TABLE, &stage.server));
    let poller = StreamPoller::start(
        stage.server.database(),
        &stage.source.name,
        Arc::clone(&replicator),
        PollerOptions::default(),
    )
    .await?;
    story.line("the replicator follows the table's stream");
    Ok((replicator, poller))
}

/// Runs the retrofit up to a stage; what that stage did.
async fn run_until(stage: &Stage, story: &Story<'_>, until: &str, report: &str) -> anyhow::Result<Value> {
    let words = ["run", stage.retrofit, "--until", until];
    story.command(&format!("keyfold retrofit run {} --until {until}", stage.retrofit));
    Ok(stage.retrofit(&words, story.out).await?[report].take())
}

async fn backfill(stage: &Stage, story: &Story<'_>) -> anyhow::Result<Value> {
    let backfill = run_until(stage, story, "backfill", "backfill").await?;
    story.line(&format!(
        "{} items read, {} written, {} items/s",
        grouped(count(&backfill, "items")),
        grouped(count(&backfill, "written")),
        grouped(whole(backfill["itemsPerSecond"].as_f64().unwrap_or(0.0))),
    ));
    Ok(backfill)
}

async fn compare(stage: &Stage, story: &Story<'_>) -> anyhow::Result<()> {
    let compared = run_until(stage, story, "compare", "comparison").await?;
    story.line(&format!(
        "{} items compared, in both directions: no difference",
        grouped(count(&compared, "items"))
    ));
    Ok(())
}

/// Moves the writers to the new table, and back, with everything that they wrote there.
async fn switch_and_back(
    stage: &Stage,
    story: &Story<'_>,
    items: u32,
    replicator: Arc<InProcessReplicator>,
) -> anyhow::Result<u64> {
    // Only now, so that the replicator does not follow the writes of the backfill and the sweep.
    enable_stream(&stage.client, &stage.target).await?;
    let back = PollerOptions { start: Start::Latest, ..PollerOptions::default() };
    let back = StreamPoller::start(stage.server.database(), &stage.target.name, replicator, back).await?;
    let switch = |flags: &'static [&'static str]| async move {
        let words = [&["switch", stage.retrofit], flags].concat();
        story.command(&format!("keyfold retrofit {}", words.join(" ")));
        // No function and no request is in flight, so there is no wait.
        stage.retrofit(&[&words[..], &["--waits", "in-flight=0"]].concat(), story.out).await
    };
    let moved = |flags: &'static [&'static str]| async move {
        let moved = switch(flags).await?;
        story.line(&format!(
            "writers may use table `{}` now; the pause was {:.1} s",
            text(&moved, "open"),
            moved["seconds"].as_f64().unwrap_or(0.0)
        ));
        anyhow::Ok(())
    };
    // The target is tidied and compared before the writers stop, because that takes as long as a scan.
    if let Err(error) = switch(&[]).await {
        let refusal = error.downcast_ref::<Refusal>();
        ensure!(refusal.is_some_and(|Refusal(problem)| problem.code == "writers-not-stopped"), error);
        story.line("the target is tidied and compared once more; only now the writers have to stop");
    }
    moved(&["--writers", "attested"]).await?;
    let writers = Writers::start(&stage.client, &stage.target, items);
    tokio::time::sleep(WRITING_TARGET).await;
    let writes = writers.stop().await?;
    story.line(&format!("the writers use the new table: {} writes", grouped(writes)));
    moved(&["--writers", "attested", "--back"]).await?;
    back.stop().await?;
    Ok(writes)
}

/// Copies the same table with the naive protocol, while the same writers work.
async fn play_plain(stage: &Stage, story: &Story<'_>) -> anyhow::Result<(Table, StreamPoller)> {
    story.title("For comparison, the naive protocol: update the items that exist, copy those that do not.");
    // Only the index that the question needs: the losses of this protocol do not depend on the others.
    let mut table = Table { name: PLAIN_TABLE.to_owned(), ..stage.target.clone() };
    table.indexes.retain(|index| index.name == "byResourceActionUser");
    create_table(&stage.client, &table, TableOptions::default()).await?;
    let poller = plain::follow(stage.server.database(), &stage.source, &stage.client, &table).await?;
    let written = plain::copy(&stage.client, &stage.source, &table).await?;
    story.line(&format!("{} items copied; at first sight everything is right", grouped(written)));
    Ok((table, poller))
}

/// Prints the story for people.
struct Story<'o> {
    out: &'o Output,
}

impl Story<'_> {
    fn title(&self, text: &str) {
        self.say("\n\x1b[1m", text);
    }

    fn line(&self, text: &str) {
        self.say("  ", text);
    }

    fn command(&self, text: &str) {
        self.say("  \x1b[2m", &format!("$ {text}"));
    }

    /// Prints the plan of the question.
    fn plan(&self, stage: &Stage) -> anyhow::Result<()> {
        let checked = request::checked(&stage.model, &question()?)?;
        let plan = request::planned(&checked, &Readiness::complete())?;
        explain(&plan)
            .to_string()
            .lines()
            .take_while(|line| !line.starts_with("not taken"))
            .for_each(|line| self.line(line));
        Ok(())
    }

    fn say(&self, style: &str, text: &str) {
        if !self.out.json {
            self.out.styled(style, text);
        }
    }
}

fn count(value: &Value, name: &str) -> u64 {
    value["counts"][name].as_u64().unwrap_or(0)
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}
