//! `keyfold mcp`: the manifest's tables for agents, until the client closes standard input.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::model::Model;
use keyfold_core::query::check::Caller;
use keyfold_mcp::{HiddenAttributes, Limits, Reader, Server, Settings, Spending, policy, serve_stdio};

use crate::globals::Globals;
use crate::manifest_file::{manifest_text, model};
use crate::output::Output;
use crate::support::block_on;

#[derive(Debug, clap::Args)]
pub(crate) struct McpArgs {
    /// An attribute that agents never see, in any table: not in answers, conditions, orders or descriptions; you can give several.
    #[arg(long, value_name = "ATTRIBUTE")]
    pub(crate) hide: Vec<String>,
    /// Show folded keys, too.
    #[arg(long)]
    pub(crate) keys: bool,
    /// Limit every answer to a tenant: a claim of the manifest's `scope`, such as `jwt.org=acme`; you can give several.
    #[arg(long, value_name = "CLAIM=VALUE")]
    pub(crate) scope: Vec<String>,
    /// Let requests allow scans.
    #[arg(long)]
    pub(crate) allow_scans: bool,
    /// The maximum read units of one call [default: 100].
    #[arg(long, value_name = "UNITS", value_parser = units)]
    pub(crate) call_max: Option<f64>,
    /// The maximum read units of this run of the server [default: 2000].
    #[arg(long, value_name = "UNITS", value_parser = units)]
    pub(crate) session_max: Option<f64>,
    /// The maximum read units of a day (UTC), over all servers with the same state folder [default: 20000].
    #[arg(long, value_name = "UNITS", value_parser = units)]
    pub(crate) day_max: Option<f64>,
    /// The maximum items in an answer [default: 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) items_max: Option<u32>,
    /// The folder with the count of the day's units [default: keyfold in your user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Print the smallest IAM policy that this server needs, and exit.
    #[arg(long)]
    pub(crate) policy: bool,
}

/// A positive number of units.
fn units(text: &str) -> Result<f64, String> {
    let units = text.parse().ok().filter(|units: &f64| units.is_finite() && *units > 0.0);
    units.ok_or_else(|| "a number of read units above 0".to_owned())
}

pub(super) fn run(globals: &Globals, args: &McpArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let manifest = manifest_text(&globals.manifest)?;
    let model = model(&globals.manifest, out)?;
    let hidden = HiddenAttributes::new(&model, args.hide.iter().cloned(), args.keys)?;
    if args.policy {
        let region = std::env::var("AWS_REGION").or_else(|_| std::env::var("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|_| "*".to_owned());
        out.value(&policy(&model, &globals.control, &hidden, args.allow_scans, &region))?;
        return Ok(ExitCode::SUCCESS);
    }
    note_undeclared(&model, &args.hide, out);
    let caller = caller(&model, &args.scope)?;
    let spending = Spending::open(&args.state.clone().map_or_else(state_folder, Ok)?)?;
    let settings = Settings { caller, limits: limits(args), manifest, hidden, model };
    block_on(async {
        let reader = Reader::new(globals.client().await?, &globals.control);
        serve_stdio(Server::new(settings, reader, spending)?).await?;
        Ok(ExitCode::SUCCESS)
    })
}

fn limits(args: &McpArgs) -> Limits {
    let default = Limits::default();
    Limits {
        call_units_max: args.call_max.unwrap_or(default.call_units_max),
        session_units_max: args.session_max.unwrap_or(default.session_units_max),
        day_units_max: args.day_max.unwrap_or(default.day_units_max),
        items_max: args.items_max.unwrap_or(default.items_max),
        allow_scans: args.allow_scans,
        ..default
    }
}

/// A mistyped name would hide nothing. An undeclared attribute can exist, so this is a note.
fn note_undeclared(model: &Model, names: &[String], out: &Output) {
    for name in names {
        if !model.tables.iter().any(|table| table.attributes.contains_key(name)) {
            out.note(format!("note: no table declares `{name}`; it is hidden where items have it\n"));
        }
    }
}

/// The caller with these claims; without any, the person who starts the server, who may see every item.
fn caller(model: &Model, claims: &[String]) -> anyhow::Result<Caller> {
    if claims.is_empty() {
        return Ok(Caller::Trusted);
    }
    let mut known = BTreeMap::new();
    for text in claims {
        let pair = text.split_once('=').filter(|(claim, value)| !claim.is_empty() && !value.is_empty());
        let (claim, value) = pair.with_context(|| format!("`--scope {text}` is not `CLAIM=VALUE`"))?;
        if !model.tables.iter().any(|table| table.scope.values().any(|used| used == claim)) {
            bail!("no table has the claim `{claim}` in its `scope`, so it would limit nothing");
        }
        if known.insert(claim.to_owned(), value.to_owned()).is_some() {
            bail!("`--scope` gives the claim `{claim}` twice");
        }
    }
    Ok(Caller::Claims(known))
}

/// The user's folder for state.
fn state_folder() -> anyhow::Result<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("XDG_STATE_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".local/state")))
        .or_else(|| folder("LOCALAPPDATA"))
        .map(|state| state.join("keyfold"))
        .context("this user has no folder for state: give one with --state")
}
