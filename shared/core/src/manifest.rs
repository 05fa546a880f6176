//! The manifest: the text of `keyfold.toml`, parsed and checked as a whole.
//!
//! [`parse`] finds all mistakes in one pass, each with its position and, where possible, a hint. Only a text without
//! errors becomes a [`Model`]. Warnings are about declarations that DynamoDB accepts and the reader may regret.
//!
//! Start with `table_text` (a table as written), continue with `keys` (resolved names) and `table_build` (the model);
//! `advice` holds the warnings.
//!
//! ```
//! let text = r#"
//! [tables.audit]
//! partition = "id"
//! attributes = { id = "string", user = "sting" }
//! "#;
//! let parsed = keyfold_core::manifest::parse("keyfold.toml", text);
//! assert!(parsed.model.is_none());
//! assert_eq!(parsed.diagnostics[0].line, 4);
//! assert_eq!(parsed.diagnostics[0].hint.as_deref(), Some("did you mean `string`?"));
//! ```

mod advice;
mod allow;
mod attribute_values;
mod attributes;
mod code;
mod deploy;
mod diagnostic;
mod entity_text;
mod expect;
mod fields;
mod fold;
mod from_key;
mod grammar;
mod index_text;
mod key_position;
mod key_text;
mod key_use;
mod keys;
mod limits;
mod local_index;
mod name;
mod node;
mod parts;
mod places;
mod prices;
mod questions;
mod rate;
mod render;
mod retrofits;
mod strict;
mod suggest;
mod syntax;
mod table_build;
mod table_text;
mod templates;
mod toml_text;
mod values;
mod when;

#[cfg(test)]
mod tests;

use toml::de::DeTable;

use self::code::Code;
use self::diagnostic::Findings;
use self::fields::Fields;
use self::keys::Keys;
use self::node::entries_of;
use self::syntax::Syntax;
use self::table_text::TableText;
use crate::model::{Model, Table};

pub use self::code::{CodeInfo, Severity, codes};
pub use self::diagnostic::{Diagnostic, Related};
pub use self::places::Places;
pub use self::render::render;
pub use self::toml_text::{toml_key, toml_string, toml_strings};

/// The longest manifest that is read.
pub const MANIFEST_BYTES_MAX: usize = 1 << 20;

/// The result of parsing a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The name of the file, as it was given.
    pub file_name: String,
    /// The model; `None` exactly if [`parse`] finds an error. [`review`](crate::review::review) keeps the model.
    pub model: Option<Model>,
    /// Errors first, then warnings, each by position.
    pub diagnostics: Vec<Diagnostic>,
    /// The positions of the manifest's parts in its text.
    pub places: Places,
}

impl Parsed {
    /// The diagnostics as text. `text` is the parsed text.
    pub fn render(&self, text: &str, colour: bool) -> String {
        render(&self.file_name, text, &self.diagnostics, colour)
    }

    /// Adds violations of rules that programs do not need. The model stays, so running programs continue. An answer has
    /// at most `limit_max` items.
    pub(crate) fn hold_to_rules(&mut self, text: &str, limit_max: u32) {
        let Some(model) = &self.model else { return };
        let mut findings = Findings::new(text);
        strict::check(model, &self.places, limit_max, &mut findings);
        self.diagnostics.extend(findings.into_sorted());
        self.diagnostics.sort_by_key(|found| (found.severity, found.span.start, found.span.end));
    }

    /// Adds the warning that no index answers a question. The planner, which needs a model, finds that:
    /// [`review`](crate::review::review).
    pub(crate) fn warn_unserved(&mut self, text: &str, table: &str, question: &str, why: &str, hint: String) {
        let Some(span) = self.places.get(&format!("questions.{table}.{question}")) else { return };
        let mut findings = Findings::new(text);
        findings.report(Code::QuestionUnserved, span, format!("question `{question}`: {why}")).hint(hint);
        for found in findings.into_sorted() {
            if !self.diagnostics.iter().any(|known| known.code == found.code && known.span == found.span) {
                self.diagnostics.push(found);
            }
        }
    }
}

