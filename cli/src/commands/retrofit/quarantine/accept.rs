//! `keyfold retrofit quarantine --accept REASON`: items that are known not to fit stay out, and close no gate.

use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, bail};
use keyfold_core::retrofit::Quarantined;
use keyfold_core::retrofit::quarantine::Acceptance;
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::{Head, RequestSender};
use serde_json::json;

use super::super::explained;
use crate::args::{QuarantineSelection, RetrofitQuarantineArgs};
use crate::output::Output;
use crate::refusal::refuse;

pub(super) async fn run(
    sender: &RequestSender,
    head: &Head,
    args: &RetrofitQuarantineArgs,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    let retrofit = &head.retrofit;
    let acceptance =
        args.accept.as_deref().map(|because| acceptance(because, args.by.as_deref())).transpose()?;
    let chosen = Chosen::read(&args.which)?;
    let entries = sender.quarantine().await.map_err(explained)?;
    let known = |key: &Item| entries.iter().any(|entry| entry.key.as_ref() == Some(key));
    if let Some(key) = chosen.keys.iter().find(|key| !known(key)) {
        let key = serde_json::to_string(key).unwrap_or_default();
        refuse!(
            "unknown-entry",
            "the quarantine of retrofit `{retrofit}` has no entry of this key: {key}\nhint: `keyfold retrofit quarantine {retrofit}` lists the entries"
        );
    }
    let chosen: Vec<&Quarantined> = entries.iter().filter(|entry| chosen.has(entry)).collect();
    let (fit, open): (Vec<&Quarantined>, Vec<&Quarantined>) =
        chosen.into_iter().partition(|entry| entry.is_acceptable());
    for entry in &fit {
        sender.accept(entry, acceptance.as_ref()).await.map_err(explained)?;
    }
    let (noted, skipped) = (fit.len(), open.len());
    if out.json {
        out.value(&json!({ "retrofit": retrofit, "noted": noted, "notKnown": skipped }))?;
        return Ok(ExitCode::SUCCESS);
    }
    out.text(match acceptance {
        Some(_) => format!(
            "{noted} items stay out; run `keyfold retrofit verify {retrofit}`, which counts them apart\n"
        ),
        None => format!("{noted} items count again\n"),
    });
    if skipped > 0 {
        out.text(format!(
            "{skipped} entries cannot be accepted: nobody knows whether their items fit; `keyfold retrofit repair {retrofit}` finds out\n"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn acceptance(because: &str, by: Option<&str>) -> anyhow::Result<Acceptance> {
    let Some(by) = by.filter(|by| !by.trim().is_empty()) else {
        bail!("who accepts it? Say it with --by NAME");
    };
    if because.trim().is_empty() {
        bail!("why do the items stay out? Say it after --accept");
    }
    let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    Ok(Acceptance { because: because.trim().to_owned(), by: by.trim().to_owned(), at })
}

/// Which entries are meant.
struct Chosen<'a> {
    keys: Vec<Item>,
    by: &'a QuarantineSelection,
}

impl Chosen<'_> {
    fn read(by: &QuarantineSelection) -> anyhow::Result<Chosen<'_>> {
        let key = |text: &String| {
            serde_json::from_str(text)
                .context("a key is DynamoDB JSON, such as {\"id\":{\"S\":\"e1\"}}: this one cannot be read")
        };
        let keys: Vec<Item> = by.key.iter().map(key).collect::<anyhow::Result<_>>()?;
        let any = by.all || by.attribute.is_some() || by.index.is_some() || by.code.is_some();
        if keys.is_empty() && !any {
            bail!("which items? Say it with --key, --attribute, --index, --code or --all");
        }
        Ok(Chosen { keys, by })
    }

    /// Everything that was said must hold.
    fn has(&self, entry: &Quarantined) -> bool {
        let is =
            |said: &Option<String>, held: Option<&str>| said.as_deref().is_none_or(|said| held == Some(said));
        let misfit = &entry.misfit;
        let named = self.keys.is_empty() || entry.key.as_ref().is_some_and(|key| self.keys.contains(key));
        named
            && is(&self.by.attribute, misfit.attribute.as_deref())
            && is(&self.by.index, misfit.index.as_deref())
            && is(&self.by.code, Some(&misfit.code))
    }
}
