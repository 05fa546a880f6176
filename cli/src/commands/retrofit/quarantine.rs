//! `keyfold retrofit quarantine`: lists the items that could not be carried over, and removes entries that name no item.

use std::process::ExitCode;

use anyhow::bail;
use keyfold_core::model::Model;
use keyfold_core::retrofit::Quarantined;
use keyfold_dynamo::retrofit::RequestSender;
use serde_json::{Value, json};

use super::{explained, started};
use crate::args::RetrofitQuarantineArgs;
use crate::output::{Output, columns};

pub(super) async fn run(
    model: &Model,
    args: &RetrofitQuarantineArgs,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    let (sender, head) = started(model, &args.target).await?;
    let entries = sender.quarantine().await.map_err(explained)?;
    let dismissed = if args.dismiss { dismiss(&sender, &head.retrofit, &entries).await? } else { 0 };
    let left: Vec<&Quarantined> =
        entries.iter().filter(|entry| !args.dismiss || entry.key.is_some()).collect();
    if out.json {
        let entries: Vec<Value> = left.iter().map(|entry| shown(entry)).collect();
        out.value(&json!({ "retrofit": head.retrofit, "entries": entries, "dismissed": dismissed }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.dismiss {
        out.text(format!("removed {dismissed} entries that name no item\n"));
    }
    if left.is_empty() {
        out.text("the quarantine is empty\n");
    }
    let rows: Vec<Vec<String>> = left.iter().map(|entry| vec![entry.code.clone(), named(entry)]).collect();
    out.text(columns(&rows));
    Ok(ExitCode::SUCCESS)
}

/// Removes the entries that name no item. Such an entry stands for a record that could not be read: an item may be missing.
/// Only a complete comparison without differences shows that none is.
async fn dismiss(sender: &RequestSender, retrofit: &str, entries: &[Quarantined]) -> anyhow::Result<usize> {
    let nameless: Vec<&Quarantined> = entries.iter().filter(|entry| entry.key.is_none()).collect();
    if nameless.is_empty() {
        return Ok(0);
    }
    // Entering such a record voids the comparisons that were begun before.
    let verdict = sender.verdict().await.map_err(explained)?;
    if verdict.is_none_or(|verdict| verdict.differences > 0) {
        bail!(
            "retrofit `{retrofit}` has a quarantine entry that names no item: only a comparison can show whether an item is missing\n\
             hint: run `keyfold retrofit verify {retrofit}` first; it must find no difference"
        );
    }
    for entry in &nameless {
        sender.carry(&mut sender.job().dismiss(entry)).await?;
    }
    Ok(nameless.len())
}

fn shown(entry: &Quarantined) -> Value {
    json!({ "code": entry.code, "row": entry.row, "key": entry.key })
}

fn named(entry: &Quarantined) -> String {
    match &entry.key {
        Some(key) => serde_json::to_string(key).unwrap_or_default(),
        None => format!("{} (names no item)", entry.row),
    }
}
