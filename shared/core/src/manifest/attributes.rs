//! The natural attributes and their types: `[tables.ID.attributes]` for all items, and
//! `[tables.ID.entities.NAME.attributes]` for one entity.

use std::collections::{BTreeMap, BTreeSet};
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

/// The declared attributes of one table, or those of one entity alone.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    pub(super) by_name: BTreeMap<String, Attribute>,
    /// The special characters that an attribute's values contain, where the manifest lists them.
    pub(super) contains: BTreeMap<String, String>,
    spans: BTreeMap<String, Range<usize>>,
    /// Attributes declared by entities, and not by the whole table.
    of_entities: BTreeSet<String>,
    /// Attributes with different types in two entities: where the second is declared.
    mixed: BTreeMap<String, Range<usize>>,
}

impl Attributes {
    /// `owner`: the table, or the entity of it.
    pub(super) fn read(entries: &[TomlEntry<'_>], owner: &str, findings: &mut Findings<'_>) -> Attributes {
        let mut attributes = Attributes::default();
        for entry in entries {
            check_attribute_name(&entry.name, findings);
            attributes.add(entry, owner, findings);
        }
        attributes
    }

    /// Adds an entity's own attributes. For the table, an attribute has the properties common to all its declarations.
    pub(super) fn add_own(&mut self, own: &Attributes, findings: &mut Findings<'_>) {
        for (name, attribute) in &own.by_name {
            let span = own.spans[name].clone();
            let Some(known) = self.by_name.get_mut(name) else {
                self.by_name.insert(name.clone(), Attribute { required: false, ..attribute.clone() });
                self.spans.insert(name.clone(), span);
                self.of_entities.insert(name.clone());
                continue;
            };
            if !self.of_entities.contains(name) {
                findings
                    .report(Code::DuplicateName, span, format!("all items have `{name}` already"))
                    .related(self.spans[name].clone(), "declared for the whole table")
                    .hint("leave it out here, or declare it in each entity that has it");
                continue;
            }
            known.from_key |= attribute.from_key;
            known.values = match (known.is_same_type(attribute), known.values.take(), &attribute.values) {
                (true, Some(mut values), Some(more)) => {
                    let new: Vec<_> = more.iter().filter(|value| !values.contains(value)).cloned().collect();
                    values.extend(new);
                    Some(values)
                }
                _ => None,
            };
            if !known.is_same_type(attribute) {
                self.mixed.insert(name.clone(), span);
            }
        }
        self.contains.extend(own.contains.clone());
    }

    /// The attributes that an entity's items can have: its own, and those of all items.
    pub(super) fn with_own(&self, own: &Attributes) -> BTreeMap<String, Attribute> {
        let shared = self.by_name.iter().filter(|(name, _)| !self.of_entities.contains(*name));
        shared.chain(&own.by_name).map(|(name, attribute)| (name.clone(), attribute.clone())).collect()
    }

    fn add(&mut self, entry: &TomlEntry<'_>, owner: &str, findings: &mut Findings<'_>) {
        let name = entry.name.value.to_owned();
        let what = format!("attribute `{name}` of {owner}");
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

    /// Declares the attribute that identifies entities, if the manifest does not.
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

    /// The declared attribute, or a report: with the nearest name, or where entities give it different types.
    pub(super) fn find(
        &self,
        name: &Text<'_>,
        table: &str,
        findings: &mut Findings<'_>,
    ) -> Option<&Attribute> {
        let found = self.find_any(name, table, findings)?;
        (!self.reports_mixed(name.value, name.span.clone(), findings)).then_some(found)
    }

    /// Reports an attribute with different types in two entities, where one type is needed.
    pub(super) fn reports_mixed(&self, name: &str, span: Range<usize>, findings: &mut Findings<'_>) -> bool {
        let Some(second) = self.mixed.get(name) else { return false };
        findings
            .report(Code::MixedType, span, format!("`{name}` has different types in two entities"))
            .related(self.spans[name].clone(), "declared here")
            .related(second.clone(), "and differently here")
            .hint("give it one type, or another name in one of the entities");
        true
    }

    /// Do entities declare it, and not the whole table?
    pub(super) fn is_of_entities(&self, name: &str) -> bool {
        self.of_entities.contains(name)
    }

    /// Do two entities give it different types?
    pub(super) fn is_mixed(&self, name: &str) -> bool {
        self.mixed.contains_key(name)
    }

    /// The declared attribute of any type, or a report with the nearest name.
    pub(super) fn find_any(
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
        // If the type is invalid, values that do not fit it are not reported as well.
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
