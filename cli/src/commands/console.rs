//! `keyfold console`: the console on this machine, for any DynamoDB, until ctrl-C.

use std::process::ExitCode;

use anyhow::Context;
use keyfold_local::{ConsoleOptions, ConsoleServer};
use serde_json::json;

use crate::globals::Globals;
use crate::manifest_file::model;
use crate::output::Output;
use crate::support::block_on;

pub(super) fn run(globals: &Globals, port: u16, out: &Output) -> anyhow::Result<ExitCode> {
    // Shows every mistake in the manifest before anything starts.
    model(&globals.manifest, out)?;
    let options = ConsoleOptions {
        manifest: globals.manifest.clone(),
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
