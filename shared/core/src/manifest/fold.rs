//! Folded attributes: one attribute, with all templates for it, for all keys that use it.

use std::collections::BTreeMap;

use super::code::Code;
use super::diagnostic::Findings;
use super::key_position::KeyPosition;
use super::key_text::span_within;
use super::key_use::{KeyUse, WrittenRules};
use super::node::Text;
use super::parts::bytes_min;
use super::table_text::TableText;
use crate::key::{KeyMode, KeyRole, Template, TemplateProblem};
use crate::model::{Attribute, EntityId, FoldRule};

/// One folded attribute.
#[derive(Debug)]
pub(super) struct Fold<'a> {
    rules: WrittenRules<'a>,
    /// `Sort` if it is a sort key anywhere, because then the shorter limit applies.
    role: KeyRole,
    /// The parsed templates, each with its text; those that could not be read are absent.
    pub(super) parsed: Vec<(FoldRule, Text<'a>)>,
    complete: bool,
}

impl<'a> Fold<'a> {
    /// The model's rules: those of entities, then the one for all other items. `None` if a template is wrong.
    pub(super) fn rules(&self) -> Option<Vec<FoldRule>> {
        self.complete.then(|| self.parsed.iter().map(|(rule, _)| rule.clone()).collect())
    }

    pub(super) fn verbatim(&self) -> bool {
        self.rules.verbatim
    }

    /// The key that this attribute was folded for first.
    pub(super) fn place(&self) -> KeyPosition {
        self.rules.place
    }

    /// Is there a template for the items of this entity?
    pub(super) fn makes(&self, entity: usize) -> bool {
        self.rules.own.is_some() || self.rules.by_entity.contains_key(&entity)
    }

    /// An entity's own template, and its text in the manifest.
    pub(super) fn rule_of(&self, entity: usize) -> Option<(&Template, &Text<'a>)> {
        let own = self.parsed.iter().find(|(rule, _)| rule.entity == Some(EntityId(entity)));
        own.map(|(rule, text)| (&rule.template, text))
    }

    /// The template for the items of an entity, and whether it is the entity's own.
    pub(super) fn template_of(&self, entity: usize) -> Option<(&Template, bool)> {
        let own = self.parsed.iter().find(|(rule, _)| rule.entity == Some(EntityId(entity)));
        let any = || self.parsed.iter().find(|(rule, _)| rule.entity.is_none());
        let is_own = own.is_some();
        own.or_else(any).map(|(rule, _)| (&rule.template, is_own))
    }

    fn new(rules: WrittenRules<'a>) -> Self {
        Fold { role: rules.place.role, rules, parsed: Vec::new(), complete: true }
    }

    fn merge(
        &mut self,
        table: &TableText<'a>,
        name: &str,
        other: &WrittenRules<'a>,
        findings: &mut Findings<'_>,
    ) {
        self.lengthen(other.place);
        let mine = &mut self.rules;
        let mut differ = mine.verbatim != other.verbatim;
        match (&mine.own, &other.own) {
            (None, own) => mine.own.clone_from(own),
            (Some(mine), Some(other)) => differ |= mine.value != other.value,
            (Some(_), None) => {}
        }
        for (entity, text) in &other.by_entity {
            let first = mine.by_entity.entry(*entity).or_insert_with(|| text.clone());
            differ |= first.value != text.value;
        }
        if differ {
            let message = format!("{} makes `{name}` differently", other.place.what(table));
            findings
                .report(Code::RulesDiffer, other.span.clone(), message)
                .related(mine.span.clone(), format!("first given for {}", mine.place.what(table)))
                .hint(format!(
                    "to use it as it is, write `{} = {{ attribute = \"{name}\" }}`",
                    other.place.field()
                ));
        }
    }

    fn lengthen(&mut self, place: KeyPosition) {
        if place.role == KeyRole::Sort {
            self.role = KeyRole::Sort;
        }
    }

