//! What a retrofit does and costs, before it is begun: a sample of the source goes through the same code.

use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::model::Model;

use super::{explained, unstarted};
use crate::args::RetrofitPlanArgs;
use crate::output::{Output, columns};

pub(super) async fn run(model: &Model, args: &RetrofitPlanArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let carrier = unstarted(model, &args.target).await?;
    let mapping = carrier.job().mapping();
    let estimate = carrier.estimate(args.items, args.sample).await.map_err(explained)?;
    let estimate =
        estimate.context("the source shows no items to judge by; give --items 0 if it is empty")?;
    let dollars = estimate.dollars(&model.prices);
    if out.json {
        out.value(&estimate.document(mapping, &model.prices))?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    out.text(columns(&[
        row("protocol", format!("{}: {}", mapping.protocol().name(), mapping.reason())),
        row("items", format!("{} (judged by {})", estimate.items, estimate.sampled)),
        row("written", estimate.items_written.to_string()),
        row("refused", format!("{} (they would go into quarantine)", estimate.items_refused)),
        row("read units", format!("{} ({})", estimate.scan_read.as_f64(), dollars.reads)),
        row("write units", format!("{} ({})", estimate.write_units().get(), dollars.writes)),
        row("storage", format!("{} bytes more ({} a month)", estimate.storage_bytes, dollars.storage_month)),
    ]));
    Ok(ExitCode::SUCCESS)
}
