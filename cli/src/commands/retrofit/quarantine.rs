//! `keyfold retrofit quarantine`: lists the items that could not be carried over. `--dismiss` removes entries that a comparison has
//! answered: those that name no item, and those from before the last switch. `--accept` notes that items stay out.

mod accept;

use std::process::ExitCode;

use keyfold_core::retrofit::Quarantined;
use keyfold_core::retrofit::quarantine::{Acceptance, misfits};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use serde_json::{Value, json};

use self::accept::AcceptArgs;
use super::env::{Env, RetrofitName, explained};
use super::texts::misfit_table;
use crate::output::columns;
use crate::refusal::refuse;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitQuarantineArgs {
    #[command(flatten)]
    retrofit: RetrofitName,
    /// Remove the entries that name no item, and those from before the last switch. Needs a comparison without differences.
    #[arg(long, conflicts_with_all = ["accept", "reopen"])]
    dismiss: bool,
    #[command(flatten)]
    accept: AcceptArgs,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitQuarantineArgs) -> anyhow::Result<ExitCode> {
    let out = env.out;
    let (sender, head) = env.started(&args.retrofit).await?;
    if args.accept.is_given() {
        return accept::run(&sender, &head, &args.accept, out).await;
    }
    let entries = sender.quarantine().await.map_err(explained)?;
    let former = sender.other_quarantine().await.map_err(explained)?;
    let dismissed = match args.dismiss {
        true => dismiss(env, &args.retrofit, &sender, &head, &entries, &former).await?,
        false => 0,
    };
    let left: Vec<&Quarantined> =
        entries.iter().filter(|entry| !args.dismiss || entry.key.is_some()).collect();
    let former = if args.dismiss { Vec::new() } else { former };
    let misfits = misfits(left.iter().copied().chain(&former));
    if out.json {
        let entries: Vec<Value> = left.iter().copied().chain(&former).map(as_json).collect();
        out.value(&json!({ "retrofit": head.retrofit, "entries": entries, "dismissed": dismissed, "misfits": misfits.json() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.dismiss {
        out.text(format!(
            "removed {dismissed} entries that name no item, or are from before the writers moved\n"
        ));
    }
    if left.is_empty() && former.is_empty() {
        out.text("the quarantine is empty\n");
    }
    let rows: Vec<Vec<String>> = left.iter().map(|entry| line(entry)).collect();
    out.text(columns(&rows));
    out.text(misfit_table("by reason:", &misfits));
    if !former.is_empty() {
        out.text("from before the writers moved; `verify` compares these items, and `--dismiss` removes the entries after it:\n");
        let rows: Vec<Vec<String>> = former.iter().map(line).collect();
        out.text(columns(&rows));
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes the entries that name no item, and those of the other direction. Such an entry is a record that could not be read, or an
/// item that may still be wrong. Only a complete comparison without differences shows that every item is right.
async fn dismiss(
    env: &Env<'_>,
    name: &RetrofitName,
    sender: &RequestSender,
    head: &RetrofitState,
    entries: &[Quarantined],
    former: &[Quarantined],
) -> anyhow::Result<usize> {
    let retrofit = &head.retrofit;
    let nameless: Vec<&Quarantined> = entries.iter().filter(|entry| entry.key.is_none()).collect();
    if nameless.is_empty() && former.is_empty() {
        return Ok(0);
    }
    // A new entry of this kind cancels the comparisons that started before it.
    let verdict = sender.verdict().await.map_err(explained)?;
    if verdict.is_none_or(|verdict| verdict.differences > 0) {
        refuse!(
            "needs-comparison",
            "retrofit `{retrofit}` has a quarantine entry that only a comparison can answer: is an item missing or wrong?\n\
             hint: run `keyfold retrofit verify {retrofit}` first; it must find no difference"
        );
    }
    for entry in &nameless {
        sender.carry(&mut sender.job().dismiss(entry)).await?;
    }
    let mapping = env.mapping(name)?;
    let other = match sender.job().mapping().is_reverse() {
        true => Some(head.job(mapping)),
        false => head.reverse_job(&mapping),
    };
    let Some(other) = other else { return Ok(nameless.len()) };
    for entry in former {
        sender.carry(&mut other.dismiss(entry)).await?;
    }
    Ok(nameless.len() + former.len())
}

fn as_json(entry: &Quarantined) -> Value {
    let mut value = entry.misfit.json();
    value["row"] = json!(entry.row);
    value["key"] = json!(entry.key);
    if let Some(Acceptance { because, by, at }) = &entry.accepted {
        value["accepted"] = json!({ "because": because, "by": by, "at": at });
    }
    value
}

fn line(entry: &Quarantined) -> Vec<String> {
    let accepted = entry.accepted.as_ref();
    let note = accepted.map(|note| format!("stays out: {} ({})", note.because, note.by)).unwrap_or_default();
    vec![entry.code.clone(), named(entry), note]
}

fn named(entry: &Quarantined) -> String {
    match &entry.key {
        Some(key) => serde_json::to_string(key).unwrap_or_default(),
        None => format!("{} (names no item)", entry.row),
    }
}
