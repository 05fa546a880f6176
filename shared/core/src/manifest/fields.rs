//! The fields of a table of the manifest, known and unknown.

use std::ops::Range;

use super::code::Code;
use super::diagnostic::Findings;
use super::node::{Node, Text, TomlEntry};
use super::suggest::{did_you_mean, one_of};

/// The fields of one table of the manifest whose names the language fixes.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    owner: String,
    entries: Vec<TomlEntry<'a>>,
    /// The position for reports of missing fields.
    pub(super) span: Range<usize>,
}

impl<'a> Fields<'a> {
    /// Reports every unknown field.
    pub(super) fn read(
        entry: &TomlEntry<'a>,
        owner: impl Into<String>,
        known: &'static [&'static str],
        findings: &mut Findings<'_>,
    ) -> Fields<'a> {
        let owner = owner.into();
        let entries = entry.node.entries(findings, &owner);
        Fields::of(entries, owner, entry.name.span.clone(), known, findings)
    }

    pub(super) fn of(
        entries: Vec<TomlEntry<'a>>,
        owner: String,
        span: Range<usize>,
        known: &'static [&'static str],
        findings: &mut Findings<'_>,
    ) -> Fields<'a> {
        for TomlEntry { name, .. } in entries.iter().filter(|entry| !known.contains(&entry.name.value)) {
            let near = did_you_mean(name.value, known.iter().copied());
            findings
                .report(
                    Code::UnknownField,
                    name.span.clone(),
                    format!("unknown field `{}` in {owner}", name.value),
                )
                .hint(format!(
                    "the fields here are {}",
                    one_of(known.iter().copied()).replace(" or ", " and ")
                ))
                .maybe_hint(near);
        }
        Fields { owner, entries, span }
    }

    /// "`sort` of table `audit`".
    pub(super) fn what(&self, field: &str) -> String {
        format!("`{field}` of {}", self.owner)
    }

    pub(super) fn entry(&self, field: &str) -> Option<&TomlEntry<'a>> {
        self.entries.iter().find(|entry| entry.name.value == field)
    }

    pub(super) fn node(&self, field: &str) -> Option<&Node<'a>> {
        self.entry(field).map(|entry| &entry.node)
    }

    pub(super) fn required(&self, field: &str, findings: &mut Findings<'_>) -> Option<&Node<'a>> {
        let node = self.node(field);
        if node.is_none() {
            let message = format!("{} has no `{field}`", self.owner);
            findings.report(Code::MissingField, self.span.clone(), message).label(format!("needs `{field}`"));
        }
        node
    }

    pub(super) fn text(&self, field: &str, findings: &mut Findings<'_>) -> Option<Text<'a>> {
        self.node(field)?.text(findings, &self.what(field))
    }

    pub(super) fn boolean(&self, field: &str, findings: &mut Findings<'_>) -> Option<bool> {
        self.node(field)?.boolean(findings, &self.what(field))
    }

    pub(super) fn entries(&self, field: &str, findings: &mut Findings<'_>) -> Vec<TomlEntry<'a>> {
        self.node(field).map(|node| node.entries(findings, &self.what(field))).unwrap_or_default()
    }

    pub(super) fn texts(&self, field: &str, findings: &mut Findings<'_>) -> Vec<Text<'a>> {
        self.node(field).map(|node| node.texts(findings, &self.what(field))).unwrap_or_default()
    }
}
