//! `keyfold template`: prints the tables of the CloudFormation template, or compares a template with the manifest.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::model::Model;
use serde_json::{Value, json};

use crate::args::TemplateArgs;
use crate::manifest_file::{counted, model};
use crate::output::Output;
use crate::template::{self, Finding, Node, Stage};

pub(super) fn run(path: &Path, args: &TemplateArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    if let Some(file) = &args.check {
        return check(&model, args, file, out);
    }
    if args.stages || args.stage.is_some() {
        return stages(&model, args, out);
    }
    part(&template::tables(&model, &args.control), out)
}

fn part(resources: &Node, out: &Output) -> anyhow::Result<ExitCode> {
    let part = Node::map([("Resources", resources.clone())]);
    if out.json {
        out.value(&template::json(&part))?;
    } else {
        out.text(template::text(&part));
    }
    Ok(ExitCode::SUCCESS)
}

fn check(model: &Model, args: &TemplateArgs, file: &Path, out: &Output) -> anyhow::Result<ExitCode> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read the template `{name}`"))?;
    let findings =
        template::check(model, &args.control, &text).with_context(|| format!("template `{name}`"))?;
    if out.json {
        let one = |finding: &Finding| json!({ "line": finding.line, "code": finding.code, "message": finding.message });
        out.value(&json!({ "template": name.to_string(), "findings": findings.iter().map(one).collect::<Vec<_>>() }))?;
    } else {
        for finding in &findings {
            out.note(format!("{name}:{}: {finding}\n", finding.line));
        }
        out.text(format!("{name}: {}\n", counted(findings.len(), "difference")));
    }
    Ok(ExitCode::from(u8::from(!findings.is_empty())))
}

fn stages(model: &Model, args: &TemplateArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let have: BTreeSet<String> = args.have.iter().cloned().collect();
    for name in &have {
        let known = name.split_once('.').and_then(|(table, index)| model.table(table)?.index(index));
        if known.is_none() {
            bail!("the manifest has no index `{name}` (write it as TABLE.INDEX)");
        }
    }
    let stages = template::stages(model, &args.control, &have);
    match args.stage {
        None => all(&stages, out),
        Some(number) => match stages.iter().find(|stage| stage.number == number) {
            Some(stage) => part(&stage.resources, out),
            None => bail!("there is no stage {number}: all indexes exist after stage {}", stages.len()),
        },
    }
}

fn all(stages: &[Stage], out: &Output) -> anyhow::Result<ExitCode> {
    if out.json {
        let one = |stage: &Stage| json!({ "stage": stage.number, "adds": stage.adds, "resources": template::json(&stage.resources) });
        let stages: Vec<Value> = stages.iter().map(one).collect();
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
