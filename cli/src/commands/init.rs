//! `keyfold init`: a manifest from existing tables, models and items, and the proof that it folds the sampled items to the keys they have.

mod new_index;
mod sample;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::manifest::{self, Severity};
use keyfold_init::draft::Draft;
use keyfold_init::{EntityHint, Options, Problem, Proof, ReadError, Report, SOURCE_BYTES_MAX, Source};
use serde_json::{Value, json};

use self::sample::coded;
use crate::globals::Globals;
use crate::output::{Output, columns, counted};
use crate::support::exit_code;

/// The name that standard input has in messages.
const STDIN: &str = "standard input";

#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Files; `-` reads standard input.
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,
    /// A live table to describe and sample; it is only read. With --new-index: the table that gets the index.
    #[arg(long, short, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// Where the manifest is written. `-` prints it.
    #[arg(long, value_name = "FILE", default_value = "keyfold.toml")]
    pub(crate) out: PathBuf,
    /// Overwrite an existing file.
    #[arg(long)]
    pub(crate) force: bool,
    /// The maximum read units that the sample may consume: at least 50, the price of the largest item.
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u32).range(50..=100_000))]
    pub(crate) read_units: u32,
    /// Let comments hold values of items, not only counts.
    #[arg(long)]
    pub(crate) examples: bool,
    /// Entities that you know: NAME:ATTRIBUTE=VALUE, with a `*` at the end for the beginning of a key, as in
    /// `Order:type=ORDER,Customer:PK=CUST#*`. Other entities are inferred.
    #[arg(long, value_name = "HINT", value_delimiter = ',')]
    pub(crate) entities: Vec<EntityHint>,
    /// Add an index to the manifest: partition attributes, and sort attributes behind a slash.
    #[arg(long, value_name = "A, B / C", conflicts_with_all = ["sources", "out", "examples", "entities"])]
    pub(crate) new_index: Option<String>,
    /// With --new-index: the entity that the question is about. If only one has all of these attributes, it is that one.
    #[arg(long, value_name = "NAME", requires = "new_index")]
    pub(crate) entity: Option<String>,
}

pub(super) fn run(globals: &Globals, args: &InitArgs, out: &Output) -> anyhow::Result<ExitCode> {
    if let Some(index) = &args.new_index {
        let (table, entity) = (args.table.as_deref(), args.entity.as_deref());
        return new_index::run(globals, table, entity, index, out);
    }
    if args.sources.is_empty() && args.table.is_none() {
        bail!("give a file, or a live table with --table (see `keyfold init --help`)");
    }
    let printed = args.out == Path::new("-");
    if !printed && !args.force && args.out.exists() {
        bail!("`{}` exists: give another file with --out, or --force to overwrite it", args.out.display());
    }
    let mut drafts: Vec<(String, Draft)> = Vec::new();
    for source in &args.sources {
        let source = read_source(source)?;
        drafts.push((source.name.clone(), keyfold_init::read(&source).map_err(coded)?));
    }
    let mut sampled = None;
    if let Some(table) = &args.table {
        let (draft, described) = sample::live(globals, table, args.read_units)?;
        drafts.push((format!("table {table}"), draft));
        sampled = Some(described);
    }
    let options = Options { examples: args.examples, entities: args.entities.clone() };
    let report = keyfold_init::init(drafts, &options).map_err(coded)?;
    if printed {
        out.text(&report.manifest);
    } else {
        std::fs::write(&args.out, &report.manifest)
            .with_context(|| format!("cannot write `{}`", args.out.display()))?;
    }
    let parsed = manifest::parse(&args.out.display().to_string(), &report.manifest);
    let errors = parsed.diagnostics.iter().filter(|one| one.severity == Severity::Error).count();
    if out.json && !printed {
        out.value(&as_json(args, &report, errors, sampled.as_ref()))?;
    } else {
        out.note(for_people(args, &report, errors, sampled.as_ref()));
    }
    Ok(exit_code(errors == 0 && report.agrees()))
}

/// A file's text, if it is not too large.
fn read_source(path: &PathBuf) -> anyhow::Result<Source> {
    let from_stdin = path == Path::new("-");
    let name = if from_stdin { STDIN.to_owned() } else { path.display().to_string() };
    let problem = |problem| coded(ReadError { source_name: name.clone(), place: String::new(), problem });
    let (mut bytes, most) = (Vec::new(), SOURCE_BYTES_MAX as u64 + 1);
    let read = match from_stdin {
        true => std::io::stdin().lock().take(most).read_to_end(&mut bytes),
        false => std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    read.with_context(|| format!("cannot read `{name}`"))?;
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
