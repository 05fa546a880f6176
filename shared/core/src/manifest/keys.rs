//! All keys of one table, with their names resolved and their templates parsed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::code::Code;
use super::diagnostic::Findings;
use super::fold::{Fold, folds};
use super::key_position::KeyPosition;
use super::key_text::{KeyForm, KeyText};
use super::key_use::{KeyUse, key_uses};
use super::node::Text;
use super::suggest::did_you_mean;
use super::table_text::TableText;
use crate::key::{KeyRole, Template};
use crate::model::{IndexKind, KeyAttribute, KeySource, ScalarType, WhenTest};

/// The keys of one table.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    keys: Vec<(KeyPosition, Vec<KeyUse<'a>>)>,
    pub(super) folds: BTreeMap<String, Fold<'a>>,
}

impl<'a> Keys<'a> {
    pub(super) fn resolve(table: &TableText<'a>, findings: &mut Findings<'_>) -> Keys<'a> {
        check_entity_indexes(table, findings);
        let mut keys = Vec::new();
        for place in places(table) {
            let Some(key) = written(table, place, findings) else { continue };
            check_native_place(table, place, &key, findings);
            keys.push((place, key_uses(table, place, &key, findings)));
        }
        let folds = folds(table, &keys, findings);
        let keys = Keys { keys, folds };
        keys.check_entities(table, findings);
        keys
    }

    /// The uses of the key at this position; empty if there is no such key, or none is valid.
    pub(super) fn uses(&self, place: KeyPosition) -> &[KeyUse<'a>] {
        self.keys.iter().find(|(at, _)| *at == place).map_or(&[], |(_, uses)| uses)
    }

    /// The key attributes of the table or of an index, and the attributes that these are folded from.
    pub(super) fn inputs(&self, index: Option<usize>) -> BTreeSet<String> {
        let mut inputs = BTreeSet::new();
        for place in [KeyPosition::PARTITION, KeyPosition::SORT] {
            for key in self.uses(KeyPosition { index, ..place }) {
                inputs.insert(key.name().to_owned());
                for (rule, _) in self.folds.get(key.name()).iter().flat_map(|fold| &fold.parsed) {
                    inputs.extend(rule.template.attributes().map(str::to_owned));
                }
            }
        }
        inputs
    }

    /// The uses of all keys of the table and its indexes.
    pub(super) fn every_use(&self) -> impl Iterator<Item = &KeyUse<'a>> {
        self.keys.iter().flat_map(|(_, uses)| uses)
    }

    /// Is this the name of a folded attribute?
    pub(super) fn folded(&self, name: &str) -> bool {
        self.folds.contains_key(name)
    }

    /// The attributes of one key; `None` if one is invalid, which is reported.
    pub(super) fn attributes(
        &self,
        table: &TableText<'a>,
        place: KeyPosition,
        findings: &mut Findings<'_>,
    ) -> Option<Vec<KeyAttribute>> {
        // Collected in two steps, so that each wrong one is reported.
        let all: Vec<_> =
            self.uses(place).iter().map(|key| self.attribute(table, place, key, findings)).collect();
        all.into_iter().collect()
    }

    fn attribute(
        &self,
        table: &TableText<'a>,
        place: KeyPosition,
        key: &KeyUse<'a>,
        findings: &mut Findings<'_>,
    ) -> Option<KeyAttribute> {
        match key {
            KeyUse::Natural(name) => {
                let scalar = scalar(table, name.value, place, name.span.clone(), findings)?;
                Some(KeyAttribute { name: name.value.to_owned(), scalar, source: KeySource::Natural })
            }
            KeyUse::Folded { name, .. } => self.folded_attribute(name),
            KeyUse::Shared { name, .. } if self.folded(name.value) => self.folded_attribute(name.value),
            KeyUse::Shared { name, rules } => {
                let names = self.folds.keys().map(String::as_str);
                let near = did_you_mean(name.value, names);
                let hint = (!rules.by_entity.is_empty()).then(|| {
                    let (field, name) = (place.field(), name.value);
                    format!("if the entities give the templates of the key, write `{field} = {{ attribute = \"{name}\" }}`")
                });
                let found = table.attributes.unknown(name, table.id.value, findings);
                found.maybe_hint(near).maybe_hint(hint);
                None
            }
        }
    }

    fn folded_attribute(&self, name: &str) -> Option<KeyAttribute> {
        let rules = self.folds.get(name)?.rules()?;
        Some(KeyAttribute { name: name.to_owned(), scalar: ScalarType::S, source: KeySource::Folded(rules) })
    }

    /// Every item needs the table's own key, so every entity must fold it.
    fn check_entities(&self, table: &TableText<'a>, findings: &mut Findings<'_>) {
        for place in [KeyPosition::PARTITION, KeyPosition::SORT] {
            let folds =
                self.uses(place).iter().filter_map(|key| Some((key.name(), self.folds.get(key.name())?)));
            for ((name, fold), (at, entity)) in
                folds.flat_map(|fold| table.entities.iter().enumerate().map(move |e| (fold, e)))
            {
                if let Some((template, text)) = fold.rule_of(at) {
                    check_prefix(table, at, name, template, text, findings);
                }
                if fold.makes(at) {
                    continue;
                }
                let (what, name) = (place.what(table), entity.name.value);
                let message = format!("entity `{name}` has no template for {what}");
                findings
                    .report(Code::EntityWithoutKey, entity.name.span.clone(), message)
                    .hint(format!("give it `{} = \"...\"`: every item needs the table's key", place.field()));
            }
        }
    }
}

