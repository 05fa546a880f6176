//! `keyfold retrofit plan`: the effect and the price of a retrofit. A sample of the source goes through the same code as the retrofit;
//! with `--full`, the whole source does.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use futures_util::stream::{self, StreamExt};
use keyfold_core::cost::{Prices, WriteUnits};
use keyfold_core::retrofit::mapping::NoWayBack;
use keyfold_core::retrofit::{Checkpoint, Mapping, Pass, ProtocolReason, RetrofitEstimate, Survey};
use keyfold_dynamo::retrofit::{PassWatch, RequestSender, SliceOptions, survey_slice};
use serde_json::json;

use super::env::{Env, RetrofitName, explained, segments};
use super::passes::add;
use super::progress::Progress;
use super::texts::{back_table, diff_table, misfit_table};
use crate::output::{Output, columns, row};
use crate::support::{INTERRUPTED, stop_flag};

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitPlanArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    /// The number of items in the sample.
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) sample: u32,
    /// The number of items in the source [default: DynamoDB's own count].
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<u64>,
    /// Read the whole source instead of a sample: finds every item that does not fit, and every collision of target keys.
    #[arg(long, conflicts_with_all = ["sample", "items"])]
    pub(crate) full: bool,
    /// With --full: read units per second [default: starts at 1000 and grows while nothing is throttled].
    #[arg(long, value_name = "UNITS", requires = "full")]
    pub(crate) rate: Option<f64>,
    /// With --full: the number of segments of the scan, which are read at the same time.
    #[arg(long, default_value_t = 4, value_name = "N", requires = "full", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) segments: u32,
}

/// The outcomes of all items, by the names of a backfill's counts.
type Counts = BTreeMap<String, u64>;

