//! `keyfold audit verify`: the table against the journal and the anchors.

use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::audit::Finding;
use keyfold_core::model::Model;
use keyfold_trail::{Carried, Report, Trail, VerifyOptions, now, read_anchors, verify};
use serde_json::{Value, json};

use super::journal;
use crate::args::VerifyArgs;
use crate::items::plain_value;
use crate::manifest_file::table;
use crate::output::{Output, columns, grouped};

/// The most findings that are printed for people.
const SHOWN_MAX: usize = 100;

pub(super) async fn run(model: &Model, args: &VerifyArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let (journal, client) = journal(model, &args.trail).await?;
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
    };
    let options = VerifyOptions {
        from: args.day.clone().or(args.from.clone()),
        to: args.day.clone().or(args.to.clone()),
        now: now(),
        anchors: args.anchors.as_deref().map(read_anchors).transpose()?.unwrap_or_default(),
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
    Ok(ExitCode::from(u8::from(!report.is_clean())))
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
    let row = |name: &str, value: u64| vec![name.to_owned(), grouped(value)];
    let events = &report.events;
    let mut rows = vec![
        vec!["days".to_owned(), format!("{} to {}", report.from, report.to)],
        row("chains", report.chains),
        row("rows", report.rows),
        row("anchors", report.anchors),
        row("items", report.items),
        row("as they were written", events.proved),
    ];
    // What is zero almost always is shown only where it is not.
    let rare = [
        ("there, without a word that they were written", events.unconfirmed),
        ("not there, and never told as written", events.never_confirmed),
        ("deleted after their time to live", events.expired),
        ("received before there was a journal", events.before_journal),
        ("written during this verification", events.recent),
    ];
    rows.extend(rare.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| row(name, count)));
    rows.extend(report.found.iter().map(|(name, count)| row(name, *count)));
    rows.push(vec!["read units".to_owned(), format!("{:.1}", report.read_units)]);
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

/// `changed {"id":"17"}`, `row-missing 2026-11-23 a1b2... row 4`.
fn shown(finding: &Finding) -> String {
    let value = as_json(finding);
    let mut text = finding.kind.name().to_owned();
    if finding.key.is_some() {
        text += &format!(" {}", value["key"]);
    }
    for part in [&finding.day, &finding.chain].into_iter().flatten() {
        text += &format!(" {part}");
    }
    if let Some(row) = finding.row {
        text += &format!(" row {row}");
    }
    text
}
