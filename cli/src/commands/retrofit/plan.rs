//! `keyfold retrofit plan`: what a retrofit will do and cost. A sample of the source goes through the same code as the retrofit.

use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::model::Model;

use super::{explained, misfits, unstarted};
use crate::args::RetrofitPlanArgs;
use crate::output::{Output, columns};

pub(super) async fn run(model: &Model, args: &RetrofitPlanArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let sender = unstarted(model, &args.target).await?;
    let mapping = sender.job().mapping();
    let estimate = sender.estimate(args.items, args.sample).await.map_err(explained)?;
    let estimate = estimate.context("the source has no items to sample; if it is empty, give --items 0")?;
    let dollars = estimate.dollars(&model.prices);
    if out.json {
        out.value(&estimate.document(mapping, &model.prices))?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("protocol", format!("{}: {}", mapping.protocol().name(), mapping.reason())),
        row("items", format!("{} (estimated from a sample of {})", estimate.items, estimate.sampled)),
        row("written", estimate.items_written.to_string()),
        row("refused", format!("{} (they would go into quarantine)", estimate.items_refused)),
        row("read units", format!("{} ({})", estimate.scan_read.as_f64(), dollars.reads)),
        row("write units", format!("{} ({})", estimate.write_units().get(), dollars.writes)),
        row("storage", format!("{} more bytes ({} a month)", estimate.storage_bytes, dollars.storage_month)),
    ];
    rows.extend(estimate.mended.iter().map(|((attribute, remedy), items)| {
        row("does not fit", format!("`{attribute}` on {items} items: {}", said(remedy)))
    }));
    rows.extend(estimate.live_changes.iter().map(|(change, items)| {
        row("live attribute", format!("{change} on {items} items; `abandon` takes nothing back"))
    }));
    out.text(columns(&rows));
    out.text(misfits::table("items that do not fit, judged by the sample:", &estimate.misfits));
    Ok(ExitCode::SUCCESS)
}

/// What a remedy does, by its word in the manifest.
fn said(remedy: &str) -> String {
    match remedy {
        "absent" => "its keys are made as if it were absent".to_owned(),
        remedy => format!("it is changed by `{remedy}`"),
    }
}
