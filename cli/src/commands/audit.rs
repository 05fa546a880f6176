//! `keyfold audit`: anchors of the audit trail's journal, and the comparison of the trail with them.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::audit::{Finding, FindingKind, links};
use keyfold_dynamo::Client;
use keyfold_edge::plain_value;
use keyfold_trail::{
    Carried, Report, Trail, VerifyOptions, anchor, last_whole_day, now, read_anchors, verify, write_anchor,
};
use serde_json::{Value, json};

use crate::globals::{Env, Globals};
use crate::manifest_file::{model, table};
use crate::output::{Output, columns, counted, grouped, row};
use crate::support::{block_on, exit_code};

/// The maximum number of findings that are printed for people.
const SHOWN_MAX: usize = 100;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum AuditCommand {
    /// Write the ends of a day's chains to a file, which you keep in write-once storage.
    #[command(after_help = "Examples:\n  keyfold audit anchor --anchors anchors\n\n\
                            With the bucket of the template, once a day:\n  \
                            aws s3 sync s3://$BUCKET anchors && keyfold audit anchor --anchors anchors && aws s3 sync anchors s3://$BUCKET")]
    Anchor(AnchorArgs),
    /// Compare the table with the journal and the anchors. Exits with 1 if anything differs from what was written.
    #[command(after_help = "Examples:\n  keyfold audit verify --anchors anchors\n  \
                            keyfold audit verify --table auditV3 --through auditV3 --anchors anchors")]
    Verify(VerifyArgs),
}

/// The journal, and how fast the trail is read.
#[derive(Debug, clap::Args)]
pub(crate) struct TrailArgs {
    /// The name of the journal's table in DynamoDB [default: the manifest's `audit-journal`].
    #[arg(long, value_name = "NAME", env = "KEYFOLD_AUDIT_JOURNAL")]
    journal: Option<String>,
    /// The maximum read units per second.
    #[arg(long, value_name = "UNITS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AnchorArgs {
    #[command(flatten)]
    trail: TrailArgs,
    /// The folder with all earlier anchors. The new one names the newest of them.
    #[arg(long, value_name = "DIR")]
    anchors: PathBuf,
    /// Where the new anchor is written [default: into that folder].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The UTC day [default: the newest that has been over for an hour].
    #[arg(long, value_name = "DAY")]
    day: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    trail: TrailArgs,
    /// The table of the events [default: the table of the manifest's audit writer].
    #[arg(long, short, value_name = "TABLE")]
    table: Option<String>,
    /// The retrofit that carried older events into the table.
    #[arg(long, value_name = "RETROFIT")]
    through: Option<String>,
    /// The folder with all anchors: each day that is over must have one. Without it, a missing chain or end of a chain is not found.
    #[arg(long, value_name = "DIR")]
    anchors: Option<PathBuf>,
    /// Only this UTC day.
    #[arg(long, value_name = "DAY", conflicts_with_all = ["from", "to"])]
    day: Option<String>,
    /// The first UTC day [default: the journal's first].
    #[arg(long, value_name = "DAY")]
    from: Option<String>,
    /// The last UTC day [default: today].
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
    /// A folded key that the manifest no longer has: items may still have it, and nothing proves its value.
    #[arg(long = "former-key", value_name = "ATTRIBUTE")]
    former_keys: Vec<String>,
    /// The attribute with an event's id.
    #[arg(long, value_name = "ATTRIBUTE", env = "KEYFOLD_AUDIT_ID", default_value = "id")]
    id: String,
    /// The attribute in which the audit writer notes how it received an event.
    #[arg(long, value_name = "ATTRIBUTE", env = "KEYFOLD_AUDIT_RECEIVED", default_value = "received")]
    received: String,
}

pub(super) fn run(globals: &Globals, command: &AuditCommand, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let env = Env { model: &model, globals, out };
    block_on(async {
        match command {
            AuditCommand::Anchor(args) => anchor_day(&env, args).await,
            AuditCommand::Verify(args) => verify_trail(&env, args).await,
        }
    })
}

/// The name of the journal's table, and a client.
async fn journal<'a>(env: &'a Env<'_>, args: &'a TrailArgs) -> anyhow::Result<(&'a str, Client)> {
    let declared = env.model.deploy.audit_journal.as_deref();
    let name = args.journal.as_deref().or(declared).context(
        "the manifest declares no journal: set `audit-journal` under [deploy], or give its table with --journal",
    )?;
    Ok((name, env.globals.client().await?))
}

