//! `keyfold retrofit quarantine`: lists the items that could not be carried over, and the writes that came late. `--retry` tries again,
//! `--release` removes entries that a comparison has answered: those that name no item, and those from before the last switch.
//! `--accept` notes that items stay out.

mod accept;
mod retry;

use std::process::ExitCode;

use keyfold_core::retrofit::Quarantined;
use keyfold_core::retrofit::late::LateChange;
use keyfold_core::retrofit::quarantine::{Acceptance, misfits};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use serde_json::{Value, json};

use self::accept::AcceptArgs;
use super::env::{Env, RetrofitName};
use super::texts::{key_text, titled};
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
        return accept::run(&sender, &args.accept, out).await;
    }
    let late = sender.late().await?;
    if let Some(name) = &args.forget {
        let Some(change) = late.iter().find(|change| change.name() == name) else {
            refuse!("unknown-late-change", "retrofit `{}` has no late change with this name", head.retrofit);
        };
        sender.forget_late(change).await?;
        let left = late.len() - 1;
        let value = json!({ "retrofit": head.retrofit, "lateLeft": left });
        out.show(&value, format!("forgotten; {left} late writes are left\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut listed = Listed {
        entries: sender.quarantine().await?,
        former: sender.other_quarantine().await?,
        late,
        released: None,
    };
    if args.release {
        listed.released = Some(release(env, &args.retrofit, &sender, &head, &listed).await?);
        listed.entries.retain(|entry| entry.key.is_some());
        listed.former.clear();
    }
    match out.json || args.images {
        true => out.value(&listed.value(&head.retrofit, args.images))?,
        false => out.text(listed.text(&head.retrofit)),
    }
    Ok(ExitCode::SUCCESS)
}

/// The entries of the quarantine.
struct Listed {
    entries: Vec<Quarantined>,
    /// Those from before the writers moved last.
    former: Vec<Quarantined>,
    /// Changes that came to a table after its writers should have stopped, and that the open table lacks. The operator writes each to the
    /// open table, or forgets it.
    late: Vec<LateChange>,
    released: Option<usize>,
}

impl Listed {
    /// The contents of items are shown only with `images`.
    fn value(&self, retrofit: &str, images: bool) -> Value {
        let all = || self.entries.iter().chain(&self.former);
        let late = |change: &LateChange| {
            let mut value = json!({
                "name": change.name(), "table": change.table, "key": change.key, "what": change.what(),
            });
            if images {
                value["old"] = json!(change.old);
                value["new"] = json!(change.new);
            }
            value
        };
        json!({
            "retrofit": retrofit, "entries": all().map(entry_json).collect::<Vec<_>>(), "released": self.released.unwrap_or(0),
            "misfits": misfits(all()).json(), "late": self.late.iter().map(late).collect::<Vec<_>>(),
        })
    }

    fn text(&self, retrofit: &str) -> String {
        let released = self.released.map(|released| {
            format!("removed {released} entries that name no item, or are from before the writers moved\n")
        });
        let mut text = released.unwrap_or_default();
        if self.entries.is_empty() && self.former.is_empty() {
            text += "the quarantine is empty\n";
        }
        text += &columns(&entry_rows(&self.entries));
        text += &titled("by reason:", &misfits(self.entries.iter().chain(&self.former)).table());
        let former = format!(
            "from before the writers moved; `keyfold retrofit run {retrofit}` compares these items, and `--release` removes the entries after it:"
        );
        text += &titled(&former, &entry_rows(&self.former));
        let late = |change: &LateChange| {
            vec![
                change.table.clone(),
                change.what().to_owned(),
                key_text(&change.key),
                change.name().to_owned(),
            ]
        };
        let title = "written to the closed table after its writers should have stopped; write each to the open table, or `--forget NAME`:";
        text + &titled(title, &self.late.iter().map(late).collect::<Vec<_>>())
    }
}

/// Removes the entries that name no item, and those of the other direction. Such an entry is a record that could not be read, or an
/// item that may still be wrong. Only a complete comparison without differences shows that every item is right.
async fn release(
    env: &Env<'_>,
    name: &RetrofitName,
    sender: &RequestSender,
    head: &RetrofitState,
    Listed { entries, former, .. }: &Listed,
) -> anyhow::Result<usize> {
    let retrofit = &head.retrofit;
    let job = sender.job();
    let mut dismissals: Vec<_> =
        entries.iter().filter(|entry| entry.key.is_none()).map(|entry| job.dismiss(entry)).collect();
    if dismissals.is_empty() && former.is_empty() {
        return Ok(0);
    }
    // A new entry of this kind cancels the comparisons that started before it.
    let verdict = sender.verdict().await?;
    if verdict.is_none_or(|verdict| verdict.differences > 0) {
        refuse!(
            "needs-comparison",
            "retrofit `{retrofit}` has a quarantine entry that only a comparison can answer: is an item missing or wrong?\n\
             hint: run `keyfold retrofit run {retrofit}` first; it must find no difference"
        );
    }
    let mapping = env.mapping(name)?;
    let other = match job.mapping().is_reverse() {
        true => Some(head.job(mapping)),
        false => head.reverse_job(&mapping),
    };
    dismissals.extend(other.iter().flat_map(|other| former.iter().map(|entry| other.dismiss(entry))));
    for task in &mut dismissals {
        sender.carry(task).await?;
    }
    Ok(dismissals.len())
}

fn entry_json(entry: &Quarantined) -> Value {
    let mut value = entry.misfit.json();
    value["row"] = json!(entry.row);
    value["key"] = json!(entry.key);
    if let Some(Acceptance { because, by, at }) = &entry.accepted {
        value["accepted"] = json!({ "because": because, "by": by, "at": at });
    }
    value
}

fn entry_rows(entries: &[Quarantined]) -> Vec<Vec<String>> {
    let row = |entry: &Quarantined| {
        let nameless = || format!("{} (names no item)", entry.row);
        let accepted = entry.accepted.as_ref();
        let note = accepted.map(|note| format!("stays out: {} ({})", note.because, note.by));
        vec![entry.code.clone(), entry.key.as_ref().map_or_else(nameless, key_text), note.unwrap_or_default()]
    };
    entries.iter().map(row).collect()
}
