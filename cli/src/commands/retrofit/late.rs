//! `keyfold retrofit late`: the changes that came to a table after its writers should have stopped, and that the open table does not
//! say. Somebody decides what becomes of each: write it to the open table, or let it go.

use std::process::ExitCode;

use keyfold_core::model::Model;
use keyfold_core::retrofit::late::LateChange;
use serde_json::{Value, json};

use super::{explained, started};
use crate::args::RetrofitLateArgs;
use crate::output::{Output, columns};
use crate::refusal::refuse;

pub(super) async fn run(model: &Model, args: &RetrofitLateArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let (sender, head) = started(model, &args.target).await?;
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
        let changes: Vec<Value> = changes.iter().map(|change| shown(change, args.images)).collect();
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

/// What an item holds is shown only to somebody who asks for it.
fn shown(change: &LateChange, images: bool) -> Value {
    let mut shown = json!({
        "name": change.name(), "table": change.table, "key": change.key, "what": change.what(),
    });
    if images {
        shown["old"] = json!(change.old);
        shown["new"] = json!(change.new);
    }
    shown
}
