//! `keyfold template`: writes the template of the manifest, or compares one that was changed by hand with it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::model::Model;
use keyfold_template::{self as template, Finding, read};
use serde_json::{Value, json};

use crate::args::{TemplateArgs, TemplateFormat};
use crate::manifest_file::{counted, declared};
use crate::output::Output;

pub(super) fn run(path: &Path, args: &TemplateArgs, out: &Output) -> anyhow::Result<ExitCode> {
    // Its names are the manifest's: each deployment puts its prefix before them.
    let model = declared(path, out)?;
    if args.stages || args.stage.is_some() {
        return stages(&model, args, out);
    }
    let text = template::generate(&model, &|_, _| true)?;
    match &args.check {
        Some(file) => check(&text, file, out),
        None => print(&text, args, out),
    }
}

fn print(text: &str, args: &TemplateArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let json = out.json || args.format == TemplateFormat::Json;
    match (args.only.is_some(), json) {
        (true, _) => out.value(&template::settings(&read(text)?))?,
        (false, true) => out.value(&template::as_json(&read(text)?))?,
        (false, false) => out.text(text),
    }
    Ok(ExitCode::SUCCESS)
}

fn check(wanted: &str, file: &Path, out: &Output) -> anyhow::Result<ExitCode> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read the template `{name}`"))?;
    let findings = template::compare(wanted, &text).with_context(|| format!("template `{name}`"))?;
    let breaks = findings.iter().filter(|finding| finding.breaks.is_some()).count();
    if out.json {
        let one = |finding: &Finding| json!({ "line": finding.line, "place": finding.place, "what": finding.what, "breaks": finding.breaks });
        out.value(&json!({ "template": name.to_string(), "findings": findings.iter().map(one).collect::<Vec<_>>() }))?;
    } else {
        for finding in &findings {
            out.note(format!("{name}:{}: {finding}\n", finding.line));
        }
        let all = counted(findings.len(), "difference");
        out.text(format!(
            "{name}: {all}, {breaks} of them {}\n",
            if breaks == 1 { "breaks something" } else { "break something" }
        ));
    }
    Ok(ExitCode::from(u8::from(breaks > 0)))
}

fn stages(model: &Model, args: &TemplateArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let have: BTreeSet<String> = args.have.iter().cloned().collect();
    for name in &have {
        let known = name.split_once('.').and_then(|(table, index)| model.table(table)?.index(index));
        if known.is_none() {
            bail!("the manifest has no index `{name}` (write it as TABLE.INDEX)");
        }
    }
    let stages = template::stages(model, &have)?;
    if let Some(number) = args.stage {
        return match stages.iter().find(|stage| stage.number == number) {
            Some(stage) => print(&stage.template, args, out),
            None => bail!("there is no stage {number}: all indexes exist after stage {}", stages.len()),
        };
    }
    if out.json {
        let stages: Vec<Value> =
            stages.iter().map(|stage| json!({ "stage": stage.number, "adds": stage.adds })).collect();
        out.value(&stages)?;
        return Ok(ExitCode::SUCCESS);
    }
    if stages.is_empty() {
        out.text("nothing to add: every global index exists\n");
    }
    for stage in stages {
        let adds = stage.adds.iter().map(|(table, index)| format!("index `{index}` to table `{table}`"));
        out.text(format!("deployment {}: {}\n", stage.number, adds.collect::<Vec<_>>().join(", ")));
    }
    Ok(ExitCode::SUCCESS)
}
