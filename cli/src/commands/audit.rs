//! `keyfold audit`: anchors of the audit trail's journal, and the trail held against them.

mod anchor;
mod verify;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::model::Model;
use keyfold_dynamo::{Client, client};

use super::settings;
use crate::args::{AuditCommand, TrailArgs};
use crate::manifest_file::model;
use crate::output::Output;

pub(super) fn run(path: &Path, command: &AuditCommand, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match command {
            AuditCommand::Anchor(args) => anchor::run(&model, args, out).await,
            AuditCommand::Verify(args) => verify::run(&model, args, out).await,
        }
    })
}

/// The name of the journal's table, and how it is reached.
async fn journal<'a>(model: &'a Model, args: &'a TrailArgs) -> anyhow::Result<(&'a str, Client)> {
    let declared = model.deploy.audit_journal.as_deref();
    let name = args.journal.as_deref().or(declared).context(
        "the manifest declares no journal: set `audit-journal` under [deploy], or give its table with --journal",
    )?;
    Ok((name, client(&settings(args.endpoint.as_deref())?).await))
}
