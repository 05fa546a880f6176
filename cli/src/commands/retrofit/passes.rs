//! The passes over the tables: backfill, and the comparison of both sides with or without repair.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use keyfold_core::retrofit::quarantine::misfits;
use keyfold_core::retrofit::{Checkpoint, Misfits, Pass, SegmentId, progress};
use keyfold_dynamo::retrofit::{
    RequestSender, RetrofitDifference, RetrofitError, SliceOptions, VerifySlice, backfill_slice,
    finalise_slice, verify_slice,
};
use serde_json::{Value, json};

use super::env::explained;
use super::progress::Progress;
use super::rounds::Rounds;
use super::texts::misfit_table;
use crate::output::Output;
use crate::refusal::refuse;
use crate::support::INTERRUPTED;

/// The default number of segments of a pass.
const SEGMENTS_DEFAULT: u32 = 4;
/// The default number of segments that are processed at the same time.
const CONCURRENCY_DEFAULT: u32 = 4;

/// How a pass over a table is split into segments, and how fast it goes.
#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitWork {
    /// This worker's name, for the leases of segments. After a kill, a worker of the same name continues at once [default: a new
    /// name for each run, which waits half a minute for the leases to end].
    #[arg(long, value_name = "NAME", env = "KEYFOLD_WORKER")]
    pub(crate) worker: Option<String>,
    /// The number of segments of each table's scan. A pass that was interrupted continues with its number [default: 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) segments: Option<u32>,
    /// How many segments are processed at the same time [default: 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) concurrency: Option<u32>,
    /// Capacity units per second, reads and writes of all segments together: the first rate and the maximum [default: starts at
    /// 1000 and grows while nothing is throttled].
    #[arg(long, value_name = "UNITS")]
    pub(crate) rate: Option<f64>,
}

impl Default for RetrofitWork {
    fn default() -> RetrofitWork {
        let worker = std::env::var("KEYFOLD_WORKER").ok();
        RetrofitWork { worker, segments: None, concurrency: None, rate: None }
    }
}

impl RetrofitWork {
    fn concurrency(&self) -> usize {
        self.concurrency.unwrap_or(CONCURRENCY_DEFAULT) as usize
    }
}

/// What a pass did, for programs and for people.
pub(super) struct PassReport {
    pub(super) value: Value,
    pub(super) text: String,
    /// Was it not interrupted?
    pub(super) done: bool,
    /// Items that differ, of a comparison.
    pub(super) differences: u64,
}

/// How a comparison treats what differs.
pub(super) struct CompareOptions {
    /// Is it corrected?
    pub(super) repair: bool,
    /// How far behind the replicator may be, in seconds.
    pub(super) lag: u64,
    /// How many differences are listed.
    pub(super) show: usize,
}

/// Carries over the existing items. `None` if all segments are done already.
pub(super) async fn backfill(
    sender: &RequestSender,
    work: &RetrofitWork,
    again: bool,
    stop: &Arc<AtomicBool>,
    out: &Output,
) -> anyhow::Result<Option<PassReport>> {
    let total = total(sender, work, again).await?;
    let stored = sender.segments(Pass::Backfill).await.map_err(explained)?;
    if progress::filled(&stored) == (total, total) {
        return Ok(None);
    }
    sender.begin_writing().await.map_err(explained)?;
    let items = sender.items_about().await.map_err(explained)?;
    let shown = Progress::new(out, sender, items);
    let (counts, done) = walk(sender, Pass::Backfill, total, work, stop, &shown).await?;
    let entries = sender.quarantine().await.map_err(explained)?;
    Ok(Some(report(sender, "backfill", &counts, &shown, done, Some(&misfits(&entries)))))
}

/// The number of segments of the backfill. An interrupted one keeps its number, also with `--again`.
async fn total(sender: &RequestSender, work: &RetrofitWork, again: bool) -> anyhow::Result<u32> {
    let stored = sender.segments(Pass::Backfill).await.map_err(explained)?;
    let former = stored.first().map(|checkpoint| checkpoint.segment().total());
    let total = work.segments.or(former).unwrap_or(SEGMENTS_DEFAULT);
    if again {
        sender.forget_segments(Pass::Backfill).await.map_err(explained)?;
    } else if let Some(other) =
        stored.iter().map(|checkpoint| checkpoint.segment().total()).find(|other| *other != total)
    {
        refuse!(
            "other-segments",
            "the backfill of retrofit `{}` was begun with {other} segments\n\
             hint: leave out --segments to continue with them, or carry over all items again with --again",
            sender.job().mapping().name()
        );
    }
    if again || former.is_none() {
        // Stored before anything is carried over: after a crash the next command finds the number.
        let first = SegmentId::new(0, total)?;
        let start = Checkpoint::start(sender.job(), Pass::Backfill, first);
        sender.store_checkpoint(&start).await.map_err(explained)?;
    }
    Ok(total)
}

