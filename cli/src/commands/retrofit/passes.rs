//! The passes over the tables: backfill, and the comparison of both sides with or without repair.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use keyfold_core::retrofit::quarantine::misfits;
use keyfold_core::retrofit::{Checkpoint, Misfits, Pass, progress};
use keyfold_dynamo::retrofit::{PassEnd, PassOptions, RequestSender, RetrofitDifference};
use serde_json::{Value, json};

use super::env::explained;
use super::progress::Progress;
use super::texts::misfit_table;
use crate::output::Output;
use crate::refusal::refuse;
use crate::support::INTERRUPTED;

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
    /// As options of a pass.
    pub(super) fn options(&self, lag_seconds: u64) -> PassOptions {
        let given = PassOptions::of(self.worker.as_deref());
        let at_once = self.concurrency.unwrap_or(given.at_once);
        PassOptions { segments: self.segments, at_once, rate: self.rate, lag_seconds, ..given }
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
    let stored = sender.segments(Pass::Backfill).await.map_err(explained)?;
    let former = stored.first().map(|checkpoint| checkpoint.segment().total());
    let segments = work.segments.or(former);
    let (done, total) = progress::filled(&stored);
    if again {
        sender.forget_segments(Pass::Backfill).await.map_err(explained)?;
    } else if total > 0 && done == total {
        return Ok(None);
    } else if let Some(former) = former.filter(|former| segments != Some(*former)) {
        refuse!(
            "other-segments",
            "the backfill of retrofit `{}` was begun with {former} segments\n\
             hint: leave out --segments to continue with them, or carry over all items again with --again",
            sender.job().mapping().name()
        );
    }
    sender.begin_writing().await.map_err(explained)?;
    let shown = Progress::new(out, sender, sender.items_about().await.map_err(explained)?);
    let options = PassOptions { segments, stop: Arc::clone(stop), ..work.options(0) };
    let end = shown.during(sender.pass(Pass::Backfill, false, &options, &shown)).await.map_err(explained)?;
    shown.ends();
    let entries = sender.quarantine().await.map_err(explained)?;
    Ok(Some(report(sender, "backfill", &end.counts, &shown, end.done, Some(&misfits(&entries)))))
}

/// Compares both sides.
pub(super) async fn compare(
    sender: &RequestSender,
    work: &RetrofitWork,
    compare: &CompareOptions,
    stop: &Arc<AtomicBool>,
    out: &Output,
) -> anyhow::Result<PassReport> {
    if compare.repair {
        sender.begin_writing().await.map_err(explained)?;
        for entry in sender.quarantine().await.map_err(explained)? {
            sender.release(&entry).await.map_err(explained)?;
        }
    }
    let passes = progress::comparison(sender.job().mapping().protocol());
    let items = sender.items_about().await.map_err(explained)?.saturating_mul(passes.len() as u64);
    let shown = Progress::new(out, sender, items);
    let options = PassOptions { stop: Arc::clone(stop), ..work.options(compare.lag) };
    let mut all = PassEnd { done: true, ..PassEnd::default() };
    for pass in passes {
        let end =
            shown.during(sender.pass(*pass, compare.repair, &options, &shown)).await.map_err(explained)?;
        end.counts.into_iter().for_each(|(name, count)| *all.counts.entry(name).or_default() += count);
        all.done &= end.done;
        all.differing += end.differing;
        all.differences.extend(end.differences);
    }
    shown.ends();
    for difference in all.differences.iter().take(compare.show) {
        name(sender, difference, out);
    }
    let pass = if compare.repair { "repair" } else { "comparison" };
    let differences = all.differing;
    Ok(PassReport { differences, ..report(sender, pass, &all.counts, &shown, all.done, None) })
}

/// Prints one difference: its class and the source item's key.
fn name(sender: &RequestSender, difference: &RetrofitDifference, out: &Output) {
    let source = sender.job().mapping().source();
    let key = difference.key.as_ref().and_then(|key| keyfold_core::retrofit::SourceKey::of(source, key));
    let key = key.map_or_else(|| "(no source key)".to_owned(), |key| key.to_string());
    let repaired = if difference.repaired { ", repaired" } else { "" };
    out.note(format!("{} {key}{repaired}\n", difference.class.name()));
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
