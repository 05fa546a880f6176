//! `keyfold init`: a manifest from existing sources.
//!
//! The input is texts and sampled items; the output is a manifest with comments and a [`Report`]. Nothing here reads a
//! file or calls DynamoDB.
//!
//! The path of a source: `source` detects its format, one module for each format fills a [`draft::Draft`], `overlay`
//! merges several, `hints` names entities, `infer` adds findings from items, `tell` finds the conditions of entities, `questions` adds a
//! question for each key, `write` produces the text, and `prove` folds every item again.
//!
//! Start with [`init`].

mod cloudformation;
mod cursor;
mod describe;
pub mod draft;
mod electrodb;
mod error;
mod hints;
mod infer;
mod items;
mod mcp;
mod name;
mod onetable;
mod overlay;
mod prove;
mod questions;
mod source;
mod tell;
mod template;
mod terraform;
mod workbench;
mod write;

pub use error::{Problem, ReadError, SOURCE_BYTES_MAX};
pub use hints::EntityHint;
pub use items::ITEMS_MAX;
pub use prove::Proof;
pub use source::{Source, read};

use keyfold_core::manifest::{self, Severity};
use keyfold_core::query::advise::advise;

use draft::Draft;
use write::Refused;

/// Maximum attempts to write the text without the parts that its check refused.
const ROUNDS_MAX: usize = 60;

/// The options.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// May comments contain values of items?
    pub examples: bool,
    /// Entities that the user names.
    pub entities: Vec<EntityHint>,
}

/// The report.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The manifest.
    pub manifest: String,
    /// Unknown, conflicting and unsupported parts of the sources.
    pub notes: Vec<String>,
    /// Sections written as comments, with the reason.
    pub refused: Vec<(String, String)>,
    /// The proof, by table, entity and key.
    pub proofs: Vec<Proof>,
    /// How many items were folded.
    pub items: usize,
    /// The tables, by id.
    pub tables: Vec<String>,
    /// The number of questions with a plan, and of all questions.
    pub planned: (usize, usize),
}

impl Report {
    /// Does every sampled item fold to the keys it has?
    pub fn agrees(&self) -> bool {
        self.proofs.iter().all(|proof| proof.differs == 0)
    }
}

/// Builds a manifest from sources, each read with [`read`] or from a live table.
pub fn init(drafts: Vec<(String, Draft)>, options: &Options) -> Result<Report, ReadError> {
    let (names, drafts): (Vec<String>, Vec<Draft>) = drafts.into_iter().unzip();
    let mut draft = overlay::overlay(drafts)?;
    hints::assign(&mut draft, &options.entities)?;
    infer::infer(&mut draft, options.examples);
    questions::complete(&mut draft);
    let mut refused = Refused::new();
    let (mut text, mut model) = checked(&draft, &names, &mut refused);
    if let Some(parsed) = &model {
        let unserved = serve(&mut draft, parsed);
        if unserved {
            (text, model) = checked(&draft, &names, &mut refused);
        }
    }
    // A question that still has no index becomes a comment.
    if let Some(parsed) = &model {
        let ids = write::table_ids(&draft);
        let mut again = false;
        for advice in advise(parsed) {
            if let Err(error) = &advice.outcome {
                let section = format!("questions.{}.{}", advice.table.id, advice.question.name);
                debug_assert!(ids.contains(&advice.table.id));
                again |= refused.insert(section, error.to_string()).is_none();
            }
        }
        if again {
            (text, model) = checked(&draft, &names, &mut refused);
        }
    }
    let ids = write::table_ids(&draft);
    let proofs = ids
        .iter()
        .zip(&draft.tables)
        .filter_map(|(id, table)| Some(prove::prove(model.as_ref()?.table(id)?, table)))
        .flatten()
        .collect();
    let mut notes = draft.notes.clone();
    for (id, table) in ids.iter().zip(&draft.tables) {
        notes.extend(table.notes.iter().map(|note| format!("table {id}: {note}")));
        notes.extend(table.unmodelled.iter().map(|what| format!("table {id}: not modelled: {what}")));
    }
    let asked: usize = draft.tables.iter().map(|table| table.questions.len()).sum();
    let out = refused.keys().filter(|section| section.starts_with("questions.")).count();
    Ok(Report {
        manifest: text,
        notes,
        refused: refused.into_iter().collect(),
        proofs,
        items: draft.tables.iter().map(|table| table.items.len()).sum(),
        tables: ids,
        planned: (asked.saturating_sub(out), asked),
    })
}

/// The text, without the parts that its own check refuses.
fn checked(
    draft: &Draft,
    names: &[String],
    refused: &mut Refused,
) -> (String, Option<keyfold_core::model::Model>) {
    let mut draft = std::borrow::Cow::Borrowed(draft);
    for round in 0..ROUNDS_MAX {
        let text = write::manifest(&draft, names, refused);
        let parsed = manifest::parse("keyfold.toml", &text);
        if let Some(model) = parsed.model {
            return (text, Some(model));
        }
        let mut progress = false;
        for found in parsed.diagnostics.iter().filter(|found| found.severity == Severity::Error) {
            let section = section_of(&text, found.line);
            let section = section.strip_suffix(".attributes").map_or(section.clone(), str::to_owned);
            let removable = section.starts_with("questions.") || section.contains(".entities.");
            if removable && !refused.contains_key(&section) {
                refused.insert(section, found.message.clone());
                progress = true;
            }
        }
        if !progress || round + 1 == ROUNDS_MAX {
            // Keys without templates: the structure alone is always valid.
            let plain = draft.to_mut();
            let had = plain.tables.iter().any(|table| !table.entities.is_empty());
            if !had {
                return (text, None);
            }
            let first = parsed.diagnostics.first().map(|found| found.message.clone()).unwrap_or_default();
            for table in &mut plain.tables {
                table.entities.clear();
                table
                    .notes
                    .push(format!("its templates are left out, because the check refuses them: {first}"));
            }
        }
    }
    (write::manifest(&draft, names, refused), None)
}

/// The section of a manifest with this line.
fn section_of(text: &str, line: usize) -> String {
    let before: Vec<&str> = text.lines().take(line).collect();
    let header = before.iter().rev().find_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    header.unwrap_or_default().to_owned()
}

/// If an index cannot answer a question because it may lack items, the question also requires the index's parts.
fn serve(draft: &mut Draft, model: &keyfold_core::model::Model) -> bool {
    let ids = write::table_ids(draft);
    let mut changed = false;
    for advice in advise(model) {
        if advice.outcome.is_ok() {
            continue;
        }
        let Some(at) = ids.iter().position(|id| *id == advice.table.id) else { continue };
        let question = draft.tables[at].questions.iter_mut().find(|one| one.name == advice.question.name);
        for condition in question.into_iter().flat_map(|question| &mut question.conditions) {
            if let Some(attribute) = condition.strip_suffix('?') {
                let attribute = attribute.split(' ').next().unwrap_or(attribute);
                *condition = format!("{attribute} exists");
                changed = true;
            }
        }
    }
    changed
}
