//! `[tables.ID.indexes.NAME]`: one index as written.

use std::ops::Range;

use toml::de::DeValue;

use super::allow::Allowed;
use super::diagnostic::Findings;
use super::expect::expect;
use super::fields::Fields;
use super::grammar;
use super::key_text::KeyText;
use super::name::check_dynamo_name;
use super::node::{Text, TomlEntry};
use crate::model::{Expect, IndexKind};

/// An index as written.
#[derive(Debug)]
pub(super) struct IndexText<'a> {
    pub(super) name: Text<'a>,
    pub(super) kind: Option<IndexKind>,
    pub(super) partition: Option<KeyText<'a>>,
    pub(super) sort: Option<KeyText<'a>>,
    pub(super) projection: ProjectionText<'a>,
    pub(super) expect: Expect,
    pub(super) allow: Allowed,
}

/// The projection of an index, as written.
#[derive(Debug)]
pub(super) enum ProjectionText<'a> {
    All,
    KeysOnly,
    Include(Vec<Text<'a>>, Range<usize>),
}

impl<'a> IndexText<'a> {
    pub(super) fn read(entry: &TomlEntry<'a>, table: &str, findings: &mut Findings<'_>) -> IndexText<'a> {
        check_dynamo_name(entry.name.value, entry.name.span.clone(), "an index", findings);
        let owner = format!("index `{}` of table `{table}`", entry.name.value);
        let fields = Fields::read(entry, owner, grammar::INDEX, findings);
        let key = |field: &str, findings: &mut Findings<'_>| {
            fields.entry(field).map(|entry| KeyText::read(entry, &fields.what(field), findings))
        };
        let kind = fields
            .node("type")
            .and_then(|node| node.word(findings, &fields.what("type"), grammar::INDEX_TYPES))
            .map(|word| if word == "local" { IndexKind::Local } else { IndexKind::Global });
        IndexText {
            name: entry.name.clone(),
            kind,
            partition: key("partition", findings),
            sort: key("sort", findings),
            projection: projection(&fields, findings),
            expect: expect(&fields, grammar::INDEX_EXPECT, None, findings),
            allow: Allowed::read(&fields, findings),
        }
    }

    /// The declared kind; by default an index without its own partition key is local.
    pub(super) fn kind(&self) -> IndexKind {
        let implied = if self.partition.is_some() { IndexKind::Global } else { IndexKind::Local };
        self.kind.unwrap_or(implied)
    }
}

fn projection<'a>(fields: &Fields<'a>, findings: &mut Findings<'_>) -> ProjectionText<'a> {
    let what = fields.what("projection");
    match fields.node("projection") {
        None => ProjectionText::All,
        Some(node) => match node.value {
            DeValue::Array(_) => ProjectionText::Include(node.texts(findings, &what), node.span.clone()),
            DeValue::String(_) => match node.word(findings, &what, grammar::PROJECTIONS) {
                Some("keys-only") => ProjectionText::KeysOnly,
                _ => ProjectionText::All,
            },
            _ => {
                node.wrong_type(findings, &what, "`all`, `keys-only` or a list of attributes");
                ProjectionText::All
            }
        },
    }
}