pub(super) async fn run(env: &Env<'_>, args: &RetrofitPlanArgs) -> anyhow::Result<ExitCode> {
    let (out, prices) = (env.out, &env.model.prices);
    let sender = env.unstarted(&args.retrofit).await?;
    if !args.full {
        let estimate = sender.estimate(args.items, args.sample).await.map_err(explained)?;
        let estimate =
            estimate.context("the source has no items to sample; if it is empty, give --items 0")?;
        show(prices, &sender, &estimate, None, out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let sender = sender.paced(args.rate);
    let Some((estimate, counts)) = surveyed(&sender, args.segments, out).await? else {
        out.note(
            "interrupted: nothing was written; run the same command again, it starts from the beginning\n",
        );
        return Ok(ExitCode::from(INTERRUPTED));
    };
    show(prices, &sender, &estimate, Some(&counts), out)?;
    if !sender.target_is_empty().await.map_err(explained)? {
        out.note("the target holds items already: this plan does not know what a backfill meets there\n");
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the whole source; `None` if that was interrupted.
async fn surveyed(
    sender: &RequestSender,
    total: u32,
    out: &Output,
) -> anyhow::Result<Option<(RetrofitEstimate, Counts)>> {
    let options = SliceOptions { stop: stop_flag(out), ..SliceOptions::default() };
    let shown = Progress::new(out, sender, sender.items_about().await.map_err(explained)?);
    let survey = Mutex::new(Survey::of_all(sender.job()));
    let (mut counts, mut done) = (Counts::new(), true);
    {
        let watch = |checkpoint: &Checkpoint| shown.page(checkpoint);
        let runs = segments(total)?.into_iter().map(|segment| {
            shown.begins(&Checkpoint::start(sender.job(), Pass::Backfill, segment));
            survey_slice(sender, &survey, segment, &options, &watch)
        });
        let mut running = stream::iter(runs).buffer_unordered(total as usize);
        while let Some(end) = running.next().await {
            let end = end.map_err(explained)?;
            add(&mut counts, &end);
            done &= end.is_done();
        }
    }
    shown.ends();
    let survey = survey.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(done.then(|| (survey.of_these(), counts)))
}

/// `counts` are there if all items were read.
fn show(
    prices: &Prices,
    sender: &RequestSender,
    estimate: &RetrofitEstimate,
    counts: Option<&Counts>,
    out: &Output,
) -> anyhow::Result<()> {
    let mapping = sender.job().mapping();
    let dollars = estimate.dollars(prices);
    if out.json {
        let mut document = estimate.document(mapping, prices);
        document["noWayBack"] = json!(mapping.reverse().err().map(|why| no_way_back(mapping, &why)));
        if let Some(counts) = counts {
            document["counts"] = json!(counts);
        }
        return out.value(&document);
    }
    let from = match counts {
        Some(_) => "all were read".to_owned(),
        None => format!("estimated from a sample of {}", estimate.sampled),
    };
    let mut rows = vec![
        row("protocol", format!("{}: {}", mapping.protocol().name(), mapping.reason())),
        row("items", format!("{} ({from})", estimate.items)),
        row("written", estimate.items_written.to_string()),
        row("refused", format!("{} (they would go into quarantine)", estimate.items_refused)),
        row("read units", format!("{} ({})", estimate.scan_read.as_f64(), dollars.reads)),
        row("write units", format!("{} ({})", estimate.write_units().get(), dollars.writes)),
        row("finish", finish(mapping, estimate, prices)),
        row("way back", way_back(mapping, estimate)),
        row("storage", format!("{} more bytes ({} a month)", estimate.storage_bytes, dollars.storage_month)),
    ];
    rows.extend(estimate.mended.iter().map(|((attribute, remedy), items)| {
        row("does not fit", format!("`{attribute}` on {items} items: {}", effect(remedy)))
    }));
    rows.extend(
        mapping
            .live_changes()
            .iter()
            .map(|change| row("live attribute", format!("{change}; `abandon` takes nothing back"))),
    );
    out.text(columns(&rows));
    let judged = if counts.is_some() { "" } else { ", judged by the sample" };
    out.text(diff_table(
        &format!("what changes on items, by attribute{judged}; nothing else does:"),
        mapping,
        &estimate.diff,
    ));
    out.text(estimate.there_and_back.as_ref().map_or_else(String::new, |tried| back_table(mapping, tried)));
    out.text(misfit_table(&format!("items that do not fit{judged}:"), &estimate.misfits));
    Ok(())
}

/// The price of `finish`.
fn finish(mapping: &Mapping, estimate: &RetrofitEstimate, prices: &Prices) -> String {
    match estimate.finalise_units(mapping) {
        WriteUnits::ZERO => "nothing".to_owned(),
        units => format!(
            "{} write units ({}), or nothing with --leave-marks",
            units.get(),
            prices.dollars_for_writes(units)
        ),
    }
}

/// Can writers be moved back once they have moved?
fn way_back(mapping: &Mapping, estimate: &RetrofitEstimate) -> String {
    let fails = estimate.there_and_back.as_ref().is_some_and(|tried| tried.refused().next().is_some());
    match mapping.reverse() {
        Ok(_) if fails => {
            "not for every item: see below; `switch --back` is refused while such an item changes".to_owned()
        }
        Ok(_) => "after a `switch`, `switch --back` moves the writers back".to_owned(),
        Err(NoWayBack::SameTable) => "not needed: nobody moves".to_owned(),
        Err(why) => format!("none: {}", no_way_back(mapping, &why)),
    }
}

/// Why there is no way back, and for which entities.
fn no_way_back(mapping: &Mapping, why: &NoWayBack) -> String {
    let reason = |(entity, reason): (Option<&str>, ProtocolReason)| match entity {
        Some(entity) => format!("`{entity}`: {reason}"),
        None => reason.to_string(),
    };
    match why {
        NoWayBack::KeyCanMove => {
            let reasons: Vec<String> = mapping.moving_keys().into_iter().map(reason).collect();
            format!("{why} ({})", reasons.join("; "))
        }
        why => why.to_string(),
    }
}

/// The effect of a remedy, by its word in the manifest.
fn effect(remedy: &str) -> String {
    match remedy {
        "absent" => "its keys are made as if it were absent".to_owned(),
        remedy => format!("it is changed by `{remedy}`"),
    }
}
