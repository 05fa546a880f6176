//! `[tables.ID]`: one table as written. Names are resolved later, so that one wrong name does not hide the next
//! mistake.

use std::collections::BTreeMap;

use super::allow::Allowed;
use super::attributes::Attributes;
use super::code::Code;
use super::diagnostic::Findings;
use super::entity_text::{EntityFields, EntityText, Surroundings, check_distinct};
use super::expect::expect;
use super::fields::Fields;
use super::grammar;
use super::index_text::IndexText;
use super::key_text::{KeyForm, KeyText};
use super::name::{check_attribute_name, check_dynamo_name, check_id};
use super::node::{Text, TomlEntry};
use super::templates::Templates;
use crate::model::{Attribute, AttributeKind, EntityId, Expect};

/// Item collections of tables with local indexes end here.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit>
pub(super) const COLLECTION_GB_MAX: f64 = 10.0;
const COLLECTION_WARNING_GB: f64 = 8.0;
const GB: f64 = (1u64 << 30) as f64;

/// A table as written.
#[derive(Debug)]
pub(super) struct TableText<'a> {
    pub(super) id: Text<'a>,
    /// The name in DynamoDB.
    pub(super) name: Text<'a>,
    /// Does the stack own the table?
    pub(super) managed: bool,
    pub(super) partition: Option<KeyText<'a>>,
    pub(super) sort: Option<KeyText<'a>>,
    pub(super) verbatim: bool,
    pub(super) entity_attribute: Option<Text<'a>>,
    pub(super) ttl: Option<String>,
    pub(super) attributes: Attributes,
    pub(super) entities: Vec<EntityText<'a>>,
    /// The templates that have a name, by it.
    pub(super) templates: Templates<'a>,
    pub(super) indexes: Vec<IndexText<'a>>,
    pub(super) scope: BTreeMap<String, String>,
    pub(super) written_by: BTreeMap<String, String>,
    pub(super) expect: Expect,
    pub(super) collection_bytes_warn: u64,
    pub(super) allow: Allowed,
}

impl<'a> TableText<'a> {
    pub(super) fn read(entry: &TomlEntry<'a>, findings: &mut Findings<'_>) -> TableText<'a> {
        let id = entry.name.clone();
        check_id(&id, "a table in the manifest", findings);
        let fields = Fields::read(entry, format!("table `{}`", id.value), grammar::TABLE, findings);
        let name = fields.text("name", findings).unwrap_or_else(|| id.clone());
        check_dynamo_name(name.value, name.span.clone(), "a table", findings);
        fields.required("partition", findings);

        let owner = format!("table `{}`", id.value);
        let mut attributes = Attributes::read(&fields.entries("attributes", findings), &owner, findings);
        let entities = fields.entries("entities", findings);
        let entities: Vec<_> =
            entities.iter().map(|entry| EntityFields::read(entry, id.value, findings)).collect();
        entities.iter().for_each(|entity| attributes.add_own(&entity.own, findings));
        let entity_attribute = entity_attribute(&fields, &mut attributes, findings);
        let (partition, sort) = (key(&fields, "partition", findings), key(&fields, "sort", findings));
        let own_keys = own_key_names(partition.as_ref(), sort.as_ref());
        let around = Surroundings {
            table: id.value,
            attributes: &attributes,
            entity_attribute: entity_attribute.as_ref(),
            own_keys: &own_keys,
        };
        let entities: Vec<_> =
            entities.into_iter().map(|entity| EntityText::read(entity, &around, findings)).collect();
        check_distinct(&entities, findings);
        let indexes = fields.entries("indexes", findings);
        TableText {
            name,
            managed: fields.boolean("managed", findings).unwrap_or(true),
            partition,
            sort,
            verbatim: fields.boolean("verbatim", findings).unwrap_or(false),
            entity_attribute,
            ttl: ttl(&fields, id.value, &attributes, findings),
            entities,
            templates: Templates::read(&fields, findings),
            indexes: indexes.iter().map(|entry| IndexText::read(entry, id.value, findings)).collect(),
            scope: claims("scope", &fields, id.value, &attributes, findings),
            written_by: claims("written-by", &fields, id.value, &attributes, findings),
            expect: expect(&fields, grammar::EXPECT, Some((id.value, &attributes)), findings),
            collection_bytes_warn: collection_bytes_warn(&fields, findings),
            allow: Allowed::read(&fields, findings),
            attributes,
            id,
        }
    }

    /// The names of the table's own key attributes.
    pub(super) fn own_keys(&self) -> Vec<String> {
        own_key_names(self.partition.as_ref(), self.sort.as_ref())
    }

    /// The attribute as these entities declare it, or a report. With none named, it must have one type.
    pub(super) fn attribute_of(
        &self,
        entities: &[EntityId],
        name: &Text<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<&Attribute> {
        if self.attributes.is_mixed(name.value) {
            let mut own = entities.iter().filter_map(|id| self.entities[id.0].attributes.get(name.value));
            let first = own.next();
            if let Some(attribute) = first.filter(|first| own.all(|other| first.is_same_type(other))) {
                return Some(attribute);
            }
        }
        self.attributes.find(name, self.id.value, findings)
    }

    /// Is this warning silenced for the table, or for this index of it?
    pub(super) fn allows(&self, code: Code, index: Option<usize>) -> bool {
        // Both are read, so that neither is reported as unused.
        let by_index = index.and_then(|at| self.indexes.get(at)).is_some_and(|index| index.allow.has(code));
        self.allow.has(code) || by_index
    }
}

