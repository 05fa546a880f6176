//! The TOML tree with positions: every value knows its span, every wrong type is reported, and reading continues after
//! errors.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::code::Code;
use super::diagnostic::Findings;
use super::suggest::{did_you_mean, one_of};

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    pub(super) value: &'a DeValue<'a>,
    pub(super) span: Range<usize>,
}

/// A text of the manifest and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text<'a> {
    pub(super) value: &'a str,
    pub(super) span: Range<usize>,
}

/// A name and its value.
#[derive(Debug, Clone)]
pub(super) struct TomlEntry<'a> {
    pub(super) name: Text<'a>,
    pub(super) node: Node<'a>,
}

impl<'a> Node<'a> {
    pub(super) fn new(value: &'a Spanned<DeValue<'a>>) -> Self {
        Node { value: value.get_ref(), span: value.span() }
    }

    /// Reports a wrong type: `what` should be `expected`.
    pub(super) fn wrong_type(&self, findings: &mut Findings<'_>, what: &str, expected: &str) {
        let found = type_name(self.value);
        findings
            .report(Code::WrongType, self.span.clone(), format!("{what} must be {expected}, not {found}"))
            .label(format!("{found} here"));
    }

    pub(super) fn as_text(&self) -> Option<Text<'a>> {
        self.value.as_str().map(|value| Text { value, span: self.span.clone() })
    }

    pub(super) fn text(&self, findings: &mut Findings<'_>, what: &str) -> Option<Text<'a>> {
        self.as_text().or_else(|| {
            self.wrong_type(findings, what, "a string");
            None
        })
    }

    pub(super) fn boolean(&self, findings: &mut Findings<'_>, what: &str) -> Option<bool> {
        self.value.as_bool().or_else(|| {
            self.wrong_type(findings, what, "`true` or `false`");
            None
        })
    }

    /// A whole number within the range.
    pub(super) fn whole(
        &self,
        findings: &mut Findings<'_>,
        what: &str,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let DeValue::Integer(integer) = self.value else {
            self.wrong_type(findings, what, "a whole number");
            return None;
        };
        let value =
            u64::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|value| range.contains(value));
        if value.is_none() {
            let message = format!("{what} must be from {} to {}", range.start(), range.end());
            findings.report(Code::BadValue, self.span.clone(), message);
        }
        value
    }

    /// A number that is not negative, whole or not.
    pub(super) fn amount(&self, findings: &mut Findings<'_>, what: &str) -> Option<f64> {
        let value: Option<f64> = match self.value {
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => {
                self.wrong_type(findings, what, "a number");
                return None;
            }
        };
        let value = value.filter(|value| value.is_finite() && *value >= 0.0);
        if value.is_none() {
            findings.report(Code::BadValue, self.span.clone(), format!("{what} must be a number from 0 up"));
        }
        value
    }

    pub(super) fn elements(&self, findings: &mut Findings<'_>, what: &str) -> Option<Vec<Node<'a>>> {
        let elements = self.value.as_array().map(|array| array.iter().map(Node::new).collect());
        if elements.is_none() {
            self.wrong_type(findings, what, "a list");
        }
        elements
    }

    /// A list of strings.
    pub(super) fn texts(&self, findings: &mut Findings<'_>, what: &str) -> Vec<Text<'a>> {
        let element = format!("each element of {what}");
        let elements = self.elements(findings, what).unwrap_or_default();
        elements.into_iter().filter_map(|node| node.text(findings, &element)).collect()
    }

    /// One string, or a list of strings.
    pub(super) fn text_or_texts(&self, findings: &mut Findings<'_>, what: &str) -> Vec<Text<'a>> {
        match self.value {
            DeValue::String(_) => self.as_text().into_iter().collect(),
            DeValue::Array(_) => self.texts(findings, what),
            _ => {
                self.wrong_type(findings, what, "a string or a list of strings");
                Vec::new()
            }
        }
    }

    /// The entries of a table whose names are the reader's own choice.
    pub(super) fn entries(&self, findings: &mut Findings<'_>, what: &str) -> Vec<TomlEntry<'a>> {
        let Some(table) = self.value.as_table() else {
            self.wrong_type(findings, what, "a table");
            return Vec::new();
        };
        entries_of(table)
    }

    /// One of these words, or a report that lists them.
    pub(super) fn word(
        &self,
        findings: &mut Findings<'_>,
        what: &str,
        words: &[&'static str],
    ) -> Option<&'static str> {
        let text = self.text(findings, what)?;
        let word = words.iter().find(|word| **word == text.value).copied();
        if word.is_none() {
            let hint = did_you_mean(text.value, words.iter().copied());
            let message = format!("{what} cannot be `{}`", text.value);
            findings
                .report(Code::BadValue, text.span, message)
                .hint(format!("it is {}", one_of(words.iter().copied())))
                .maybe_hint(hint);
        }
        word
    }
}

/// A table's entries in the manifest's order (the TOML tree keeps them by name).
pub(super) fn entries_of<'a>(table: &'a DeTable<'a>) -> Vec<TomlEntry<'a>> {
    let mut entries: Vec<TomlEntry<'a>> = table.iter().map(|(key, value)| entry(key, value)).collect();
    entries.sort_by_key(|entry| entry.name.span.start);
    entries
}

fn entry<'a>(key: &'a Spanned<DeString<'a>>, value: &'a Spanned<DeValue<'a>>) -> TomlEntry<'a> {
    TomlEntry { name: Text { value: key.get_ref(), span: key.span() }, node: Node::new(value) }
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