/// An entity identified by a key prefix must fold keys with that prefix.
fn check_prefix(
    table: &TableText<'_>,
    entity: usize,
    key: &str,
    template: &Template,
    text: &Text<'_>,
    findings: &mut Findings<'_>,
) {
    let entity = &table.entities[entity];
    for when in entity.when.iter().filter(|when| when.attribute == key) {
        let WhenTest::BeginsWith(prefix) = &when.test else { continue };
        if template.literal_prefix().starts_with(prefix.as_str()) {
            continue;
        }
        let name = entity.name.value;
        let message =
            format!("`{key}` of a `{name}` begins with `{prefix}` by its `when`, and not by its template");
        findings
            .report(Code::EntityKeyMismatch, text.span.clone(), message)
            .hint(format!("begin the template with `{prefix}`, or correct the `when` of `{name}`"));
    }
}

/// The table's keys, then each index's.
fn places(table: &TableText<'_>) -> impl Iterator<Item = KeyPosition> + use<> {
    let indexes = (0..table.indexes.len()).map(Some);
    std::iter::once(None)
        .chain(indexes)
        .flat_map(|index| [KeyRole::Partition, KeyRole::Sort].map(|role| KeyPosition { index, role }))
}

/// The key as written, or as the entities' templates imply it. A local index's partition key is the table's.
fn written<'a>(
    table: &TableText<'a>,
    place: KeyPosition,
    findings: &mut Findings<'_>,
) -> Option<KeyText<'a>> {
    let Some(index) = place.index.and_then(|at| table.indexes.get(at)) else {
        return match place.role {
            KeyRole::Partition => table.partition.clone(),
            KeyRole::Sort => table.sort.clone().or_else(|| implied(table, place)),
        };
    };
    match (place.role, index.kind()) {
        (KeyRole::Partition, IndexKind::Local) => None,
        (KeyRole::Partition, IndexKind::Global) => {
            let key = index.partition.clone().or_else(|| implied(table, place));
            if key.is_none() && index.kind.is_some() {
                let message = format!(
                    "index `{}` of table `{}` is global and has no `partition`",
                    index.name.value, table.id.value
                );
                findings
                    .report(Code::MissingField, index.name.span.clone(), message)
                    .label("needs `partition`");
            }
            key
        }
        (KeyRole::Sort, _) => index.sort.clone().or_else(|| implied(table, place)),
    }
}

fn implied<'a>(table: &TableText<'a>, place: KeyPosition) -> Option<KeyText<'a>> {
    place.templates(table).next().map(|(_, text)| KeyText::of_entities(text.span.clone()))
}

fn check_entity_indexes(table: &TableText<'_>, findings: &mut Findings<'_>) {
    for name in table
        .entities
        .iter()
        .flat_map(|entity| &entity.templates)
        .filter_map(|template| template.index.as_ref())
    {
        if !table.indexes.iter().any(|index| index.name.value == name.value) {
            let near = did_you_mean(name.value, table.indexes.iter().map(|index| index.name.value));
            findings
                .report(
                    Code::UnknownIndex,
                    name.span.clone(),
                    format!("table `{}` has no index `{}`", table.id.value, name.value),
                )
                .hint(format!("declare it in `[tables.{}.indexes.{}]`", table.id.value, name.value))
                .maybe_hint(near);
        }
    }
}

fn check_native_place(
    table: &TableText<'_>,
    place: KeyPosition,
    key: &KeyText<'_>,
    findings: &mut Findings<'_>,
) {
    let global = place
        .index
        .and_then(|at| table.indexes.get(at))
        .is_some_and(|index| index.kind() == IndexKind::Global);
    if matches!(key.form, KeyForm::Native(_)) && !global {
        findings
            .report(Code::NativeKeyPlace, key.span.clone(), format!("{} must be one attribute, not a list", place.what(table)))
            .hint("DynamoDB accepts several attributes only in keys of global indexes: fold them with a template");
    }
}

fn scalar(
    table: &TableText<'_>,
    name: &str,
    place: KeyPosition,
    span: Range<usize>,
    findings: &mut Findings<'_>,
) -> Option<ScalarType> {
    let declared = table.attributes.get(name)?;
    if table.attributes.reports_mixed(name, span.clone(), findings) {
        return None;
    }
    let scalar = declared.kind.scalar();
    if scalar.is_none() {
        let message =
            format!("{} cannot be `{name}`: a key is a string, a number or a binary", place.what(table));
        let found = findings.report(Code::KeyNotScalar, span, message);
        if let Some(declared) = table.attributes.span(name) {
            found.related(declared, "declared here");
        }
    }
    scalar
}
