//! `[tables.ID.attributes]`: the natural attributes and their types.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::DeValue;

use super::attribute_values::{maps, values};
use super::code::Code;
use super::diagnostic::{Diagnostic, Findings};
use super::fields::Fields;
use super::grammar;
use super::name::check_attribute_name;
use super::node::{Node, Text, TomlEntry};
use super::suggest::did_you_mean;
use crate::model::{Attribute, AttributeKind, Precision};

/// The declared attributes of one table.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    pub(super) by_name: BTreeMap<String, Attribute>,
    /// Characters that an attribute's values will contain, where the manifest says so.
    pub(super) contains: BTreeMap<String, String>,
    spans: BTreeMap<String, Range<usize>>,
}

impl Attributes {
    pub(super) fn read(entries: &[TomlEntry<'_>], table: &str, findings: &mut Findings<'_>) -> Attributes {
        let mut attributes = Attributes::default();
        for entry in entries {
            check_attribute_name(&entry.name, findings);
            attributes.add(entry, table, findings);
        }
        attributes
    }

    fn add(&mut self, entry: &TomlEntry<'_>, table: &str, findings: &mut Findings<'_>) {
        let name = entry.name.value.to_owned();
        let what = format!("attribute `{name}` of table `{table}`");
        let attribute = match entry.node.value {
            DeValue::Table(_) => {
                let fields = Fields::read(entry, what, grammar::ATTRIBUTE, findings);
                if let Some(contains) = fields.text("contains", findings) {
                    self.contains.insert(name.clone(), contains.value.to_owned());
                }
                long_form(&name, &fields, findings)
            }
            // A wrong type has been reported; as a string it causes no second report.
            _ => plain(&name, kind(&entry.node, &what, findings).unwrap_or(AttributeKind::String)),
        };
        self.spans.insert(name.clone(), entry.name.span.clone());
        self.by_name.insert(name, attribute);
    }

    /// Declares the attribute that tells entities apart, if the manifest does not.
    pub(super) fn ensure_string(&mut self, name: &Text<'_>) {
        if !self.by_name.contains_key(name.value) {
            self.spans.insert(name.value.to_owned(), name.span.clone());
            self.by_name.insert(name.value.to_owned(), plain(name.value, AttributeKind::String));
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Attribute> {
        self.by_name.get(name)
    }

    pub(super) fn span(&self, name: &str) -> Option<Range<usize>> {
        self.spans.get(name).cloned()
    }

    /// The declared attribute, or a report with the nearest name.
    pub(super) fn find(
        &self,
        name: &Text<'_>,
        table: &str,
        findings: &mut Findings<'_>,
    ) -> Option<&Attribute> {
        let found = self.get(name.value);
        if found.is_none() {
            self.unknown(name, table, findings);
        }
        found
    }

    pub(super) fn unknown<'f>(
        &self,
        name: &Text<'_>,
        table: &str,
        findings: &'f mut Findings<'_>,
    ) -> &'f mut Diagnostic {
        let near = did_you_mean(name.value, self.by_name.keys().map(String::as_str));
        findings
            .report(
                Code::UnknownAttribute,
                name.span.clone(),
                format!("table `{table}` declares no attribute `{}`", name.value),
            )
            .hint(format!("declare it in `[tables.{table}.attributes]`"))
            .maybe_hint(near)
    }
}

fn plain(name: &str, kind: AttributeKind) -> Attribute {
    Attribute::new(name, kind)
}

fn long_form(name: &str, fields: &Fields<'_>, findings: &mut Findings<'_>) -> Attribute {
    let declared =
        fields.required("type", findings).and_then(|node| kind(node, &fields.what("type"), findings));
    let kind = with_precision(declared.unwrap_or(AttributeKind::String), fields, findings);
    let values = declared.and_then(|_| values(kind, fields, findings));
    Attribute {
        name: name.to_owned(),
        kind,
        // What does not fit a type that is itself wrong is no second mistake.
        maps: declared.map(|_| maps(kind, values.as_deref(), fields, findings)).unwrap_or_default(),
        values,
        required: fields.boolean("required", findings).unwrap_or(false),
        from_key: fields.boolean("from-key", findings).unwrap_or(false),
    }
}

fn kind(node: &Node<'_>, what: &str, findings: &mut Findings<'_>) -> Option<AttributeKind> {
    let kind = match node.word(findings, what, grammar::TYPES)? {
        "string" => AttributeKind::String,
        "number" => AttributeKind::Number,
        "binary" => AttributeKind::Binary,
        "boolean" => AttributeKind::Boolean,
        "timestamp" => AttributeKind::Timestamp(Precision::Milliseconds),
        "date" => AttributeKind::Date,
        "list" => AttributeKind::List,
        "map" => AttributeKind::Map,
        "string-set" => AttributeKind::StringSet,
        "number-set" => AttributeKind::NumberSet,
        _ => AttributeKind::BinarySet,
    };
    Some(kind)
}

fn with_precision(kind: AttributeKind, fields: &Fields<'_>, findings: &mut Findings<'_>) -> AttributeKind {
    let Some(node) = fields.node("precision") else { return kind };
    let AttributeKind::Timestamp(_) = kind else {
        let message = format!("{}: only a timestamp has one", fields.what("precision"));
        findings.report(Code::BadPrecision, node.span.clone(), message);
        return kind;
    };
    match node.word(findings, &fields.what("precision"), grammar::PRECISIONS) {
        Some("s") => AttributeKind::Timestamp(Precision::Seconds),
        Some("us") => AttributeKind::Timestamp(Precision::Microseconds),
        Some("ns") => AttributeKind::Timestamp(Precision::Nanoseconds),
        _ => kind,
    }
}
