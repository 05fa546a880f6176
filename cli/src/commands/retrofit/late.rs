//! `keyfold retrofit late`: the changes that came to a table after its writers should have stopped, and that the open table lacks. The
//! operator writes each to the open table, or forgets it.

use std::process::ExitCode;

use keyfold_core::retrofit::late::LateChange;
use serde_json::{Value, json};

use super::env::{Env, RetrofitName, explained};
use crate::output::columns;
use crate::refusal::refuse;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitLateArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    /// Print the items before and after, as JSON.
    #[arg(long)]
    pub(crate) images: bool,
    /// Forget the change with this name: it was dealt with.
    #[arg(long, value_name = "NAME")]
    pub(crate) forget: Option<String>,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitLateArgs) -> anyhow::Result<ExitCode> {
    let out = env.out;
    let (sender, head) = env.started(&args.retrofit).await?;
    let changes = sender.late().await.map_err(explained)?;
    if let Some(name) = &args.forget {
        let Some(change) = changes.iter().find(|change| change.name() == name) else {
            refuse!("unknown-late-change", "retrofit `{}` has no late change with this name", head.retrofit);
        };
        sender.forget_late(change).await.map_err(explained)?;
        out.text(format!("forgotten; {} late changes are left\n", changes.len() - 1));
        return Ok(ExitCode::SUCCESS);
    }
    if out.json || args.images {
        let changes: Vec<Value> = changes.iter().map(|change| as_json(change, args.images)).collect();
        out.value(&json!({ "retrofit": head.retrofit, "late": changes }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if changes.is_empty() {
        out.text("nothing came late\n");
    }
    let rows: Vec<Vec<String>> = changes
        .iter()
        .map(|change| {
            let key = serde_json::to_string(&change.key).unwrap_or_default();
            vec![change.table.clone(), change.what().to_owned(), key, change.name().to_owned()]
        })
        .collect();
    out.text(columns(&rows));
    Ok(ExitCode::SUCCESS)
}

/// The contents of items are shown only with `--images`.
fn as_json(change: &LateChange, images: bool) -> Value {
    let mut value = json!({
        "name": change.name(), "table": change.table, "key": change.key, "what": change.what(),
    });
    if images {
        value["old"] = json!(change.old);
        value["new"] = json!(change.new);
    }
    value
}
