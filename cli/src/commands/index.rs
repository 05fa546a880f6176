//! `keyfold index add`: adds the manifest's global indexes to a live table, one after the other.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::model::{Index, IndexKind, Model, Table};
use keyfold_dynamo::{AddIndexError, LiveIndexes, add_indexes, client, live_indexes};
use serde_json::{Value, json};

use super::tables::{is_of_stack, told};
use super::{explained, on_this_thread, settings};
use crate::args::{IndexAddArgs, IndexArgs, IndexCommand};
use crate::manifest_file::{model, table};
use crate::output::{INTERRUPTED, Output};
use crate::refusal::refuse;

pub(super) fn run(path: &Path, args: &IndexArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let IndexCommand::Add(args) = &args.command;
    let model = model(path, out)?;
    on_this_thread(add(&model, args, out))
}

async fn add(model: &Model, args: &IndexAddArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let table = table(model, &args.table)?;
    let wanted = wanted(table, args)?;
    let settings = settings(args.endpoint.as_deref())?;
    if is_of_stack(model, table, &settings) && !args.check {
        refuse!(
            "table-of-stack",
            "table `{0}` is made by a stack, because the manifest does not say `managed = false`; CloudFormation fails over an index that \
             it did not add itself\n\
             hint: deploy the indexes, see `keyfold template --stages`; if no stack makes table `{0}`, write `managed = false` for it",
            table.id
        );
    }
    let client = client(&settings).await;
    let before = live_indexes(&client, table, &wanted).await.map_err(failed)?;
    if args.check {
        return said(out, table, &before, &before, false);
    }
    let mut told = told(out);
    let after = tokio::select! {
        after = add_indexes(&client, table, &wanted, args.warm_throughput, &mut told) => after.map_err(failed)?,
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

fn failed(error: AddIndexError) -> anyhow::Error {
    let (code, hint) = (error.code(), error.hint());
    explained(error, code, hint)
}
