//! `keyfold retrofit quarantine`: lists the items that could not be carried over, and the writes that came late. What becomes of them is
//! decided by `keyfold_core::retrofit::operate`.

use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::retrofit::Quarantined;
use keyfold_core::retrofit::late::LateChange;
use keyfold_core::retrofit::operate::{Command, EntrySelection, QuarantineAction};
use keyfold_core::retrofit::quarantine::misfits;
use serde_json::json;

use super::env::{Env, RetrofitName, RetrofitWork, explained};
use super::operate::operate;
use crate::output::{columns, titled};

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
    /// Accept that these items stay out, and note why. They close no gate until they change to another misfit.
    #[arg(long, value_name = "REASON")]
    accept: Option<String>,
    /// Withdraw an acceptance.
    #[arg(long, conflicts_with = "accept")]
    reopen: bool,
    /// Who accepts [default: the value of USER].
    #[arg(long, value_name = "NAME", env = "USER", hide_env_values = true)]
    by: Option<String>,
    /// The item with this key, in DynamoDB JSON, as the list shows it. May be given several times.
    #[arg(long, value_name = "JSON")]
    key: Vec<String>,
    /// Items whose misfit is about this attribute.
    #[arg(long, value_name = "ATTRIBUTE")]
    attribute: Option<String>,
    /// Items whose misfit is about this index.
    #[arg(long, value_name = "INDEX")]
    index: Option<String>,
    /// Items whose misfit has this code.
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// All items.
    #[arg(long, conflicts_with_all = ["key", "attribute", "index", "code"])]
    all: bool,
}

pub(super) async fn run(env: &Env<'_>, args: &RetrofitQuarantineArgs) -> anyhow::Result<ExitCode> {
    match args.action()? {
        Some(action) => {
            let passes = RetrofitWork::default().options(0);
            operate(env, &args.retrofit, Command::Quarantine(action), passes).await
        }
        None => list(env, args).await,
    }
}

impl RetrofitQuarantineArgs {
    /// The action; `None` to list the entries.
    fn action(&self) -> anyhow::Result<Option<QuarantineAction>> {
        Ok(Some(match (&self.accept, &self.forget) {
            _ if self.retry => QuarantineAction::Retry,
            _ if self.release => QuarantineAction::Release,
            _ if self.reopen => QuarantineAction::Reopen(self.selection()?),
            (_, Some(name)) => QuarantineAction::Forget(name.clone()),
            (Some(because), None) => {
                let said = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
                let by = self.by.as_deref().and_then(said);
                let by = by.context("who accepts it? Say it with --by NAME")?;
                let because = said(because).context("why do the items stay out? Say it after --accept")?;
                QuarantineAction::Accept { selection: self.selection()?, because, by }
            }
            (None, None) => return Ok(None),
        }))
    }

    fn selection(&self) -> anyhow::Result<EntrySelection> {
        let key = |text: &String| {
            serde_json::from_str(text)
                .context("a key is DynamoDB JSON, such as {\"id\":{\"S\":\"e1\"}}: this one cannot be read")
        };
        let keys = self.key.iter().map(key).collect::<anyhow::Result<_>>()?;
        let (attribute, index, code) = (self.attribute.clone(), self.index.clone(), self.code.clone());
        let selection = EntrySelection { keys, attribute, index, code };
        if !self.all && selection == EntrySelection::default() {
            bail!("which items? Say it with --key, --attribute, --index, --code or --all");
        }
        Ok(selection)
    }
}

async fn list(env: &Env<'_>, args: &RetrofitQuarantineArgs) -> anyhow::Result<ExitCode> {
    let (sender, head) = env.started(&args.retrofit).await?;
    let entries = sender.quarantine().await.map_err(explained)?;
    let former = sender.other_quarantine().await.map_err(explained)?;
    let late = sender.late().await.map_err(explained)?;
    let value = json!({
        "retrofit": head.retrofit, "entries": entries.iter().chain(&former).map(Quarantined::json).collect::<Vec<_>>(),
        "misfits": misfits(entries.iter().chain(&former)).json(),
        "late": late.iter().map(|change| change.json(args.images)).collect::<Vec<_>>(),
    });
    match env.out.json || args.images {
        true => env.out.value(&value)?,
        false => env.out.text(text(&head.retrofit, &entries, &former, &late)),
    }
    Ok(ExitCode::SUCCESS)
}

/// `former`: the entries from before the writers moved last.
fn text(retrofit: &str, entries: &[Quarantined], former: &[Quarantined], late: &[LateChange]) -> String {
    let lines = |entries: &[Quarantined]| entries.iter().map(line).collect::<Vec<_>>();
    let by_reason = misfits(entries.iter().chain(former)).table();
    let before = format!(
        "from before the writers moved; `keyfold retrofit run {retrofit}` compares these items, and `--release` removes the entries after it:"
    );
    let late: Vec<_> = late.iter().map(late_line).collect();
    let closed = "written to the closed table after its writers should have stopped; write each to the open table, or `--forget NAME`:";
    let empty = if entries.is_empty() && former.is_empty() { "the quarantine is empty\n" } else { "" };
    [
        empty.to_owned(),
        columns(&lines(entries)),
        titled("by reason:", &by_reason),
        titled(&before, &lines(former)),
        titled(closed, &late),
    ]
    .concat()
}

fn line(entry: &Quarantined) -> Vec<String> {
    let accepted = entry.accepted.as_ref();
    let note = accepted.map(|note| format!("stays out: {} ({})", note.because, note.by)).unwrap_or_default();
    let named = match &entry.key {
        Some(key) => serde_json::to_string(key).unwrap_or_default(),
        None => format!("{} (names no item)", entry.row),
    };
    vec![entry.code.clone(), named, note]
}

fn late_line(change: &LateChange) -> Vec<String> {
    let key = serde_json::to_string(&change.key).unwrap_or_default();
    vec![change.table.clone(), change.what().to_owned(), key, change.name().to_owned()]
}
