//! `keyfold local`: the whole stack on this machine, until ctrl-C. It goes on with a changed manifest.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use keyfold_core::model::Model;
use keyfold_dynamo::Client;
use keyfold_dynamo::retrofit::CONTROL_TABLE_DEFAULT;
use keyfold_local::{AUDIT_TABLE, AllowedHosts, EmbeddedDynamo, MissingIndex, Stack, StackOptions};
use serde_json::json;

use crate::globals::Globals;
use crate::made_manifest::{MadeManifest, is_needed};
use crate::manifest_file::model;
use crate::output::{Output, columns, row};
use crate::support::block_on;

/// How often expired items are deleted.
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// How often the manifest is read again.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(crate) struct LocalArgs {
    /// The folder for the data [default: in memory].
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The port of DynamoDB; 0 for any free port.
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    pub(crate) port: u16,
    /// The port of the query API, the audit writer and the console; 0 for any free port.
    #[arg(long, default_value_t = 3000, value_name = "PORT")]
    pub(crate) api_port: u16,
    /// The folder with the functions' binaries, to run them as Lambda does [default: run them in this process].
    #[arg(long, value_name = "DIR")]
    pub(crate) functions: Option<PathBuf>,
    /// Another name that requests may use for this machine, besides 127.0.0.1, localhost and `[::1]`; you can give several.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
}

pub(super) fn run(globals: &Globals, args: &LocalArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let mut made = if is_needed(&globals.manifest) { Some(MadeManifest::new()?) } else { None };
    let manifest = made.as_ref().map_or_else(|| globals.manifest.clone(), MadeManifest::path);
    // Before it is parsed: a change while everything starts is a change.
    let mut known = std::fs::read(&manifest).ok();
    if made.is_none() {
        // Shows every mistake in the manifest before anything starts.
        model(&manifest, out)?;
    }
    let options = StackOptions {
        manifest: manifest.clone(),
        data: args.data.clone(),
        port: args.port,
        api_port: args.api_port,
        functions: args.functions.clone(),
        hosts: AllowedHosts::with(&args.allow_host),
        sweep_every: SWEEP_EVERY,
    };
    // The database and the functions have their own threads or processes.
    block_on(async {
        let dynamo = Stack::database(&options)?;
        if let Some(made) = &mut made {
            if !first_table(made, &dynamo, out).await? {
                return Ok(ExitCode::SUCCESS);
            }
            known = std::fs::read(&manifest).ok();
        }
        let model = model(&manifest, out)?;
        let client = dynamo.client();
        let mut stack = Stack::over(dynamo, &model, &options).await?;
        announce(&model, &stack, out)?;
        tokio::select! {
            ended = tokio::signal::ctrl_c() => ended.context("cannot wait for ctrl-C")?,
            () = follow_manifest(&manifest, known, &mut stack, out) => {}
            () = follow_tables(made.as_mut(), &client, out) => {}
        }
        stack.shutdown();
        Ok(ExitCode::SUCCESS)
    })
}

/// Waits for the first table, without a manifest; false after ctrl-C.
async fn first_table(made: &mut MadeManifest, dynamo: &EmbeddedDynamo, out: &Output) -> anyhow::Result<bool> {
    let client = dynamo.client();
    if made.refresh(&client, CONTROL_TABLE_DEFAULT, out).await? {
        return Ok(true);
    }
    match out.json {
        true => out.value(&json!({ "dynamodb": dynamo.endpoint(), "tables": [] }))?,
        false => out.text(columns(&[row("DynamoDB", dynamo.endpoint())])),
    }
    out.note("there is no keyfold.toml and no table: query API and console start with the first table\n");
    loop {
        tokio::select! {
            ended = tokio::signal::ctrl_c() => {
                ended.context("cannot wait for ctrl-C")?;
                return Ok(false);
            }
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
        if made.refresh(&client, CONTROL_TABLE_DEFAULT, out).await? {
            return Ok(true);
        }
    }
}

/// Makes the manifest again when there are other tables. Does not end, and does nothing with a manifest of the user's.
async fn follow_tables(made: Option<&mut MadeManifest>, client: &Client, out: &Output) {
    let Some(made) = made else { return std::future::pending().await };
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        if let Err(error) = made.refresh(client, CONTROL_TABLE_DEFAULT, out).await {
            out.note(format!("the tables cannot be described: {error:#}\n"));
        }
    }
}

/// Goes on with each new text of the manifest, so that a new table or a new retrofit needs no restart. A text with mistakes changes
/// nothing.
async fn follow_manifest(manifest: &Path, mut known: Option<Vec<u8>>, stack: &mut Stack, out: &Output) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        // An editor may just be replacing the file.
        let Ok(text) = std::fs::read(manifest) else { continue };
        if known.as_ref() == Some(&text) {
            continue;
        }
        known = Some(text);
        let name = manifest.display();
        let reloaded = match model(manifest, out) {
            Ok(model) => stack.reload(&model).await.map_err(anyhow::Error::from),
            Err(error) => Err(error),
        };
        match reloaded {
            Ok(()) => out
                .note(format!("`{name}` has changed: its tables, questions and retrofits are in use now\n")),
            Err(error) => {
                out.note(format!("`{name}` has changed, and the former one stays in use: {error:#}\n"));
            }
        }
        for missing in stack.missing() {
            note_missing(missing, stack, out);
        }
    }
}

fn announce(model: &Model, stack: &Stack, out: &Output) -> anyhow::Result<()> {
    let tables: Vec<&str> = model.tables.iter().map(|table| table.name.as_str()).collect();
    if out.json {
        let missing: Vec<_> = stack
            .missing()
            .iter()
            .map(|missing| json!({ "table": missing.table, "index": missing.index }))
            .collect();
        return out.value(&json!({
            "dynamodb": stack.dynamo().endpoint(), "api": stack.api(), "tables": tables, "missingIndexes": missing,
        }));
    }
    let mut rows = vec![
        row("DynamoDB", stack.dynamo().endpoint()),
        row(
            "query API",
            format!(
                "{}/query, /explain, {}/tables/TABLE/questions/QUESTION, /openapi.json",
                stack.api(),
                if model.deploy.query_api_writes.is_empty() { "" } else { "/put, /update, /delete, " }
            ),
        ),
    ];
    if model.table(AUDIT_TABLE).is_some() {
        rows.push(row("audit writer", format!("POST {}/audit", stack.api())));
    }
    rows.push(row("console", format!("{}/", stack.api())));
    rows.push(row("tables", tables.join(", ")));
    out.text(columns(&rows));
    for missing in stack.missing() {
        note_missing(missing, stack, out);
    }
    out.note("press ctrl-C to stop\n");
    Ok(())
}

fn note_missing(missing: &MissingIndex, stack: &Stack, out: &Output) {
    out.note(format!(
        "table `{0}` lacks index `{1}` of the manifest, and questions that need it fail; this adds it:\n  \
         keyfold tables apply {0} --endpoint {2}\n",
        missing.table,
        missing.index,
        stack.dynamo().endpoint()
    ));
}
