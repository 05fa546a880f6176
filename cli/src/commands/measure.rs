//! `keyfold measure`: reads a sample of a table and its indexes, and writes `expect` into the manifest.

use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_advise::with_expect;
use keyfold_core::measure::{Sample, value_counts};
use keyfold_core::model::{Expect, Table};
use keyfold_core::value::Item;
use keyfold_dynamo::{Client, PageRequest, ScanPage, scan_page, table_description};
use serde_json::{Value, json};

use crate::globals::Globals;
use crate::manifest_file::{self, manifest_text, model, table};
use crate::output::{Output, columns};
use crate::support::block_on;

#[derive(Debug, clap::Args)]
pub(crate) struct MeasureArgs {
    /// The table's name in the manifest or in DynamoDB.
    table: String,
    /// Read about this many read units: half of them from the table, half from its indexes. The last page of each can
    /// exceed its part.
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u32).range(50..=100_000))]
    read_units: u32,
    /// Only print the figures.
    #[arg(long)]
    dry_run: bool,
}

/// Neighbouring items of a table or an index.
struct Scanned {
    items: Vec<Item>,
    units: f64,
    /// Was everything read?
    is_whole: bool,
}

pub(super) fn run(globals: &Globals, args: &MeasureArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let declared = table(&model, &args.table)?;
    let (measured, units) = block_on(async {
        let client = globals.client().await?;
        measure(&client, declared, f64::from(args.read_units)).await
    })?;
    if measured.expect.items.is_none() {
        bail!("table `{}` has no items to measure", declared.id);
    }
    if !args.dry_run {
        let text = manifest_text(&globals.manifest)?;
        // The manifest has its own name of the table, whatever `KEYFOLD_TABLES` says.
        let named = manifest_file::declared(&globals.manifest, out)?;
        let name = named.tables.iter().find(|table| table.id == declared.id).map(|table| table.name.clone());
        let measured = Table { name: name.unwrap_or_else(|| declared.name.clone()), ..measured.clone() };
        let text = with_expect(&text, &measured).with_context(|| {
            format!(
                "`expect` of table `{}` has a form that this command cannot edit\nhint: `--dry-run` prints the figures",
                declared.id
            )
        })?;
        manifest_file::replace(&globals.manifest, &text)?;
    }
    show(&measured, units, !args.dry_run, out)?;
    Ok(ExitCode::SUCCESS)
}

/// The table with the measured figures, and the read units that they cost.
async fn measure(client: &Client, declared: &Table, units_max: f64) -> anyhow::Result<(Table, f64)> {
    let described = table_description(client, &declared.name).await?;
    let scanned = scan(client, declared, None, units_max / 2.0).await?;
    let counted = described.table["Table"]["ItemCount"].as_u64().unwrap_or(0);
    let sampled = scanned.items.len() as u64;
    let items = if scanned.is_whole { sampled } else { counted.max(sampled) };
    let share = |part: u64| part.saturating_mul(items).div_ceil(sampled.max(1));
    let mut measured = declared.clone();
    let partition = std::slice::from_ref(&declared.partition);
    let values = value_counts(declared, &scanned.items);
    let expect = Sample::of(partition, &scanned.items).expect(items);
    set(&mut measured.expect, Expect { values, ..expect });
    for (number, entity) in measured.entities.iter_mut().enumerate() {
        let is_of = |item: &&Item| declared.entity_of(item).ok().flatten().is_some_and(|id| id.0 == number);
        let sample = Sample::of(partition, scanned.items.iter().filter(is_of));
        let expect = sample.expect(share(sample.items()));
        set(&mut entity.expect, Expect { items_per_partition: None, ..expect });
    }
    let mut units = scanned.units;
    let each = units_max / 2.0 / declared.indexes.len().max(1) as f64;
    for index in &mut measured.indexes {
        let entries = scan(client, declared, Some(&index.name), each).await?;
        let has_entry = |item: &&Item| index.entry_bytes(declared, item).is_some();
        let items = share(scanned.items.iter().filter(has_entry).count() as u64);
        let expect = Sample::of(&index.partition, &entries.items).expect(items);
        set(&mut index.expect, expect);
        units += entries.units;
    }
    Ok((measured, units))
}

/// The new figures; the rate of writes cannot be measured and stays.
fn set(expect: &mut Expect, measured: Expect) {
    *expect = Expect { writes: expect.writes, ..measured };
}

async fn scan(
    client: &Client,
    table: &Table,
    index: Option<&str>,
    units_max: f64,
) -> anyhow::Result<Scanned> {
    let mut scanned = Scanned { items: Vec::new(), units: 0.0, is_whole: false };
    let mut start_key = None;
    while scanned.units < units_max {
        let page = PageRequest {
            table: table.name.clone(),
            index: index.map(str::to_owned),
            start_key,
            ..PageRequest::default()
        };
        let page = scan_page(client, &ScanPage { page, segment: None }).await?;
        scanned.units += page.consumed.units;
        scanned.items.extend(page.items);
        start_key = page.last_key;
        if start_key.is_none() {
            scanned.is_whole = true;
            break;
        }
    }
    Ok(scanned)
}

fn show(measured: &Table, units: f64, is_written: bool, out: &Output) -> anyhow::Result<()> {
    let entities = measured.entities.iter().map(|entity| ("entity", &entity.name, &entity.expect));
    let indexes = measured.indexes.iter().map(|index| ("index", &index.name, &index.expect));
    let all: Vec<_> =
        std::iter::once(("table", &measured.id, &measured.expect)).chain(entities).chain(indexes).collect();
    let value = |(what, name, expect): &(&str, &String, &Expect)| {
        json!({
            "what": what, "name": name, "items": expect.items, "itemBytes": expect.item_bytes,
            "itemsPerPartition": expect.items_per_partition, "values": expect.values,
        })
    };
    let figures: Vec<Value> = all.iter().map(value).collect();
    let mut rows = vec![["", "items", "bytes each", "in a partition"].map(str::to_owned).to_vec()];
    for (what, name, expect) in &all {
        let figures = [expect.items, expect.item_bytes, expect.items_per_partition];
        let figures = figures.map(|figure| figure.map_or("-".to_owned(), |figure| figure.to_string()));
        rows.push([vec![format!("{what} {name}")], figures.to_vec()].concat());
    }
    let written = if is_written { "written as `expect` into the manifest" } else { "nothing was written" };
    let text = format!("{}{units} read units; {written}\n", columns(&rows));
    out.show(&json!({ "figures": figures, "readUnits": units, "written": is_written }), text)
}
