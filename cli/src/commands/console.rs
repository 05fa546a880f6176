//! `keyfold console`: the console on this machine, for any DynamoDB, until ctrl-C.

use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::model::Table;
use keyfold_dynamo::{DynamoError, table_id};
use keyfold_local::{ConsoleOptions, ConsoleServer};
use serde_json::json;

use crate::globals::Globals;
use crate::made_manifest::{MadeManifest, is_needed};
use crate::manifest_file::model;
use crate::output::Output;
use crate::refusal::Refusal;
use crate::support::block_on;

pub(super) fn run(globals: &Globals, port: u16, out: &Output) -> anyhow::Result<ExitCode> {
    let made = if is_needed(&globals.manifest) { Some(make(globals, out)?) } else { None };
    let manifest = made.as_ref().map_or_else(|| globals.manifest.clone(), MadeManifest::path);
    // Shows every mistake in the manifest before anything starts.
    let model = model(&manifest, out)?;
    if let (None, Some(table)) = (&made, model.tables.first()) {
        block_on(reach(globals, table))?;
    }
    let options = ConsoleOptions {
        manifest,
        dynamo: globals.settings()?,
        control_table: globals.control.clone(),
        port,
    };
    block_on(async {
        let console = ConsoleServer::start(&options).await?;
        if out.json {
            out.value(&json!({ "console": console.url(), "dynamodb": console.endpoint() }))?;
        } else {
            out.text(format!("{}  the console of {}\n", console.url(), console.endpoint()));
            out.note("press ctrl-C to stop\n");
        }
        tokio::signal::ctrl_c().await.context("cannot wait for ctrl-C")?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Is DynamoDB reached? Without a region, credentials or the right endpoint, every page would be an error. A user may lack the right to
/// describe the table, and the table may not exist.
async fn reach(globals: &Globals, table: &Table) -> anyhow::Result<()> {
    match table_id(&globals.client().await?, table).await {
        Err(error @ DynamoError::Transport { .. }) => Err(Refusal::with_causes(error)),
        _ => Ok(()),
    }
}

/// A manifest of the tables that are there.
fn make(globals: &Globals, out: &Output) -> anyhow::Result<MadeManifest> {
    let mut made = MadeManifest::new()?;
    let found = block_on(async { made.refresh(&globals.client().await?, &globals.control, out).await })?;
    if !found {
        bail!("there is no manifest `{}`, and no table to make one from", globals.manifest.display());
    }
    out.note("there is no keyfold.toml: the console shows the tables that are there; `keyfold init` writes a manifest\n");
    Ok(made)
}
