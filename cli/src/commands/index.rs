//! `keyfold index add`: adds the manifest's global indexes to a live table, one after the other.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use keyfold_core::model::{Index, IndexKind, Model, Table};
use keyfold_dynamo::{
    AddIndexError, Client, Endpoint, LiveIndexes, WarmThroughput, add_indexes, client, live_indexes,
};
use serde_json::{Value, json};

use super::settings;
use crate::args::{IndexAddArgs, IndexArgs, IndexCommand};
use crate::manifest_file::{model, table};
use crate::output::{INTERRUPTED, Output};

/// How often a line is printed that says the same as the one before.
const LINE_PERIOD: Duration = Duration::from_secs(60);

pub(super) fn run(path: &Path, args: &IndexArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let IndexCommand::Add(args) = &args.command;
    let model = model(path, out)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(add(&model, args, out))
}

async fn add(model: &Model, args: &IndexAddArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let table = table(model, &args.table)?;
    let wanted = wanted(table, args)?;
    let settings = settings(args.endpoint.as_deref())?;
    // Where CloudFormation makes the table, it does not know of an index that it did not make, and its next update fails.
    // <https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/881>
    let elsewhere =
        matches!(settings.endpoint, Endpoint::Plain(_)) || model.deploy.existing.contains(&table.id);
    if !elsewhere && !args.check {
        bail!(
            "table `{0}` is made by a stack, because the manifest does not say `managed = false`; CloudFormation fails over an index that \
             it did not add itself\n\
             hint: deploy the indexes, see `keyfold template --stages`; if no stack makes table `{0}`, write `managed = false` for it",
            table.id
        );
    }
    let client = client(&settings).await;
    let before = live_indexes(&client, table, &wanted).await.map_err(explained)?;
    if args.check {
        return said(out, table, &before, &before, false);
    }
    let after = tokio::select! {
        after = following(&client, table, &wanted, args.warm_throughput, out) => after?,
        _ = tokio::signal::ctrl_c() => {
            out.note("\nstopped: DynamoDB goes on with the index that it is at; run the same command again for the rest\n");
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };
    said(out, table, &before, &after, true)
}

/// The indexes that were named, or all global ones.
fn wanted<'t>(table: &'t Table, args: &IndexAddArgs) -> anyhow::Result<Vec<&'t Index>> {
    if args.all {
        return Ok(table.indexes.iter().collect());
    }
    let named = |name: &String| {
        table.index(name).with_context(|| {
            let global = table.indexes.iter().filter(|index| index.kind == IndexKind::Global);
            let known: Vec<&str> = global.map(|index| &*index.name).collect();
            format!(
                "table `{}` has no index `{name}` in the manifest; its global indexes are: {}",
                table.id,
                known.join(", ")
            )
        })
    };
    args.indexes.iter().map(named).collect()
}

/// Adds the indexes, and shows how far they are: at each change, and now and then.
async fn following(
    client: &Client,
    table: &Table,
    wanted: &[&Index],
    warm: Option<WarmThroughput>,
    out: &Output,
) -> anyhow::Result<LiveIndexes> {
    let begun = Instant::now();
    let mut last: Option<(String, Instant)> = None;
    let mut told = |live: &LiveIndexes| {
        let line = live.to_string();
        if last.as_ref().is_some_and(|(said, at)| *said == line && at.elapsed() < LINE_PERIOD) {
            return;
        }
        out.note(format!("{} s: {line}\n", begun.elapsed().as_secs()));
        last = Some((line, Instant::now()));
    };
    add_indexes(client, table, wanted, warm, &mut told).await.map_err(explained)
}

fn said(
    out: &Output,
    table: &Table,
    before: &LiveIndexes,
    after: &LiveIndexes,
    done: bool,
) -> anyhow::Result<ExitCode> {
    let missing: Vec<&str> = before.missing().collect();
    if out.json {
        let one =
            |index: &keyfold_dynamo::LiveIndex| json!({ "index": index.name, "phase": index.phase.name() });
        let indexes: Vec<Value> = after.indexes.iter().map(one).collect();
        let word = if done { "added" } else { "missing" };
        let mut value = json!({ "table": table.name, "indexes": indexes });
        value[word] = json!(missing);
        out.value(&value)?;
        return Ok(ExitCode::SUCCESS);
    }
    let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
    out.text(match (missing.is_empty(), done) {
        (true, true) => format!("table `{}` has all of these indexes, and they are active\n", table.name),
        (true, false) => format!("nothing to add to table `{}`: {after}\n", table.name),
        (false, true) => format!("added to table `{}`: {}\n", table.name, names.join(", ")),
        (false, false) => {
            format!(
                "would add to table `{}`, in this order: {} (now: {after})\n",
                table.name,
                names.join(", ")
            )
        }
    });
    Ok(ExitCode::SUCCESS)
}

/// An error with its code and its hint.
fn explained(error: AddIndexError) -> anyhow::Error {
    let (code, hint) = (error.code(), error.hint());
    anyhow::Error::new(error).context(match hint {
        Some(hint) => format!("{code} (hint: {hint})"),
        None => code.to_owned(),
    })
}
