//! The passes over the tables: backfill, and the comparison of both sides with or without repair.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use keyfold_core::model::Model;
use keyfold_core::retrofit::quarantine::misfits;
use keyfold_core::retrofit::{Checkpoint, Misfits, Pass, SegmentId, progress};
use keyfold_dynamo::retrofit::{
    RequestSender, RetrofitDifference, RetrofitError, SliceOptions, VerifySlice, backfill_slice,
    finalise_slice, verify_slice,
};
use serde_json::json;

use super::interrupt::{INTERRUPTED, watched};
use super::misfits::table;
use super::progress::Progress;
use super::rounds::Rounds;
use super::{explained, started};
use crate::args::{RetrofitPassArgs, RetrofitVerifyArgs, RetrofitWork, SEGMENTS_DEFAULT};
use crate::output::Output;
use crate::refusal::refuse;

pub(super) async fn backfill(
    model: &Model,
    args: &RetrofitPassArgs,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    let (sender, head) = started(model, &args.target).await?;
    let sender = sender.paced(args.rate);
    head.check_filling(sender.job().mapping()).map_err(|error| explained(error.into()))?;
    let total = total(&sender, args).await?;
    sender.begin_writing().await.map_err(explained)?;
    let options = SliceOptions {
        stop: watched(out),
        owner: Some(owner(args.work.worker.as_deref())),
        store: true,
        ..SliceOptions::default()
    };
    let shown = Progress::new(out, &sender, sender.items_about().await.map_err(explained)?);
    let rounds =
        Rounds { segments: total, concurrency: args.work.concurrency, stop: &options.stop, shown: &shown };
    let ends = rounds.run(|segment| one_segment(&sender, Pass::Backfill, segment, &options, &shown)).await;
    shown.ends();
    let ends = ends?;
    let mut counts = BTreeMap::new();
    ends.iter().for_each(|checkpoint| add(&mut counts, checkpoint));
    let done = ends.len() == total as usize && ends.iter().all(Checkpoint::is_done);
    let entries = sender.quarantine().await.map_err(explained)?;
    report(out, &sender, "backfill", &counts, &shown, done, Some(&misfits(&entries)))?;
    Ok(if done { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) })
}

/// How many segments the backfill has. One that was begun before goes on with its number, also from its beginning.
async fn total(sender: &RequestSender, args: &RetrofitPassArgs) -> anyhow::Result<u32> {
    let known = sender.segments(Pass::Backfill).await.map_err(explained)?;
    let begun = known.first().map(|known| known.segment().total());
    let total = args.work.segments.or(begun).unwrap_or(SEGMENTS_DEFAULT);
    if args.again {
        sender.forget_segments(Pass::Backfill).await.map_err(explained)?;
    } else if let Some(other) =
        known.iter().map(|known| known.segment().total()).find(|known| *known != total)
    {
        refuse!(
            "other-segments",
            "the backfill of retrofit `{}` was begun with {other} segments\n\
             hint: leave out --segments to go on with them, or start again with --again",
            sender.job().mapping().name()
        );
    }
    if args.again || begun.is_none() {
        // Noted before anything is carried over: who comes after a crash finds the number.
        let first = SegmentId::new(0, total)?;
        let start = Checkpoint::start(sender.job(), Pass::Backfill, first);
        sender.store_checkpoint(&start).await.map_err(explained)?;
    }
    Ok(total)
}

