//! `cost`: what a retrofit of the manifest costs at several sizes, judged by sample items, without a DynamoDB.
//!
//! The figures of docs/operations.md come from here. `keyfold retrofit plan` does the same by items of a live table.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use keyfold_core::cost::{Prices, ReadUnits};
use keyfold_core::index::item_bytes;
use keyfold_core::manifest;
use keyfold_core::retrofit::RetrofitEstimate;
use keyfold_core::retrofit::{Mapping, Protocol};
use keyfold_core::value::Item;

/// Computes what a retrofit costs.
#[derive(Debug, Parser)]
#[command(name = "cost")]
struct Arguments {
    /// The manifest.
    #[arg(long, value_name = "FILE", default_value = "keyfold.toml")]
    manifest: PathBuf,
    /// The retrofit.
    #[arg(long, value_name = "NAME", default_value = "auditV2")]
    retrofit: String,
    /// Items of the source, one JSON object on each line.
    #[arg(long, value_name = "FILE", default_value = "examples/audit/items.jsonl")]
    items: PathBuf,
    /// The region whose prices count.
    #[arg(long, value_name = "REGION", default_value = "us-east-1")]
    region: String,
}

/// Reads of a strongly consistent get: 4 KB each.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>
const READ_BYTES: u64 = 4096;
const GB: u64 = 1_000_000_000;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's own output")]
fn main() -> ExitCode {
    match report(&Arguments::parse()) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn report(arguments: &Arguments) -> anyhow::Result<String> {
    let name = arguments.manifest.display().to_string();
    let text =
        std::fs::read_to_string(&arguments.manifest).with_context(|| format!("cannot read `{name}`"))?;
    let model = manifest::parse(&name, &text).model.with_context(|| format!("`{name}` has mistakes"))?;
    let mapping = Mapping::of(&model, &arguments.retrofit)?;
    let prices = Prices::of_region(&arguments.region).context("no prices are known for the region")?;
    let sample = sample(&arguments.items)?;
    let bytes = sample.iter().map(item_bytes).sum::<u64>() / sample.len().max(1) as u64;
    let mut lines = vec![
        format!(
            "retrofit {}, {}, items of {bytes} bytes, prices of {} as of {}",
            mapping.name(),
            mapping.protocol().name(),
            prices.region,
            prices.as_of
        ),
        String::new(),
        "| size | items | read units | reads | write units | writes | comparison | storage, a month |"
            .to_owned(),
        "|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    for (size, items) in
        [("1 GB", GB / bytes), ("1 TB", 1000 * GB / bytes), ("1 billion items", 1_000_000_000)]
    {
        lines.push(row(size, items, bytes, &mapping, &prices, &sample)?);
    }
    Ok(lines.join("\n"))
}

fn sample(path: &Path) -> anyhow::Result<Vec<Item>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let item = |line: &str| Ok(serde_dynamo::to_item(serde_json::from_str::<serde_json::Value>(line)?)?);
    text.lines().filter(|line| !line.trim().is_empty()).map(item).collect()
}

fn row(
    size: &str,
    items: u64,
    bytes: u64,
    mapping: &Mapping,
    prices: &Prices,
    sample: &[Item],
) -> anyhow::Result<String> {
    let (in_place, moves) = (mapping.protocol() == Protocol::InPlace, mapping.protocol() == Protocol::Ledger);
    let estimate = RetrofitEstimate::of(mapping.source(), mapping.target(), in_place, moves, items, sample)
        .context("there are no sample items")?;
    let dollars = estimate.dollars(prices);
    // Each side is scanned, and each of its items is looked up on the other; in place there is one side, and no look-up.
    let sides = if in_place { 1 } else { 2 };
    let scans = estimate.scan_read.as_f64() * f64::from(sides);
    let looked_up = if in_place { 0 } else { 2 * items * bytes.div_ceil(READ_BYTES) };
    let compared = prices.dollars_for_reads(ReadUnits::from_halves(2 * (halves(scans) + looked_up)));
    Ok(format!(
        "| {size} | {items} | {} | {} | {} | {} | {compared} | {} |",
        estimate.scan_read.as_f64(),
        dollars.reads,
        estimate.write_units().get(),
        dollars.writes,
        dollars.storage_month
    ))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate, never negative")]
fn halves(units: f64) -> u64 {
    units.ceil() as u64
}
