//! `keyfold init`: a manifest from what there is, and the proof that it folds the sampled items to the keys they have.

mod new_index;
mod sample;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::manifest::{self, Severity};
use keyfold_init::draft::Draft;
use keyfold_init::{Options, Problem, Proof, ReadError, Report, SOURCE_BYTES_MAX, Source};
use serde_json::{Value, json};

use crate::args::InitArgs;
use crate::manifest_file::counted;
use crate::output::{Output, columns};

/// The name that standard input has in messages.
const STDIN: &str = "standard input";

pub(super) fn run(path: &Path, args: &InitArgs, out: &Output) -> anyhow::Result<ExitCode> {
    if let Some(index) = &args.new_index {
        return new_index::run(path, args, index, out);
    }
    if args.sources.is_empty() && args.table.is_none() {
        bail!("give a file, or a live table with --table (see `keyfold init --help`)");
    }
    let printed = args.out == Path::new("-");
    if !printed && !args.force && args.out.exists() {
        bail!("`{}` exists: give another file with --out, or --force to write over it", args.out.display());
    }
    let mut drafts: Vec<(String, Draft)> = Vec::new();
    for source in &args.sources {
        let source = read_source(source)?;
        drafts.push((source.name.clone(), keyfold_init::read(&source).map_err(said)?));
    }
    let mut sampled = None;
    if let Some(table) = &args.table {
        let (draft, described) = sample::live(table, args)?;
        drafts.push((format!("table {table}"), draft));
        sampled = Some(described);
    }
    let report = keyfold_init::init(drafts, Options { examples: args.examples }).map_err(said)?;
    if printed {
        out.text(&report.manifest);
    } else {
        std::fs::write(&args.out, &report.manifest)
            .with_context(|| format!("cannot write `{}`", args.out.display()))?;
    }
    let parsed = manifest::parse(&args.out.display().to_string(), &report.manifest);
    let errors = parsed.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    if out.json && !printed {
        out.value(&as_json(args, &report, errors, sampled.as_ref()))?;
    } else {
        out.note(for_people(args, &report, errors, sampled.as_ref()));
    }
    Ok(ExitCode::from(u8::from(errors > 0 || !report.agrees())))
}

/// The error, with its stable code.
fn said(error: ReadError) -> anyhow::Error {
    let code = error.code();
    anyhow::Error::new(error).context(code)
}

/// A file's text. Nothing is read of one that is too large.
fn read_source(path: &PathBuf) -> anyhow::Result<Source> {
    let from_stdin = path == Path::new("-");
    let name = if from_stdin { STDIN.to_owned() } else { path.display().to_string() };
    let problem = |problem| said(ReadError { source_name: name.clone(), place: String::new(), problem });
    let mut bytes = Vec::new();
    let most = SOURCE_BYTES_MAX as u64 + 1;
    if from_stdin {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| format!("cannot read `{name}`"))?;
        let metadata = file.metadata().with_context(|| format!("cannot read `{name}`"))?;
        if metadata.is_dir() {
            bail!("`{name}` is a folder: give the files in it");
        }
        if metadata.len() >= most {
            return Err(problem(Problem::TooLarge));
        }
        file.take(most).read_to_end(&mut bytes).with_context(|| format!("cannot read `{name}`"))?;
    }
    if bytes.len() > SOURCE_BYTES_MAX {
        return Err(problem(Problem::TooLarge));
    }
    let text = String::from_utf8(bytes).map_err(|_| problem(Problem::NotUtf8))?;
    Ok(Source { name, text })
}

fn as_json(args: &InitArgs, report: &Report, errors: usize, sampled: Option<&sample::Sampled>) -> Value {
    let proof = |proof: &Proof| {
        json!({
            "table": proof.table, "entity": proof.entity, "key": proof.key,
            "same": proof.same, "absent": proof.absent, "differs": proof.differs,
            "example": proof.example.as_ref().map(|(stored, folded)| json!({ "stored": stored, "folded": folded })),
        })
    };
    json!({
        "manifest": args.out.display().to_string(),
        "tables": report.tables,
        "errors": errors,
        "items": report.items,
        "agrees": report.agrees(),
        "proof": report.proofs.iter().map(proof).collect::<Vec<_>>(),
        "questions": { "planned": report.planned.0, "asked": report.planned.1 },
        "asComments": report.refused.iter().map(|(section, why)| json!({ "section": section, "why": why })).collect::<Vec<_>>(),
        "notes": report.notes,
        "sample": sampled.map(sample::Sampled::as_json),
    })
}

fn for_people(args: &InitArgs, report: &Report, errors: usize, sampled: Option<&sample::Sampled>) -> String {
    let mut text = String::new();
    let mut line = |one: String| {
        text.push_str(&one);
        text.push('\n');
    };
    if let Some(sampled) = sampled {
        line(sampled.to_string());
    }
    for note in &report.notes {
        line(format!("note: {note}"));
    }
    for (section, why) in &report.refused {
        line(format!("as a comment: [{section}]: {why}"));
    }
    if !report.proofs.is_empty() {
        let head = ["entity", "key", "same", "absent in both", "differs"].map(str::to_owned).to_vec();
        let row = |proof: &Proof| {
            let entity = if proof.entity.is_empty() { proof.table.clone() } else { proof.entity.clone() };
            let numbers = [proof.same, proof.absent, proof.differs].map(|number| number.to_string());
            [vec![entity, proof.key.clone()], numbers.to_vec()].concat()
        };
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(report.proofs.iter().map(row)).collect();
        line(format!("\n{} folded with the new manifest:", counted(report.items, "item")));
        line(columns(&rows));
        for proof in report.proofs.iter().filter(|proof| proof.differs > 0) {
            if let Some((stored, folded)) = &proof.example {
                line(format!("{} {}: stored `{stored}`, folded `{folded}`", proof.entity, proof.key));
            }
        }
    }
    let (planned, asked) = report.planned;
    let check = if errors == 0 { "`check` passes".to_owned() } else { counted(errors, "error") };
    line(format!(
        "{}: {}, {planned} of {} have a plan; {check}",
        args.out.display(),
        counted(report.tables.len(), "table"),
        counted(asked, "question"),
    ));
    text
}
