//! `keyfold retrofit quarantine --accept REASON`: these items stay out, and close no gate.

use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::retrofit::Quarantined;
use keyfold_core::retrofit::quarantine::Acceptance;
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use serde_json::json;

use super::super::env::explained;
use crate::output::Output;
use crate::refusal::refuse;
use crate::support::now_seconds;

/// The acceptance, and the entries that it is for.
#[derive(Debug, clap::Args)]
pub(super) struct AcceptArgs {
    /// Accept that these items stay out, and note why. They do not block the switch, unless they change and do not fit for another reason.
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
    /// Items that do not fit because of this attribute.
    #[arg(long, value_name = "ATTRIBUTE")]
    attribute: Option<String>,
    /// Items that do not fit because of this index.
    #[arg(long, value_name = "INDEX")]
    index: Option<String>,
    /// Items that do not fit for the reason with this code.
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// All items.
    #[arg(long, conflicts_with_all = ["key", "attribute", "index", "code"])]
    all: bool,
}

impl AcceptArgs {
    pub(super) fn is_given(&self) -> bool {
        self.accept.is_some() || self.reopen
    }
}

pub(super) async fn run(
    sender: &RequestSender,
    head: &RetrofitState,
    args: &AcceptArgs,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    let retrofit = &head.retrofit;
    let acceptance =
        args.accept.as_deref().map(|because| acceptance(because, args.by.as_deref())).transpose()?;
    let selection = Selection::read(args)?;
    let entries = sender.quarantine().await.map_err(explained)?;
    let is_entry = |key: &Item| entries.iter().any(|entry| entry.key.as_ref() == Some(key));
    if let Some(key) = selection.keys.iter().find(|key| !is_entry(key)) {
        let key = serde_json::to_string(key).unwrap_or_default();
        refuse!(
            "unknown-entry",
            "the quarantine of retrofit `{retrofit}` has no entry of this key: {key}\nhint: `keyfold retrofit quarantine {retrofit}` lists the entries"
        );
    }
    let chosen: Vec<&Quarantined> = entries.iter().filter(|entry| selection.has(entry)).collect();
    let (fit, open): (Vec<&Quarantined>, Vec<&Quarantined>) =
        chosen.into_iter().partition(|entry| entry.is_acceptable());
    for entry in &fit {
        sender.accept(entry, acceptance.as_ref()).await.map_err(explained)?;
    }
    let (noted, skipped) = (fit.len(), open.len());
    let mut text = match acceptance {
        Some(_) => format!(
            "{noted} items stay out; run `keyfold retrofit run {retrofit}`, which counts them separately\n"
        ),
        None => format!("{noted} items count again\n"),
    };
    if skipped > 0 {
        text += &format!(
            "{skipped} entries cannot be accepted: their items may fit; `keyfold retrofit quarantine {retrofit} --retry` finds out\n"
        );
    }
    out.show(&json!({ "retrofit": retrofit, "noted": noted, "notKnown": skipped }), text)?;
    Ok(ExitCode::SUCCESS)
}

fn acceptance(because: &str, by: Option<&str>) -> anyhow::Result<Acceptance> {
    let Some(by) = by.filter(|by| !by.trim().is_empty()) else {
        bail!("who accepts it? Say it with --by NAME");
    };
    if because.trim().is_empty() {
        bail!("why do the items stay out? Say it after --accept");
    }
    Ok(Acceptance { because: because.trim().to_owned(), by: by.trim().to_owned(), at: now_seconds() })
}

/// The selected entries.
struct Selection<'a> {
    keys: Vec<Item>,
    args: &'a AcceptArgs,
}

impl Selection<'_> {
    fn read(args: &AcceptArgs) -> anyhow::Result<Selection<'_>> {
        let key = |text: &String| {
            serde_json::from_str(text)
                .context("a key is DynamoDB JSON, such as {\"id\":{\"S\":\"e1\"}}: this one cannot be read")
        };
        let keys: Vec<Item> = args.key.iter().map(key).collect::<anyhow::Result<_>>()?;
        let any = args.all || args.attribute.is_some() || args.index.is_some() || args.code.is_some();
        if keys.is_empty() && !any {
            bail!("which items? Say it with --key, --attribute, --index, --code or --all");
        }
        Ok(Selection { keys, args })
    }

    /// All given options must match.
    fn has(&self, entry: &Quarantined) -> bool {
        let is =
            |wanted: &Option<String>, actual: Option<&str>| wanted.is_none() || wanted.as_deref() == actual;
        let misfit = &entry.misfit;
        let named = self.keys.is_empty() || entry.key.as_ref().is_some_and(|key| self.keys.contains(key));
        named
            && is(&self.args.attribute, misfit.attribute.as_deref())
            && is(&self.args.index, misfit.index.as_deref())
            && is(&self.args.code, Some(&misfit.code))
    }
}