    fn parse(&mut self, table: &TableText<'a>, findings: &mut Findings<'_>) {
        let by_entity = self.rules.by_entity.iter().map(|(entity, text)| (Some(EntityId(*entity)), text));
        let all: Vec<_> = by_entity.chain(self.rules.own.as_ref().map(|text| (None, text))).collect();
        for (entity, text) in all {
            match parse(table, entity, text, self.role, self.rules.verbatim, findings) {
                Some(template) => self.parsed.push((FoldRule { entity, template }, text.clone())),
                None => self.complete = false,
            }
        }
    }
}

/// All folded attributes of a table, by name. Keys that share an attribute must fold it in the same way.
pub(super) fn folds<'a>(
    table: &TableText<'a>,
    keys: &[(KeyPosition, Vec<KeyUse<'a>>)],
    findings: &mut Findings<'_>,
) -> BTreeMap<String, Fold<'a>> {
    let mut folds: BTreeMap<String, Fold<'a>> = BTreeMap::new();
    for key_use in keys.iter().flat_map(|(_, uses)| uses) {
        let KeyUse::Folded { name, rules } = key_use else { continue };
        match folds.get_mut(name) {
            Some(fold) => fold.merge(table, name, rules, findings),
            None => {
                folds.insert(name.clone(), Fold::new(rules.clone()));
            }
        }
    }
    for (place, uses) in keys {
        for key_use in uses {
            let KeyUse::Shared { name, rules } = key_use else { continue };
            let Some(fold) = folds.get_mut(name.value) else { continue };
            fold.lengthen(*place);
            if !rules.by_entity.is_empty() {
                let rules = WrittenRules { verbatim: fold.rules.verbatim, ..rules.clone() };
                fold.merge(table, name.value, &rules, findings);
            }
        }
    }
    for fold in folds.values_mut() {
        fold.parse(table, findings);
    }
    folds
}

fn parse(
    table: &TableText<'_>,
    entity: Option<EntityId>,
    text: &Text<'_>,
    role: KeyRole,
    verbatim: bool,
    findings: &mut Findings<'_>,
) -> Option<Template> {
    let mode = if verbatim { KeyMode::Verbatim } else { KeyMode::Escaped };
    let source = findings.text();
    let expanded = table.templates.expand(text, findings)?;
    let entity = entity.map(|EntityId(at)| &table.entities[at]);
    let attributes = entity.map_or(&table.attributes.by_name, |entity| &entity.attributes);
    match Template::parse(&expanded.text, attributes, role, mode) {
        Ok(template) => {
            let needs_one_type = |name| table.attributes.reports_mixed(name, text.span.clone(), findings);
            let is_mixed = entity.is_none() && template.attributes().any(needs_one_type);
            check_length(attributes, template, text, role, findings).filter(|_| !is_mixed)
        }
        Err(errors) => {
            for error in errors {
                let span = span_within(source, text, expanded.written(error.span.clone()));
                let code = match error.problem {
                    TemplateProblem::TooLong { .. } => Code::KeyTooLong,
                    _ => Code::BadTemplate,
                };
                let of_others = match (&error.problem, entity) {
                    (TemplateProblem::UnknownAttribute { attribute, .. }, Some(entity)) => {
                        table.attributes.get(attribute).map(|_| entity.declare_hint(table.id.value))
                    }
                    _ => None,
                };
                findings.report(code, span, error.to_string()).maybe_hint(of_others.or(error.hint()));
            }
            None
        }
    }
}

/// A template whose shortest key is too long can never fold a key.
fn check_length(
    attributes: &BTreeMap<String, Attribute>,
    template: Template,
    text: &Text<'_>,
    role: KeyRole,
    findings: &mut Findings<'_>,
) -> Option<Template> {
    let max = role.bytes_max();
    let min = bytes_min(template.parts(), attributes);
    if min <= max {
        return Some(template);
    }
    let message =
        format!("every key of this template has {min} bytes or more; DynamoDB allows at most {max}");
    findings.report(Code::KeyTooLong, text.span.clone(), message);
    None
}
