//! `keyfold retrofit plan`: the effect and the price of a retrofit. A sample of the source goes through the same code as the retrofit;
//! with `--full`, the whole source does.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::cost::Prices;
use keyfold_core::retrofit::RetrofitEstimate;
use keyfold_dynamo::retrofit::{PassOptions, RequestSender, rate};
use serde_json::json;

use super::env::{Env, RetrofitName};
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
    /// With --full: read units per second [default: starts at 1000 and grows while nothing is throttled; no limit
    /// at an endpoint on this machine].
    #[arg(long, value_name = "UNITS", requires = "full")]
    pub(crate) rate: Option<f64>,
    /// With --full: the number of segments of the scan, which are read at the same time.
    #[arg(long, default_value_t = 4, value_name = "N", requires = "full", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) segments: u32,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitPlanArgs) -> anyhow::Result<ExitCode> {
    let (out, prices) = (env.out, &env.model.prices);
    let sender = env.unstarted(&args.retrofit).await?;
    if !args.full {
        let estimate = sender.estimate(args.items, args.sample).await?;
        let estimate =
            estimate.context("the source has no items to sample; if it is empty, give --items 0")?;
        show(prices, &sender, &estimate, None, out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (sender, progress) =
        (sender.paced(args.rate.or(rate(&env.globals.settings()?.endpoint))), Progress::new(out, 0));
    let (segments, at_once) = (Some(args.segments), args.segments);
    let passes = PassOptions { segments, at_once, stop: stop_flag(out), ..PassOptions::of(None) };
    let Some((estimate, counts)) = progress.during(sender.survey(&passes, &progress)).await? else {
        out.note(
            "interrupted: nothing was written; run the same command again, it starts from the beginning\n",
        );
        return Ok(ExitCode::from(INTERRUPTED));
    };
    show(prices, &sender, &estimate, Some(&counts), out)?;
    if !sender.target_is_empty().await? {
        out.note("the target holds items already: this plan does not know what a backfill meets there\n");
    }
    Ok(ExitCode::SUCCESS)
}

/// `counts` has the outcomes of all items, if all were read: by the names of a backfill's counts.
fn show(
    prices: &Prices,
    sender: &RequestSender,
    estimate: &RetrofitEstimate,
    counts: Option<&BTreeMap<String, u64>>,
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