/// Takes what the retrofit keeps off the target's items or the control table; the counts, or `None` if it is interrupted.
pub(super) async fn cleaned(
    sender: &RequestSender,
    pass: Pass,
    work: &RetrofitWork,
    stop: &Arc<AtomicBool>,
    out: &Output,
) -> anyhow::Result<Option<BTreeMap<String, u64>>> {
    let known = sender.segments(pass).await.map_err(explained)?;
    // One that was begun with another number of segments goes on with that.
    let begun = known.first().map(|known| known.segment().total());
    let total = begun.or(work.segments).unwrap_or(SEGMENTS_DEFAULT);
    let options = SliceOptions {
        stop: Arc::clone(stop),
        owner: Some(owner(work.worker.as_deref())),
        store: true,
        ..SliceOptions::default()
    };
    // How many rows the control table has, nobody knows.
    let items = match pass {
        Pass::EmptyLedger => 0,
        _ => sender.target_about().await.map_err(explained)?.0,
    };
    let shown = Progress::new(out, sender, items);
    let rounds = Rounds { segments: total, concurrency: work.concurrency, stop, shown: &shown };
    let ends = rounds.run(|segment| one_segment(sender, pass, segment, &options, &shown)).await;
    shown.ends();
    let ends = ends?;
    let mut counts = BTreeMap::new();
    ends.iter().for_each(|checkpoint| add(&mut counts, checkpoint));
    let all = ends.len() == total as usize && ends.iter().all(Checkpoint::is_done);
    Ok(all.then_some(counts))
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

/// Compares both sides. Exit code 1 if they differ.
pub(super) async fn verify(
    model: &Model,
    args: &RetrofitVerifyArgs,
    repair: bool,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    let (sender, head) = started(model, &args.target).await?;
    let sender = sender.paced(args.rate);
    if repair {
        head.check_filling(sender.job().mapping()).map_err(|error| explained(error.into()))?;
        sender.begin_writing().await.map_err(explained)?;
        for entry in sender.quarantine().await.map_err(explained)? {
            sender.release(&entry).await.map_err(explained)?;
        }
    }
    let passes = progress::comparison(sender.job().mapping().protocol());
    let items = sender.items_about().await.map_err(explained)?.saturating_mul(passes.len() as u64);
    let shown = Progress::new(out, &sender, items);
    let options = SliceOptions {
        stop: watched(out),
        owner: Some(owner(args.work.worker.as_deref())),
        store: !repair,
        lag_seconds: args.lag,
        ..SliceOptions::default()
    };
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let (mut differences, mut count, mut done) = (Vec::new(), 0, true);
    let total = args.work.segments.unwrap_or(SEGMENTS_DEFAULT);
    for pass in passes {
        if !repair {
            sender.forget_segments(*pass).await.map_err(explained)?;
        }
        let rounds = Rounds {
            segments: total,
            concurrency: args.work.concurrency,
            stop: &options.stop,
            shown: &shown,
        };
        let ends = rounds.run(|segment| compared(&sender, *pass, segment, repair, &options, &shown)).await?;
        done &= ends.len() == total as usize;
        for end in ends {
            add(&mut counts, &end.checkpoint);
            count += progress::differences_of(&end.checkpoint);
            done &= end.checkpoint.is_done();
            differences.extend(end.differences);
        }
    }
    shown.ends();
    for difference in differences.iter().take(args.show) {
        name(&sender, difference, out);
    }
    report(out, &sender, if repair { "repair" } else { "verify" }, &counts, &shown, done, None)?;
    Ok(match (done, count) {
        (false, _) => ExitCode::from(INTERRUPTED),
        (true, 0) => ExitCode::SUCCESS,
        (true, _) => ExitCode::FAILURE,
    })
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
pub(super) fn owner(given: Option<&str>) -> String {
    if let Some(given) = given {
        return given.to_owned();
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("cli-{}-{:x}", std::process::id(), now.as_nanos())
}

pub(super) fn add(counts: &mut BTreeMap<String, u64>, checkpoint: &Checkpoint) {
    for (name, count) in checkpoint.counts() {
        *counts.entry(name.clone()).or_default() += count;
    }
}

fn report(
    out: &Output,
    sender: &RequestSender,
    what: &str,
    counts: &BTreeMap<String, u64>,
    shown: &Progress<'_>,
    done: bool,
    misfits: Option<&Misfits>,
) -> anyhow::Result<()> {
    let spent = sender.spent();
    let rate = shown.items_per_second();
    if out.json {
        let mut shown = json!({
            "pass": what, "done": done, "counts": counts, "itemsPerSecond": rate.round(),
            "readUnits": spent.read.units, "writeUnits": spent.write.units,
            "controlWriteUnits": spent.control.units, "resent": spent.resent, "throttled": spent.throttles,
        });
        if let Some(misfits) = misfits {
            shown["misfits"] = misfits.json();
        }
        return out.value(&shown);
    }
    let counted: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    out.text(format!(
        "{what}: {} ({rate:.0} items/s, {} read units, {} write units, {} units of the control table, {} retries)\n",
        counted.join(", "),
        spent.read.units,
        spent.write.units,
        spent.control.units,
        spent.resent
    ));
    if let Some(misfits) = misfits {
        out.text(table("in quarantine:", misfits));
    }
    if !done {
        out.text(format!(
            "interrupted: run the same command again; it {}\n",
            if what == "backfill" { "continues from here" } else { "starts again" }
        ));
    }
    Ok(())
}
