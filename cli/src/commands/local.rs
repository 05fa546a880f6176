//! `keyfold local`: the whole stack on this machine, until ctrl-C.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use keyfold_core::model::Model;
use keyfold_local::{AUDIT_TABLE, AllowedHosts, Stack, StackOptions};
use serde_json::json;

use crate::args::LocalArgs;
use crate::manifest_file::model;
use crate::output::{Output, columns};

/// How often items whose time is over are deleted.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

pub(super) fn run(manifest: &Path, args: &LocalArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(manifest, out)?;
    let options = StackOptions {
        manifest: manifest.to_owned(),
        data: args.data.clone(),
        port: args.port,
        api_port: args.api_port,
        functions: args.functions.clone(),
        hosts: AllowedHosts::with(&args.allow_host),
        sweep_every: SWEEP_EVERY,
    };
    // One thread is enough: the database and the functions have their own threads or processes.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let stack = Stack::start(&model, &options).await?;
        announce(&model, &stack, out)?;
        tokio::signal::ctrl_c().await.context("cannot wait for ctrl-C")?;
        stack.shutdown();
        Ok(ExitCode::SUCCESS)
    })
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
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("DynamoDB", stack.dynamo().endpoint().to_owned()),
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
        out.note(format!(
            "table `{0}` lacks index `{1}` of the manifest, and questions that need it fail; this adds it:\n  \
             keyfold tables apply {0} --endpoint {2}\n",
            missing.table,
            missing.index,
            stack.dynamo().endpoint()
        ));
    }
    out.note("press ctrl-C to stop\n");
    Ok(())
}
