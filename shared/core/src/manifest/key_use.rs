//! A resolved key: a natural attribute, a folded one, or one that another key folds.

use std::collections::BTreeMap;
use std::ops::Range;

use super::code::Code;
use super::diagnostic::Findings;
use super::key_position::KeyPosition;
use super::key_text::{KeyForm, KeyText, bare_attribute};
use super::name::check_attribute_name;
use super::node::Text;
use super::table_text::TableText;

/// DynamoDB's limit for each part of a multi-attribute key.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.DesignPattern.MultiAttributeKeys.html>
pub(super) const NATIVE_ATTRIBUTES_MAX: usize = 4;

/// One attribute of a key.
#[derive(Debug, Clone)]
pub(super) enum KeyUse<'a> {
    /// A declared attribute.
    Natural(Text<'a>),
    /// A folded attribute, with the rules that this key declares.
    Folded { name: String, rules: WrittenRules<'a> },
    /// An undeclared attribute, perhaps folded by another key.
    Shared { name: Text<'a>, rules: WrittenRules<'a> },
}

impl KeyUse<'_> {
    pub(super) fn name(&self) -> &str {
        match self {
            KeyUse::Natural(name) | KeyUse::Shared { name, .. } => name.value,
            KeyUse::Folded { name, .. } => name,
        }
    }
}

/// The rules for a folded attribute, as one key declares them.
#[derive(Debug, Clone)]
pub(super) struct WrittenRules<'a> {
    /// The template for all items without an entity's template.
    pub(super) own: Option<Text<'a>>,
    pub(super) by_entity: BTreeMap<usize, Text<'a>>,
    pub(super) verbatim: bool,
    pub(super) place: KeyPosition,
    pub(super) span: Range<usize>,
}

/// The uses of the key at this position. Empty if the key is absent or invalid.
pub(super) fn key_uses<'a>(
    table: &TableText<'a>,
    place: KeyPosition,
    key: &KeyText<'a>,
    findings: &mut Findings<'_>,
) -> Vec<KeyUse<'a>> {
    let mut rules = WrittenRules {
        own: None,
        by_entity: place.templates(table).map(|(entity, text)| (entity, text.clone())).collect(),
        verbatim: table.verbatim,
        place,
        span: key.span.clone(),
    };
    match &key.form {
        KeyForm::Attribute(name) => vec![by_name(table, name, rules, findings)],
        KeyForm::Wrong => Vec::new(),
        KeyForm::Native(names) => native(table, names, &rules, findings),
        KeyForm::Template(text) => {
            rules.own = Some(text.clone());
            folded(table, None, rules, findings).into_iter().collect()
        }
        KeyForm::Named { attribute, fold, verbatim } => {
            rules.own.clone_from(fold);
            rules.verbatim = verbatim.unwrap_or(table.verbatim);
            named(table, attribute.as_ref(), rules, findings).into_iter().collect()
        }
    }
}

fn named<'a>(
    table: &TableText<'a>,
    attribute: Option<&Text<'a>>,
    rules: WrittenRules<'a>,
    findings: &mut Findings<'_>,
) -> Option<KeyUse<'a>> {
    match (attribute, &rules.own) {
        (Some(name), Some(fold)) if bare_attribute(fold).is_some_and(|bare| bare.value == name.value) => {
            Some(by_name(table, name, rules, findings))
        }
        (Some(name), None) if rules.by_entity.is_empty() => Some(by_name(table, name, rules, findings)),
        (None, None) if rules.by_entity.is_empty() => {
            missing_template(table, &rules, findings);
            None
        }
        _ => folded(table, attribute, rules, findings),
    }
}

pub(super) fn missing_template(table: &TableText<'_>, rules: &WrittenRules<'_>, findings: &mut Findings<'_>) {
    let message = format!("there is no template for {}", rules.place.what(table));
    findings.report(Code::MissingTemplate, rules.span.clone(), message).hint(
        "give it a template, such as `fold = \"{a}-{b}\"`, or give each entity that has this key a template",
    );
}

fn by_name<'a>(
    table: &TableText<'a>,
    name: &Text<'a>,
    rules: WrittenRules<'a>,
    findings: &mut Findings<'_>,
) -> KeyUse<'a> {
    if table.attributes.get(name.value).is_none() {
        return KeyUse::Shared { name: name.clone(), rules };
    }
    refuse_templates(table, name, &rules, findings);
    KeyUse::Natural(name.clone())
}

/// An entity cannot fold a key that is a natural attribute.
fn refuse_templates(
    table: &TableText<'_>,
    name: &Text<'_>,
    rules: &WrittenRules<'_>,
    findings: &mut Findings<'_>,
) {
    for template in rules.by_entity.values() {
        let message =
            format!("{} is the attribute `{}`, which is not folded", rules.place.what(table), name.value);
        findings
            .report(Code::TemplateForNaturalKey, template.span.clone(), message)
            .related(rules.span.clone(), "the key is given here")
            .hint(format!("for a folded key, write `{} = {{ attribute = \"NAME\" }}`", rules.place.field()));
    }
}

fn folded<'a>(
    table: &TableText<'a>,
    attribute: Option<&Text<'a>>,
    rules: WrittenRules<'a>,
    findings: &mut Findings<'_>,
) -> Option<KeyUse<'a>> {
    let name = attribute.map_or_else(|| rules.place.generated_name(table), |name| name.value.to_owned());
    let span = attribute.map_or_else(|| rules.span.clone(), |name| name.span.clone());
    if attribute.is_none() {
        check_attribute_name(&Text { value: &name, span: span.clone() }, findings);
    }
    let Some(declared) = table.attributes.span(&name) else { return Some(KeyUse::Folded { name, rules }) };
    let message =
        format!("{} would be folded into `{name}`, which is a declared attribute", rules.place.what(table));
    findings
        .report(Code::FoldedOverNatural, span, message)
        .related(declared, "declared here")
        .hint("a folded key needs its own attribute: name another one with `attribute = \"...\"`");
    None
}

fn native<'a>(
    table: &TableText<'a>,
    names: &[Text<'a>],
    rules: &WrittenRules<'a>,
    findings: &mut Findings<'_>,
) -> Vec<KeyUse<'a>> {
    let what = rules.place.what(table);
    if names.len() > NATIVE_ATTRIBUTES_MAX {
        let message = format!("{what} has {} attributes; a native key has at most 4", names.len());
        findings
            .report(Code::NativeKeyCount, rules.span.clone(), message)
            .hint("fold some of them into one with a template");
    } else if names.is_empty() && rules.place.role == crate::key::KeyRole::Partition {
        findings.report(Code::NativeKeyCount, rules.span.clone(), format!("{what} has no attribute"));
    }
    for template in rules.by_entity.values() {
        let message = format!("{what} is a native key, which is not folded");
        findings.report(Code::TemplateForNaturalKey, template.span.clone(), message);
    }
    let plain = WrittenRules { by_entity: BTreeMap::new(), ..rules.clone() };
    names.iter().map(|name| by_name(table, name, plain.clone(), findings)).collect()
}