fn own_key_names(partition: Option<&KeyText<'_>>, sort: Option<&KeyText<'_>>) -> Vec<String> {
    let name = |key: &KeyText<'_>, generated: &str| match &key.form {
        KeyForm::Attribute(name) | KeyForm::Named { attribute: Some(name), .. } => name.value.to_owned(),
        _ => generated.to_owned(),
    };
    let partition = partition.map(|key| name(key, "pk"));
    partition.into_iter().chain(sort.map(|key| name(key, "sk"))).collect()
}

fn key<'a>(fields: &Fields<'a>, field: &str, findings: &mut Findings<'_>) -> Option<KeyText<'a>> {
    Some(KeyText::read(fields.entry(field)?, &fields.what(field), findings))
}

fn entity_attribute<'a>(
    fields: &Fields<'a>,
    attributes: &mut Attributes,
    findings: &mut Findings<'_>,
) -> Option<Text<'a>> {
    let name = fields.text("entity-attribute", findings)?;
    check_attribute_name(&name, findings);
    attributes.ensure_string(&name);
    let string = attributes.get(name.value).is_some_and(|attribute| attribute.kind == AttributeKind::String);
    if !string {
        let message = format!("{} must be a string attribute", fields.what("entity-attribute"));
        findings.report(Code::WrongType, name.span.clone(), message);
    }
    Some(name)
}

/// The attribute by which DynamoDB deletes items: seconds since 1970.
fn ttl(
    fields: &Fields<'_>,
    table: &str,
    attributes: &Attributes,
    findings: &mut Findings<'_>,
) -> Option<String> {
    let name = fields.text("ttl", findings)?;
    let kind = attributes.find(&name, table, findings)?.kind;
    if kind != AttributeKind::Number {
        let message = format!("{} must be a number attribute", fields.what("ttl"));
        findings
            .report(Code::WrongType, name.span.clone(), message)
            .hint("DynamoDB's time to live needs a number of seconds since 1970");
    }
    Some(name.value.to_owned())
}

/// Attributes and the claims that they hold.
fn claims(
    field: &str,
    fields: &Fields<'_>,
    table: &str,
    attributes: &Attributes,
    findings: &mut Findings<'_>,
) -> BTreeMap<String, String> {
    let mut claims = BTreeMap::new();
    for entry in fields.entries(field, findings) {
        attributes.find(&entry.name, table, findings);
        let Some(claim) = entry.node.text(findings, &fields.what(field)) else { continue };
        if claim.value.split('.').any(|step| step.is_empty() || step.contains(char::is_whitespace)) {
            findings
                .report(Code::BadValue, claim.span, format!("`{}` is not the path of a claim", claim.value))
                .hint("write a path such as `jwt.org`");
        }
        claims.insert(entry.name.value.to_owned(), claim.value.to_owned());
    }
    claims
}

fn collection_bytes_warn(fields: &Fields<'_>, findings: &mut Findings<'_>) -> u64 {
    const FIELD: &str = "collection-warning-gb";
    let written =
        fields.node(FIELD).and_then(|node| Some((node.amount(findings, &fields.what(FIELD))?, node)));
    if let Some((_, node)) = written.filter(|(gb, _)| *gb <= 0.0 || *gb >= COLLECTION_GB_MAX) {
        let message = format!("{} must be above 0 and below 10", fields.what(FIELD));
        findings
            .report(Code::BadValue, node.span.clone(), message)
            .hint("an item collection of a table with local indexes can have at most 10 GB");
    }
    // Between 0 and 10 GB, so the conversion neither wraps nor loses precision that matters.
    (written.map_or(COLLECTION_WARNING_GB, |(gb, _)| gb.clamp(0.0, COLLECTION_GB_MAX)) * GB) as u64
}
