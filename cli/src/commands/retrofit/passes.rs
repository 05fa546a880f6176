//! The passes over the tables: backfill, and the comparison of both sides with or without repair.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use futures_util::stream::{self, StreamExt};
use keyfold_core::model::Model;
use keyfold_core::retrofit::{Checkpoint, Pass, Protocol, SegmentId};
use keyfold_dynamo::retrofit::{Carrier, RetrofitError, SliceOptions, backfill_slice, verify_slice};
use serde_json::json;

use super::{explained, segments, started};
use crate::args::{RetrofitPassArgs, RetrofitVerifyArgs};
use crate::output::Output;

pub(super) async fn backfill(
    model: &Model,
    args: &RetrofitPassArgs,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    let (carrier, head) = started(model, &args.target).await?;
    head.check_open(carrier.job().mapping()).map_err(|error| explained(error.into()))?;
    if args.again {
        carrier.forget_segments(Pass::Backfill).await.map_err(explained)?;
    }
    let known = carrier.segments(Pass::Backfill).await.map_err(explained)?;
    if let Some(other) = known.iter().find(|known| known.segment().total() != args.segments) {
        bail!(
            "the backfill of retrofit `{}` was begun with {} segments: go on with as many, or begin it anew with --again",
            head.retrofit,
            other.segment().total()
        );
    }
    carrier.store_verified(None).await.map_err(explained)?;
    let begun = Instant::now();
    let options = SliceOptions {
        items_per_second: args.rate.map(|rate| rate / f64::from(args.segments)),
        ..SliceOptions::default()
    };
    let runs = segments(args.segments)?.into_iter().map(|segment| one_segment(&carrier, segment, &options));
    let mut running = stream::iter(runs).buffer_unordered(args.concurrency.max(1));
    let mut counts = BTreeMap::new();
    let mut failed = None;
    while let Some(end) = running.next().await {
        match end {
            Ok(checkpoint) => {
                add(&mut counts, &checkpoint);
                progress(out, &counts, begun);
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    drop(running);
    if let Some(error) = failed {
        return Err(explained(error));
    }
    report(out, &carrier, "backfill", &counts, begun)?;
    Ok(ExitCode::SUCCESS)
}

/// One segment to its end, page by page; each page's checkpoint is stored once its writes are durable.
async fn one_segment(
    carrier: &Carrier,
    segment: SegmentId,
    options: &SliceOptions,
) -> Result<Checkpoint, RetrofitError> {
    let mut checkpoint = carrier.checkpoint(Pass::Backfill, segment).await?;
    let one_page = SliceOptions { pages_max: Some(1), ..*options };
    while !checkpoint.is_done() {
        let end = backfill_slice(carrier, checkpoint, &one_page, &mut |_| {}).await;
        carrier.store_checkpoint(&end.checkpoint).await?;
        if let Some(error) = end.error {
            return Err(error);
        }
        checkpoint = end.checkpoint;
    }
    Ok(checkpoint)
}

/// Compares both sides. Exit code 1 if anything does not agree.
pub(super) async fn verify(
    model: &Model,
    args: &RetrofitVerifyArgs,
    repair: bool,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    let (carrier, head) = started(model, &args.target).await?;
    if repair {
        head.check_open(carrier.job().mapping()).map_err(|error| explained(error.into()))?;
        for entry in carrier.quarantine().await.map_err(explained)? {
            carrier.release(&entry).await.map_err(explained)?;
        }
    }
    let begun = Instant::now();
    let both = carrier.job().mapping().protocol() != Protocol::InPlace;
    let passes = [Some(Pass::VerifySource), both.then_some(Pass::VerifyTarget)];
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut differences = Vec::new();
    let options = SliceOptions::default();
    for pass in passes.into_iter().flatten() {
        let ends = segments(args.segments)?.into_iter().map(|segment| {
            let checkpoint = Checkpoint::start(carrier.job(), pass, segment);
            let (carrier, options) = (&carrier, &options);
            async move { verify_slice(carrier, checkpoint, repair, options, &mut |_| {}).await }
        });
        let mut running = stream::iter(ends).buffer_unordered(args.concurrency.max(1));
        while let Some(end) = running.next().await {
            // What was not read is not clean.
            if let Some(error) = end.error {
                return Err(explained(error));
            }
            add(&mut counts, &end.checkpoint);
            differences.extend(end.differences);
        }
    }
    let fine = ["items", "same", "repaired"];
    let count: u64 =
        counts.iter().filter(|(name, _)| !fine.contains(&name.as_str())).map(|(_, count)| count).sum();
    // A repair changes what was compared: only a comparison without one counts.
    carrier.store_verified((!repair).then_some(count)).await.map_err(explained)?;
    for difference in differences.iter().take(args.show) {
        let key = difference
            .key
            .as_ref()
            .and_then(|key| keyfold_core::retrofit::SourceKey::of(carrier.job().mapping().source(), key));
        let key = key.map_or_else(|| "(no source key)".to_owned(), |key| key.to_string());
        out.note(format!(
            "{} {key}{}\n",
            difference.class.name(),
            if difference.repaired { ", repaired" } else { "" }
        ));
    }
    report(out, &carrier, if repair { "repair" } else { "verify" }, &counts, begun)?;
    Ok(if count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn add(counts: &mut BTreeMap<String, u64>, checkpoint: &Checkpoint) {
    for (name, count) in checkpoint.counts() {
        *counts.entry(name.clone()).or_default() += count;
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate(items: u64, begun: Instant) -> f64 {
    items as f64 / begun.elapsed().as_secs_f64().max(0.001)
}

fn progress(out: &Output, counts: &BTreeMap<String, u64>, begun: Instant) {
    let items = counts.get("items").copied().unwrap_or(0);
    out.note(format!("{items} items, {:.0} items/s\n", rate(items, begun)));
}

fn report(
    out: &Output,
    carrier: &Carrier,
    what: &str,
    counts: &BTreeMap<String, u64>,
    begun: Instant,
) -> anyhow::Result<()> {
    let spent = carrier.spent();
    let items = counts.get("items").copied().unwrap_or(0);
    if out.json {
        return out.value(&json!({
            "pass": what, "counts": counts, "itemsPerSecond": rate(items, begun).round(),
            "readUnits": spent.read.units, "writeUnits": spent.write.units,
            "controlWriteUnits": spent.control.units, "resent": spent.resent,
        }));
    }
    let counted: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    out.text(format!(
        "{what}: {} ({:.0} items/s, {} read units, {} write units, {} of the control table, {} sent again)\n",
        counted.join(", "),
        rate(items, begun),
        spent.read.units,
        spent.write.units,
        spent.control.units,
        spent.resent
    ));
    Ok(())
}