/// Removes the retrofit's marks from the target's items, or its rows from the control table. `None` if it is interrupted.
pub(super) async fn cleaned(
    sender: &RequestSender,
    pass: Pass,
    work: &RetrofitWork,
    stop: &Arc<AtomicBool>,
    out: &Output,
) -> anyhow::Result<Option<BTreeMap<String, u64>>> {
    let stored = sender.segments(pass).await.map_err(explained)?;
    // An interrupted pass keeps its number of segments.
    let former = stored.first().map(|checkpoint| checkpoint.segment().total());
    let total = former.or(work.segments).unwrap_or(SEGMENTS_DEFAULT);
    // The number of rows in the control table is unknown.
    let items = match pass {
        Pass::EmptyLedger => 0,
        _ => sender.target_about().await.map_err(explained)?.0,
    };
    let shown = Progress::new(out, sender, items);
    let (counts, done) = walk(sender, pass, total, work, stop, &shown).await?;
    Ok(done.then_some(counts))
}

/// Runs every segment of a backfill or a sweep. Returns the counts of all, and whether all are done.
async fn walk(
    sender: &RequestSender,
    pass: Pass,
    total: u32,
    work: &RetrofitWork,
    stop: &Arc<AtomicBool>,
    shown: &Progress<'_>,
) -> anyhow::Result<(BTreeMap<String, u64>, bool)> {
    let options = SliceOptions { store: true, ..options(work, Arc::clone(stop)) };
    let rounds = Rounds { segments: total, concurrency: work.concurrency(), stop, shown };
    let ends = rounds.run(|segment| one_segment(sender, pass, segment, &options, shown)).await;
    shown.ends();
    let (ends, mut counts) = (ends?, BTreeMap::new());
    ends.iter().for_each(|checkpoint| add(&mut counts, checkpoint));
    Ok((counts, ends.len() == total as usize && ends.iter().all(Checkpoint::is_done)))
}

/// How the slices of this command run.
fn options(work: &RetrofitWork, stop: Arc<AtomicBool>) -> SliceOptions {
    SliceOptions { stop, owner: Some(owner(work.worker.as_deref())), ..SliceOptions::default() }
}

/// Backfills or cleans one segment to its end, or to the page at which it is interrupted.
async fn one_segment(
    sender: &RequestSender,
    pass: Pass,
    segment: SegmentId,
    options: &SliceOptions,
    shown: &Progress<'_>,
) -> Result<Checkpoint, RetrofitError> {
    let checkpoint = sender.checkpoint(pass, segment).await?;
    shown.begins(&checkpoint);
    if checkpoint.is_done() || options.stop.load(Ordering::Relaxed) {
        return Ok(checkpoint);
    }
    let mut watch = |checkpoint: &Checkpoint| {
        shown.page(checkpoint);
        ControlFlow::Continue(())
    };
    let end = match pass {
        Pass::Backfill => backfill_slice(sender, checkpoint, options, &mut watch).await,
        _ => finalise_slice(sender, checkpoint, options, &mut watch).await,
    };
    end.error.map_or(Ok(end.checkpoint), Err)
}

