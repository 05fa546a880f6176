//! `keyfold retrofit quarantine --accept REASON`: these items stay out, and close no gate.

use std::process::ExitCode;

use anyhow::bail;
use keyfold_core::retrofit::Quarantined;
use keyfold_core::retrofit::quarantine::Acceptance;
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::RequestSender;
use serde_json::json;

use super::super::texts::key_text;
use crate::output::Output;
use crate::refusal::refuse;
use crate::support::now_seconds;

/// The acceptance, and the entries that it is for.
#[derive(Debug, clap::Args)]
pub(super) struct AcceptArgs {
    /// Accept that these items stay out, and note why. They do not block the switch, unless they change and do not fit for another reason.
    #[arg(long, value_name = "REASON", requires = "selection")]
    accept: Option<String>,
    /// Withdraw an acceptance.
    #[arg(long, conflicts_with = "accept", requires = "selection")]
    reopen: bool,
    /// Who accepts [default: the value of USER].
    #[arg(long, value_name = "NAME", env = "USER", hide_env_values = true)]
    by: Option<String>,
    #[command(flatten)]
    selection: Selection,
}

/// The selected entries.
#[derive(Debug, clap::Args)]
#[group(id = "selection", multiple = true)]
struct Selection {
    /// The item with this key, in DynamoDB JSON, as the list shows it. May be given several times.
    #[arg(long, value_name = "JSON", value_parser = key)]
    key: Vec<Item>,
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

fn key(text: &str) -> Result<Item, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("not DynamoDB JSON, such as {{\"id\":{{\"S\":\"e1\"}}}}: {error}"))
}

impl AcceptArgs {
    pub(super) fn is_given(&self) -> bool {
        self.accept.is_some() || self.reopen
    }

    /// `None` takes an acceptance back.
    fn acceptance(&self) -> anyhow::Result<Option<Acceptance>> {
        let Some(because) = self.accept.as_deref().map(str::trim) else { return Ok(None) };
        let by = self.by.as_deref().unwrap_or_default().trim();
        if by.is_empty() {
            bail!("who accepts it? Say it with --by NAME");
        }
        if because.is_empty() {
            bail!("why do the items stay out? Say it after --accept");
        }
        Ok(Some(Acceptance { because: because.to_owned(), by: by.to_owned(), at: now_seconds() }))
    }
}

impl Selection {
    /// All given options must match.
    fn has(&self, entry: &Quarantined) -> bool {
        let is =
            |wanted: &Option<String>, actual: Option<&str>| wanted.is_none() || wanted.as_deref() == actual;
        let misfit = &entry.misfit;
        let named = self.key.is_empty() || entry.key.as_ref().is_some_and(|key| self.key.contains(key));
        named
            && is(&self.attribute, misfit.attribute.as_deref())
            && is(&self.index, misfit.index.as_deref())
            && is(&self.code, Some(&misfit.code))
    }
}

pub(super) async fn run(sender: &RequestSender, args: &AcceptArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let retrofit = sender.job().mapping().name();
    let acceptance = args.acceptance()?;
    let entries = sender.quarantine().await?;
    let is_entry = |key: &Item| entries.iter().any(|entry| entry.key.as_ref() == Some(key));
    if let Some(key) = args.selection.key.iter().find(|key| !is_entry(key)) {
        refuse!(
            "unknown-entry",
            "the quarantine of retrofit `{retrofit}` has no entry of this key: {}\nhint: `keyfold retrofit quarantine {retrofit}` lists the entries",
            key_text(key)
        );
    }
    let chosen = entries.iter().filter(|entry| args.selection.has(entry));
    let (fit, open): (Vec<&Quarantined>, Vec<&Quarantined>) = chosen.partition(|entry| entry.is_acceptable());
    for entry in &fit {
        sender.accept(entry, acceptance.as_ref()).await?;
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
