//! `keyfold retrofit quarantine`: lists the items that could not be carried over, and the writes that came late. `--retry` tries again,
//! `--release` removes entries that a comparison has answered: those that name no item, and those from before the last switch.
//! `--accept` notes that items stay out.

mod accept;
mod retry;

use std::process::ExitCode;

use keyfold_core::retrofit::Quarantined;
use keyfold_core::retrofit::late::LateChange;
use keyfold_core::retrofit::quarantine::{misfits, table};
use serde_json::{Value, json};

use self::accept::AcceptArgs;
use super::env::{Env, RetrofitName};
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
    let retrofit = &head.retrofit;
    if args.accept.is_given() {
        return accept::run(&sender, &args.accept, out).await;
    }
    let late = sender.late().await?;
    if let Some(name) = &args.forget {
        let Some(change) = late.iter().find(|change| change.name() == name) else {
            refuse!("unknown-late-change", "retrofit `{retrofit}` has no late change with this name");
        };
        sender.forget_late(change).await?;
        let left = late.len() - 1;
        let value = json!({ "retrofit": retrofit, "lateLeft": left });
        out.show(&value, format!("forgotten; {left} late writes are left\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut released = None;
    if args.release {
        released = sender.release_compared(&head).await?;
        if released.is_none() {
            refuse!(
                "needs-comparison",
                "retrofit `{retrofit}` has a quarantine entry that only a comparison can answer: is an item missing or wrong?\n\
                 hint: run `keyfold retrofit run {retrofit}` first; it must find no difference"
            );
        }
    }
    let (entries, former) = (sender.quarantine().await?, sender.other_quarantine().await?);
    let listed = Listed { entries, former, late, released };
    match out.json || args.images {
        true => out.value(&listed.value(retrofit, args.images))?,
        false => out.text(listed.text(retrofit)),
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
        json!({
            "retrofit": retrofit, "entries": all().map(Quarantined::json).collect::<Vec<_>>(), "released": self.released.unwrap_or(0),
            "misfits": misfits(all()).json(), "late": self.late.iter().map(|change| change.json(images)).collect::<Vec<_>>(),
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
        text += &columns(&table(&self.entries));
        text += &titled("by reason:", &misfits(self.entries.iter().chain(&self.former)).table());
        let former = format!(
            "from before the writers moved; `keyfold retrofit run {retrofit}` compares these items, and `--release` removes the entries after it:"
        );
        text += &titled(&former, &table(&self.former));
        let title = "written to the closed table after its writers should have stopped; write each to the open table, or `--forget NAME`:";
        text + &titled(title, &self.late.iter().map(LateChange::row).collect::<Vec<_>>())
    }
}