async fn anchor_day(env: &Env<'_>, args: &AnchorArgs) -> anyhow::Result<ExitCode> {
    let (journal, client) = journal(env, &args.trail).await?;
    let mut anchors = read_anchors(&args.anchors)?.anchors;
    if !links(&mut anchors).is_empty() {
        anyhow::bail!(
            "the anchors in `{}` do not follow one another ({}): the folder lacks some, or one was changed",
            args.anchors.display(),
            FindingKind::AnchorBroken.name()
        );
    }
    let made = now();
    let day = match &args.day {
        Some(day) => day.clone(),
        None => last_whole_day(&made)?,
    };
    let previous = anchors.last().map(|(_, hash)| *hash);
    let anchor = anchor(&client, journal, &day, &made, previous, f64::from(args.trail.rate)).await?;
    let path = write_anchor(args.out.as_ref().unwrap_or(&args.anchors), &anchor)?;
    let (chains, rows) = (anchor.chains.len(), anchor.chains.values().map(|end| end.rows).sum::<u64>());
    let open = if anchor.closed { "" } else { "; the day is not over, so anchor it again" };
    env.out.show(
        &json!({ "file": path, "day": day, "closed": anchor.closed, "chains": chains, "rows": rows }),
        format!("{}: {day}, {}, {rows} rows{open}\n", path.display(), counted(chains, "chain")),
    )?;
    Ok(ExitCode::SUCCESS)
}

async fn verify_trail(env: &Env<'_>, args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let (model, out) = (env.model, env.out);
    let (journal, client) = journal(env, &args.trail).await?;
    let name = args.table.as_deref().or(model.deploy.audit_writer.as_deref());
    let name = name.context("the manifest declares no audit writer: give the events' table with --table")?;
    let carried = args.through.as_deref().map(|name| Carried::through(model, name)).transpose()?;
    let trail = Trail {
        client: &client,
        table: table(model, name)?,
        journal,
        id: &args.id,
        received: &args.received,
        carried: carried.as_ref(),
        former_keys: &args.former_keys,
    };
    let options = VerifyOptions {
        from: args.day.clone().or(args.from.clone()),
        to: args.day.clone().or(args.to.clone()),
        now: now(),
        anchors: args.anchors.as_deref().map(read_anchors).transpose()?,
        units_per_second: f64::from(args.trail.rate),
    };
    let report = verify(&trail, options).await?;
    if out.json {
        let mut value = serde_json::to_value(&report)?;
        value["findings"] = report.findings.iter().map(as_json).collect();
        value["clean"] = json!(report.is_clean());
        out.value(&value)?;
    } else {
        print(&report, args, out);
    }
    Ok(exit_code(report.is_clean()))
}

fn as_json(finding: &Finding) -> Value {
    let key = finding
        .key
        .as_ref()
        .map(|key| -> Value { key.iter().map(|(name, value)| (name.clone(), plain_value(value))).collect() });
    let mut value = json!(finding);
    if let Some(key) = key {
        value["key"] = key;
    }
    value
}

fn print(report: &Report, args: &VerifyArgs, out: &Output) {
    for finding in report.findings.iter().take(SHOWN_MAX) {
        out.text(format!("{}\n", shown(finding)));
    }
    let all: u64 = report.found.values().sum();
    if all > SHOWN_MAX as u64 {
        out.text(format!("and more: {} findings, see --json\n", grouped(all)));
    }
    let count = |name: &str, value: u64| row(name, grouped(value));
    let events = &report.events;
    let mut rows = vec![
        row("days", format!("{} to {}", report.from, report.to)),
        count("chains", report.chains),
        count("rows", report.rows),
        count("anchors", report.anchors),
        count("items", report.items),
        count("as they were written", events.proved),
    ];
    // Counts that are almost always zero are shown only if they are not.
    let rare = [
        ("in the table, but never confirmed as written", events.unconfirmed),
        ("not in the table, and never confirmed as written", events.never_confirmed),
        ("deleted after their time to live", events.expired),
        ("received before there was a journal", events.before_journal),
        ("written during this verification", events.recent),
    ];
    rows.extend(rare.into_iter().filter(|(_, value)| *value > 0).map(|(name, value)| count(name, value)));
    rows.extend(report.found.iter().map(|(name, value)| count(name, *value)));
    rows.push(row("read units", format!("{:.1}", report.read_units)));
    out.text(columns(&rows));
    if args.anchors.is_none() {
        out.note("without anchors, a chain that is gone, or its end, is not found: give --anchors\n");
    }
    out.text(if report.is_clean() {
        "the trail is as it was written\n"
    } else {
        "the trail is NOT as it was written\n"
    });
}

/// `changed {"id":"17"}`, `key-changed {"id":"17"} byUser_pk`, `row-missing 2026-11-23 a1b2... row 4`.
fn shown(finding: &Finding) -> String {
    let value = as_json(finding);
    let mut text = finding.kind.name().to_owned();
    if finding.key.is_some() {
        text += &format!(" {}", value["key"]);
    }
    for part in [&finding.attribute, &finding.file, &finding.day, &finding.chain].into_iter().flatten() {
        text += &format!(" {part}");
    }
    if let Some(row) = finding.row {
        text += &format!(" row {row}");
    }
    text
}
