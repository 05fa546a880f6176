//! `keyfold template`: writes the template of the manifest, or compares one that was changed by hand with it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_edge::MANIFEST_FILE;
use keyfold_template::{self as template, Finding, Manifest, Stage, read};
use serde_json::{Value, json};

use crate::globals::Globals;
use crate::manifest_file::{declared, manifest_text};
use crate::output::{Output, counted};
use crate::support::exit_code;
use crate::zip;

#[derive(Debug, clap::Args)]
pub(crate) struct TemplateArgs {
    /// Compare this template with the manifest's. Exits with 1 if a difference breaks something.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "template.yaml", conflicts_with_all = ["stages", "stage"])]
    pub(crate) check: Option<PathBuf>,
    /// List the deployments that new global indexes of a live table need: each deployment adds one.
    #[arg(long)]
    pub(crate) stages: bool,
    /// Print the tables for this deployment of `--stages`.
    #[arg(long, value_name = "N")]
    pub(crate) stage: Option<usize>,
    /// For the deployments: a global index that the live table already has.
    #[arg(long, value_name = "TABLE.INDEX")]
    pub(crate) have: Vec<String>,
    /// Write the template to this file, and the manifest and the state machine to the folder `.keyfold` next to it, for `sam build`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "only"])]
    pub(crate) out: Option<PathBuf>,
    /// Print only this, as JSON: each function's rights, environment and mappings, for those who deploy by other means.
    #[arg(long, value_parser = ["rights"])]
    pub(crate) only: Option<String>,
}

pub(super) fn run(globals: &Globals, args: &TemplateArgs, out: &Output) -> anyhow::Result<ExitCode> {
    // The names of the manifest: each deployment adds its prefix to them.
    let model = declared(&globals.manifest, out)?;
    let manifest = Manifest { model: &model, digest: zip::digest(manifest_text(&globals.manifest)?) };
    if args.stages || args.stage.is_some() {
        return stages(globals, &manifest, args, out);
    }
    let text = template::generate(&manifest, &|_, _| true)?;
    match &args.check {
        Some(file) => check(globals, &text, file, out),
        None => print(globals, &manifest, &text, args, out),
    }
}

fn print(
    globals: &Globals,
    manifest: &Manifest<'_>,
    text: &str,
    args: &TemplateArgs,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.out {
        write(globals, manifest, text, file)?;
        let name = file.display();
        out.text(format!("{name}: for the manifest `{}`, {}\n", globals.manifest.display(), manifest.digest));
        return Ok(ExitCode::SUCCESS);
    }
    match (args.only.is_some(), out.json) {
        (true, _) => out.value(&template::settings(&read(text)?))?,
        (false, true) => out.value(&template::as_json(&read(text)?))?,
        (false, false) => {
            out.text(text);
            out.note("note: `sam build` also needs the folder `.keyfold`, which `--out FILE` writes next to the template\n");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the template, and the files that `sam build` and `sam deploy` pack next to it.
fn write(globals: &Globals, manifest: &Manifest<'_>, text: &str, file: &Path) -> anyhow::Result<()> {
    let packed = file.with_file_name(template::PACKED);
    let layer = packed.join(manifest.layer());
    let write = |path: PathBuf, bytes: &[u8]| {
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))
            .and_then(|()| std::fs::write(&path, bytes))
            .with_context(|| format!("cannot write `{}`", path.display()))
    };
    write(layer.join(MANIFEST_FILE), manifest_text(&globals.manifest)?.as_bytes())?;
    write(packed.join(template::MACHINE_FILE), template::MACHINE.as_bytes())?;
    write(file.to_owned(), text.as_bytes())
}

fn check(globals: &Globals, wanted: &str, file: &Path, out: &Output) -> anyhow::Result<ExitCode> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read the template `{name}`"))?;
    let text = template_text(text);
    let (wanted, found) = (read(wanted)?, read(&text).with_context(|| format!("template `{name}`"))?);
    // A bundle's template is compared without SAM, whatever its functions' code is.
    let manifest = zip::key("manifest", "zip", &zip::layer(&manifest_text(&globals.manifest)?));
    let machine = zip::key("retrofit", "asl.json", template::MACHINE.as_bytes());
    let findings = match template::code_of(&found, &manifest, &machine) {
        Some((keys, architecture)) => {
            template::compare(&template::expand(&wanted, &keys, architecture), &found)
        }
        None => template::compare(&wanted, &found),
    };
    let breaks = findings.iter().filter(|finding| finding.breaks.is_some()).count();
    if out.json {
        let entry = |finding: &Finding| json!({ "line": finding.line, "place": finding.place, "what": finding.what, "breaks": finding.breaks });
        out.value(&json!({ "template": name.to_string(), "findings": findings.iter().map(entry).collect::<Vec<_>>() }))?;
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
    Ok(exit_code(breaks == 0))
}

/// The template in what `aws cloudformation get-template --output json` prints: a text as a JSON string, or JSON with white space, which does
/// not count for CloudFormation's limit.
fn template_text(text: String) -> String {
    match serde_json::from_str(&text) {
        Ok(Value::String(template)) => template,
        Ok(value) if text.len() > template::TEMPLATE_BYTES_MAX => value.to_string(),
        _ => text,
    }
}

/// The deployments that bring all global indexes to tables that have only these.
fn deployments(manifest: &Manifest<'_>, have: &[String]) -> anyhow::Result<Vec<Stage>> {
    let have: BTreeSet<String> = have.iter().cloned().collect();
    for name in &have {
        let index = name.split_once('.').and_then(|(table, index)| manifest.model.table(table)?.index(index));
        if index.is_none() {
            bail!("the manifest has no index `{name}` (write it as TABLE.INDEX)");
        }
    }
    Ok(template::stages(manifest, &have)?)
}

/// The template of one of these deployments.
pub(super) fn stage(manifest: &Manifest<'_>, have: &[String], number: usize) -> anyhow::Result<String> {
    let stages = deployments(manifest, have)?;
    match stages.iter().find(|stage| stage.number == number) {
        Some(stage) => Ok(stage.template.clone()),
        None => bail!("there is no stage {number}: all indexes exist after stage {}", stages.len()),
    }
}

fn stages(
    globals: &Globals,
    manifest: &Manifest<'_>,
    args: &TemplateArgs,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    if let Some(number) = args.stage {
        return print(globals, manifest, &stage(manifest, &args.have, number)?, args, out);
    }
    let stages = deployments(manifest, &args.have)?;
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
