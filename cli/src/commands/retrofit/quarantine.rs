//! `keyfold retrofit quarantine`: lists the items that could not be carried over, and the writes that came late. `--retry` tries again,
//! `--release` removes entries that a comparison has answered: those that name no item, and those from before the last switch.
//! `--accept` notes that items stay out.

mod accept;
mod late;
mod retry;

use std::process::ExitCode;

use keyfold_core::retrofit::Quarantined;
use keyfold_core::retrofit::late::LateChange;
use keyfold_core::retrofit::quarantine::{Acceptance, misfits};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use serde_json::{Value, json};

use self::accept::AcceptArgs;
use super::env::{Env, RetrofitName, explained};
use super::texts::titled;
use crate::output::columns;
use crate::refusal::refuse;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitQuarantineArgs {
    #[command(flatten)]
    retrofit: RetrofitName,
    /// Try every entry again, and read the items of discarded batches again from the failure bucket.
    #[arg(long, conflicts_with_all = ["accept", "reopen", "release", "forget"])]
    retry: bool,
    /// Remove the entries that name no item, and those from before the last switch. Needs a comparison without differences.
    #[arg(long, conflicts_with_all = ["accept", "reopen", "forget"])]
    release: bool,
    /// Forget the late write with this name: it was dealt with.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["accept", "reopen"])]
    forget: Option<String>,
    /// Print late writes with the items before and after, as JSON.
    #[arg(long)]
    images: bool,
    #[command(flatten)]
    accept: AcceptArgs,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitQuarantineArgs) -> anyhow::Result<ExitCode> {
    if args.retry {
        return retry::run(env, &args.retrofit).await;
    }
    let out = env.out;
    let (sender, head) = env.started(&args.retrofit).await?;
    if args.accept.is_given() {
        return accept::run(&sender, &head, &args.accept, out).await;
    }
    if let Some(name) = &args.forget {
        let left = late::forget(&sender, name).await?;
        let value = json!({ "retrofit": head.retrofit, "lateLeft": left });
        out.show(&value, format!("forgotten; {left} late writes are left\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut listed = Listed {
        retrofit: head.retrofit.clone(),
        entries: sender.quarantine().await.map_err(explained)?,
        former: sender.other_quarantine().await.map_err(explained)?,
        late: sender.late().await.map_err(explained)?,
        released: 0,
    };
    if args.release {
        listed.released =
            release(env, &args.retrofit, &sender, &head, &listed.entries, &listed.former).await?;
        listed.entries.retain(|entry| entry.key.is_some());
        listed.former.clear();
    }
    match out.json || args.images {
        true => out.value(&listed.value(args.images))?,
        false => out.text(listed.text(args.release)),
    }
    Ok(ExitCode::SUCCESS)
}

/// The entries of the quarantine.
struct Listed {
    retrofit: String,
    entries: Vec<Quarantined>,
    /// Those from before the writers moved last.
    former: Vec<Quarantined>,
    late: Vec<LateChange>,
    released: usize,
}

impl Listed {
    fn value(&self, images: bool) -> Value {
        let all = || self.entries.iter().chain(&self.former);
        let entries: Vec<Value> = all().map(as_json).collect();
        let late: Vec<Value> = self.late.iter().map(|change| late::as_json(change, images)).collect();
        json!({
            "retrofit": self.retrofit, "entries": entries, "released": self.released,
            "misfits": misfits(all()).json(), "late": late,
        })
    }

    fn text(&self, has_released: bool) -> String {
        let mut text = String::new();
        if has_released {
            let released = self.released;
            text += &format!(
                "removed {released} entries that name no item, or are from before the writers moved\n"
            );
        }
        if self.entries.is_empty() && self.former.is_empty() {
            text += "the quarantine is empty\n";
        }
        text += &columns(&self.entries.iter().map(line).collect::<Vec<_>>());
        text += &titled("by reason:", &misfits(self.entries.iter().chain(&self.former)).table());
        if !self.former.is_empty() {
            text += &format!(
                "from before the writers moved; `keyfold retrofit run {}` compares these items, and `--release` removes the entries after it:\n",
                self.retrofit
            );
            text += &columns(&self.former.iter().map(line).collect::<Vec<_>>());
        }
        if !self.late.is_empty() {
            text += "written to the closed table after its writers should have stopped; write each to the open table, or `--forget NAME`:\n";
            text += &columns(&self.late.iter().map(late::line).collect::<Vec<_>>());
        }
        text
    }
}

/// Removes the entries that name no item, and those of the other direction. Such an entry is a record that could not be read, or an
/// item that may still be wrong. Only a complete comparison without differences shows that every item is right.
async fn release(
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
             hint: run `keyfold retrofit run {retrofit}` first; it must find no difference"
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