/// Compares both sides.
pub(super) async fn compare(
    sender: &RequestSender,
    work: &RetrofitWork,
    compare: &CompareOptions,
    stop: &Arc<AtomicBool>,
    out: &Output,
) -> anyhow::Result<PassReport> {
    let repair = compare.repair;
    if repair {
        sender.begin_writing().await.map_err(explained)?;
        for entry in sender.quarantine().await.map_err(explained)? {
            sender.release(&entry).await.map_err(explained)?;
        }
    }
    let passes = progress::comparison(sender.job().mapping().protocol());
    let items = sender.items_about().await.map_err(explained)?.saturating_mul(passes.len() as u64);
    let shown = Progress::new(out, sender, items);
    let options =
        SliceOptions { store: !repair, lag_seconds: compare.lag, ..options(work, Arc::clone(stop)) };
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let (mut named, mut differences, mut done) = (Vec::new(), 0, true);
    let total = work.segments.unwrap_or(SEGMENTS_DEFAULT);
    for pass in passes {
        if !repair {
            sender.forget_segments(*pass).await.map_err(explained)?;
        }
        let rounds =
            Rounds { segments: total, concurrency: work.concurrency(), stop: &options.stop, shown: &shown };
        let ends = rounds.run(|segment| compared(sender, *pass, segment, repair, &options, &shown)).await?;
        done &= ends.len() == total as usize;
        for end in ends {
            add(&mut counts, &end.checkpoint);
            differences += progress::differences_of(&end.checkpoint);
            done &= end.checkpoint.is_done();
            named.extend(end.differences);
        }
    }
    shown.ends();
    for difference in named.iter().take(compare.show) {
        name(sender, difference, out);
    }
    let pass = if repair { "repair" } else { "comparison" };
    Ok(PassReport { differences, ..report(sender, pass, &counts, &shown, done, None) })
}

/// Compares one segment of one side. The result of a comparison is kept in the control table, unless it repairs: then it
/// changes what it compares.
async fn compared(
    sender: &RequestSender,
    pass: Pass,
    segment: SegmentId,
    repair: bool,
    options: &SliceOptions,
    shown: &Progress<'_>,
) -> Result<VerifySlice, RetrofitError> {
    let checkpoint = if repair || options.stop.load(Ordering::Relaxed) {
        Checkpoint::start(sender.job(), pass, segment)
    } else {
        sender.begin_comparison(pass, segment).await?
    };
    let mut watch = |checkpoint: &Checkpoint| {
        shown.page(checkpoint);
        ControlFlow::Continue(())
    };
    let end = verify_slice(sender, checkpoint, repair, options, &mut watch).await;
    // An item that was not read must not count as clean.
    match end.error {
        Some(error) => Err(error),
        None => Ok(end),
    }
}

/// Prints one difference: its class and the source item's key.
fn name(sender: &RequestSender, difference: &RetrofitDifference, out: &Output) {
    let source = sender.job().mapping().source();
    let key = difference.key.as_ref().and_then(|key| keyfold_core::retrofit::SourceKey::of(source, key));
    let key = key.map_or_else(|| "(no source key)".to_owned(), |key| key.to_string());
    let repaired = if difference.repaired { ", repaired" } else { "" };
    out.note(format!("{} {key}{repaired}\n", difference.class.name()));
}

/// The worker's name for leases: the given one, or a new one for this run.
fn owner(given: Option<&str>) -> String {
    if let Some(given) = given {
        return given.to_owned();
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("cli-{}-{:x}", std::process::id(), now.as_nanos())
}

pub(super) fn interrupted(out: &Output) -> anyhow::Result<ExitCode> {
    out.note("interrupted: the same command continues from here\n");
    Ok(ExitCode::from(INTERRUPTED))
}

pub(super) fn add(counts: &mut BTreeMap<String, u64>, checkpoint: &Checkpoint) {
    for (name, count) in checkpoint.counts() {
        *counts.entry(name.clone()).or_default() += count;
    }
}

fn report(
    sender: &RequestSender,
    what: &str,
    counts: &BTreeMap<String, u64>,
    shown: &Progress<'_>,
    done: bool,
    misfits: Option<&Misfits>,
) -> PassReport {
    let spent = sender.spent();
    let (rate, reads, writes, control) =
        (shown.items_per_second(), spent.read.units, spent.write.units, spent.control.units);
    let mut value = json!({
        "done": done, "counts": counts, "itemsPerSecond": rate.round(), "readUnits": reads,
        "writeUnits": writes, "controlWriteUnits": control, "resent": spent.resent, "throttled": spent.throttles,
    });
    let counted: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let mut text = format!(
        "{what}: {} ({rate:.0} items/s, {reads} read units, {writes} write units, {control} units of the control table, {} retries)\n",
        counted.join(", "),
        spent.resent
    );
    if let Some(misfits) = misfits {
        value["misfits"] = misfits.json();
        text += &misfit_table("in quarantine:", misfits);
    }
    if !done {
        text += &format!("{what}: interrupted\n");
    }
    PassReport { value, text, done, differences: 0 }
}
