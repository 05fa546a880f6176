//! `keyfold retrofit plan`: the effect and the price of a retrofit. A sample of the source goes through the same code as the retrofit;
//! with `--full`, the whole source does.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use futures_util::stream::{self, StreamExt};
use keyfold_core::cost::Prices;
use keyfold_core::retrofit::{Checkpoint, Pass, RetrofitEstimate, Survey};
use keyfold_dynamo::retrofit::{PassEnd, PassWatch, RequestSender, SliceOptions, survey_slice};
use serde_json::json;

use super::env::{Env, RetrofitName, explained, segments};
use super::progress::Progress;
use super::texts::titled;
use crate::output::{Output, columns};
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
    let shown = Progress::new(out, 0);
    shown.begins_pass(Pass::Backfill, false, sender.items_about().await.map_err(explained)?);
    let survey = Mutex::new(Survey::of_all(sender.job()));
    let (mut counts, mut done) = (Counts::new(), true);
    {
        let watch = |checkpoint: &Checkpoint| {
            shown.page(checkpoint);
            shown.spends(&sender.spent(), None);
        };
        let runs = segments(total)?.into_iter().map(|segment| {
            shown.begins(&Checkpoint::start(sender.job(), Pass::Backfill, segment));
            survey_slice(sender, &survey, segment, &options, &watch)
        });
        let mut running = stream::iter(runs).buffer_unordered(total as usize);
        while let Some(end) = running.next().await {
            let end = end.map_err(explained)?;
            for (name, count) in end.counts() {
                *counts.entry(name.clone()).or_default() += count;
            }
            done &= end.is_done();
        }
    }
    shown.ends_pass(Pass::Backfill, false, &PassEnd::default());
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
    if out.json {
        let mut document = estimate.document(mapping, prices);
        document["noWayBack"] = json!(mapping.reverse().err().map(|why| why.to_string()));
        if let Some(counts) = counts {
            document["counts"] = json!(counts);
        }
        return out.value(&document);
    }
    let judged = if counts.is_some() { "" } else { ", judged by the sample" };
    let title = |title: &str| format!("{title}{judged}");
    out.text(columns(&estimate.rows(mapping, prices, counts.is_some())));
    out.text(titled(
        &(title("attributes that the retrofit changes") + "; it changes no others:"),
        &estimate.diff.table(mapping),
    ));
    if let Some(tried) = &estimate.there_and_back {
        let back = "items that would not come back as they were, if the target's writers change them:";
        out.text(titled(back, &tried.table(mapping)));
        let untried: Vec<&str> = tried.untried().collect();
        if !untried.is_empty() {
            out.text(format!(
                "the way back was not tried for these entities, because no item of them was read: {}\n",
                untried.join(", ")
            ));
        }
    }
    out.text(titled(&(title("items that do not fit") + ":"), &estimate.misfits.table()));
    Ok(())
}
