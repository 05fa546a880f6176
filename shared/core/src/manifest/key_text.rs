//! A key as written in the manifest, before its names are resolved.

use std::ops::Range;

use toml::de::DeValue;

use super::diagnostic::Findings;
use super::fields::Fields;
use super::grammar;
use super::name::check_attribute_name;
use super::node::{Text, TomlEntry};

/// One key as written.
#[derive(Debug, Clone)]
pub(super) struct KeyText<'a> {
    pub(super) form: KeyForm<'a>,
    pub(super) span: Range<usize>,
}

/// The ways to write a key.
#[derive(Debug, Clone)]
pub(super) enum KeyForm<'a> {
    /// `"attr"` or `"{attr}"`.
    Attribute(Text<'a>),
    /// `"{a}-{b}"`: folded, in an attribute with a generated name.
    Template(Text<'a>),
    /// `{ attribute = "PK", fold = "{a}-{b}", verbatim = true }`
    Named { attribute: Option<Text<'a>>, fold: Option<Text<'a>>, verbatim: Option<bool> },
    /// `["a", "b"]`: DynamoDB's own multi-attribute key.
    Native(Vec<Text<'a>>),
    /// Invalid, and reported. There is a key, but it is unknown.
    Wrong,
}

impl<'a> KeyText<'a> {
    pub(super) fn read(entry: &TomlEntry<'a>, what: &str, findings: &mut Findings<'_>) -> KeyText<'a> {
        let node = &entry.node;
        let form = match node.value {
            DeValue::String(text) => written(Text { value: text, span: node.span.clone() }),
            DeValue::Array(_) => {
                let names = node.texts(findings, what);
                KeyForm::Native(names.into_iter().map(|name| bare_attribute(&name).unwrap_or(name)).collect())
            }
            DeValue::Table(_) => named(&Fields::read(entry, what, grammar::KEY, findings), findings),
            _ => {
                node.wrong_type(
                    findings,
                    what,
                    "an attribute's name, a template, a list of names or a table",
                );
                KeyForm::Wrong
            }
        };
        KeyText { form, span: node.span.clone() }
    }

    /// A key defined only by the entities' templates.
    pub(super) fn of_entities(span: Range<usize>) -> KeyText<'a> {
        KeyText { form: KeyForm::Named { attribute: None, fold: None, verbatim: None }, span }
    }
}

fn named<'a>(fields: &Fields<'a>, findings: &mut Findings<'_>) -> KeyForm<'a> {
    let attribute = fields.text("attribute", findings);
    if let Some(attribute) = &attribute {
        check_attribute_name(attribute, findings);
    }
    KeyForm::Named {
        attribute,
        fold: fields.text("fold", findings),
        verbatim: fields.boolean("verbatim", findings),
    }
}

fn written(text: Text<'_>) -> KeyForm<'_> {
    match bare_attribute(&text) {
        Some(attribute) => KeyForm::Attribute(attribute),
        None if text.value.contains(['{', '[', '}', ']']) => KeyForm::Template(text),
        None => KeyForm::Attribute(text),
    }
}

/// `attr`, if the text is exactly `{attr}`.
pub(super) fn bare_attribute<'a>(text: &Text<'a>) -> Option<Text<'a>> {
    let inner = text.value.strip_prefix('{')?.strip_suffix('}')?;
    let plain = !inner.contains(['{', '}', '[', ']', ':', '|']) && !inner.starts_with('@');
    plain.then(|| Text { value: inner, span: text.span.clone() })
}

/// The position of a part of a string in the manifest's text; the whole string if it contains escapes.
pub(super) fn span_within(source: &str, text: &Text<'_>, part: Range<usize>) -> Range<usize> {
    let whole = text.span.clone();
    let Some(raw) = source.get(whole.clone()) else { return whole };
    let quote =
        ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| raw.starts_with(quote)).map_or(0, str::len);
    let inner = raw.get(quote..raw.len().saturating_sub(quote));
    if inner != Some(text.value) || part.start > part.end || part.end > text.value.len() {
        return whole;
    }
    let start = whole.start + quote;
    start + part.start..start + part.end
}