/// Are warnings wanted? They never affect the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Advice {
    Given,
    Skipped,
}

/// Reads a manifest. All mistakes are reported, not the first alone; no text makes this panic.
pub fn parse(file_name: &str, text: &str) -> Parsed {
    let mut findings = Findings::new(text);
    let mut places = Places::default();
    let model = checked(text, Advice::Given, &mut findings, |root| places = Places::of(root));
    Parsed { file_name: file_name.to_owned(), model, diagnostics: findings.into_sorted(), places }
}

/// The model of a manifest, for a program that starts: warnings are skipped. `Err` is the rendered list of mistakes.
///
/// ```
/// let error = keyfold_core::manifest::model("keyfold.toml", "tables = 1").unwrap_err();
/// assert!(error.contains("keyfold.toml:1:10"));
/// ```
pub fn model(file_name: &str, text: &str) -> Result<Model, String> {
    if let Some(model) = checked(text, Advice::Skipped, &mut Findings::new(text), |_| {}) {
        return Ok(model);
    }
    let parsed = parse(file_name, text);
    let report = parsed.render(text, false);
    parsed.model.ok_or(report)
}

fn checked(
    text: &str,
    advice: Advice,
    findings: &mut Findings<'_>,
    places: impl FnOnce(&DeTable<'_>),
) -> Option<Model> {
    if text.len() > MANIFEST_BYTES_MAX {
        findings.report(Code::TooLarge, 0..0, "a manifest has at most one MiB");
        return None;
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    let syntax = Syntax::report(&errors, findings);
    let model = read(root.get_ref(), advice, findings);
    syntax.take_back(findings);
    places(root.get_ref());
    model.filter(|_| findings.errors() == 0)
}

/// The JSON Schema (draft 2020-12) of the manifest, for editors.
pub fn schema() -> &'static str {
    include_str!("manifest/schema.json")
}

fn read<'a>(root: &'a DeTable<'a>, advice: Advice, findings: &mut Findings<'_>) -> Option<Model> {
    let fields = Fields::of(entries_of(root), "the manifest".to_owned(), 0..0, grammar::ROOT, findings);
    fields.required("tables", findings);
    let texts: Vec<TableText<'a>> =
        fields.entries("tables", findings).iter().map(|entry| TableText::read(entry, findings)).collect();
    check_table_names(&texts, findings);
    let keys: Vec<Keys<'a>> = texts.iter().map(|text| Keys::resolve(text, findings)).collect();
    let tables: Vec<Option<Table>> =
        texts.iter().zip(&keys).map(|(text, keys)| table_build::build(text, keys, findings)).collect();
    for (text, keys) in texts.iter().zip(&keys) {
        advice::separators(text, keys, findings);
    }
    let questions = questions::questions(&texts, &fields.entries("questions", findings), findings);
    let retrofits = retrofits::retrofits(&texts, &keys, &fields.entries("retrofits", findings), findings);
    for ((text, keys), table) in texts.iter().zip(&keys).zip(&tables) {
        if let (Advice::Given, Some(table)) = (advice, table) {
            advice::give(text, keys, table, &retrofits, findings);
        }
    }
    let prices = prices::prices(fields.entry("prices"), findings);
    let deploy = deploy::deploy(&texts, &tables, &retrofits, fields.entry("deploy"), findings);
    Some(Model { tables: tables.into_iter().collect::<Option<_>>()?, questions, retrofits, prices, deploy })
}

/// Two tables must not have the same name in DynamoDB.
fn check_table_names(tables: &[TableText<'_>], findings: &mut Findings<'_>) {
    for (at, table) in tables.iter().enumerate() {
        if let Some(first) = tables[..at].iter().find(|before| before.name.value == table.name.value) {
            let (one, other) = (first.id.value, table.id.value);
            let message = format!("tables `{one}` and `{other}` are both `{}` in DynamoDB", table.name.value);
            findings
                .report(Code::DuplicateName, table.name.span.clone(), message)
                .related(first.name.span.clone(), "the first one");
        }
    }
}
