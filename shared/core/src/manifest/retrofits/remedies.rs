//! `[retrofits.NAME.misfits]`: the treatment of values that do not fit.

use std::collections::BTreeMap;

use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::entity_text::EntityText;
use crate::manifest::fields::Fields;
use crate::manifest::grammar;
use crate::manifest::keys::Keys;
use crate::manifest::node::{Node, Text, TomlEntry};
use crate::manifest::suggest::{did_you_mean, one_of};
use crate::manifest::table_text::TableText;
use crate::manifest::values::value_of;
use crate::model::{AttributeKind, MisfitOf, Remedy};

/// The remedies of each attribute, in the order in which they are tried; those of an entity are under its name.
pub(super) fn misfits(
    target: (&TableText<'_>, &Keys<'_>),
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) -> BTreeMap<MisfitOf, Vec<Remedy>> {
    let mut misfits = BTreeMap::new();
    let what = fields.what("misfits");
    for entry in fields.entries("misfits", findings) {
        let of_entity = entry.node.value.as_table().filter(|members| !members.contains_key("default"));
        let entity = target.0.entities.iter().find(|entity| entity.name.value == entry.name.value);
        match (entity, of_entity) {
            (Some(entity), Some(_)) => {
                let what = format!("`{}` in {what}", entity.name.value);
                for entry in entry.node.entries(findings, &what) {
                    misfits.extend(of_attribute(target, Some(entity), &what, &entry, findings));
                }
            }
            _ => misfits.extend(of_attribute(target, None, &what, &entry, findings)),
        }
    }
    misfits
}

fn of_attribute(
    (table, keys): (&TableText<'_>, &Keys<'_>),
    entity: Option<&EntityText<'_>>,
    of: &str,
    entry: &TomlEntry<'_>,
    findings: &mut Findings<'_>,
) -> Option<(MisfitOf, Vec<Remedy>)> {
    let name = &entry.name;
    let declared = entity.map_or(&table.attributes.by_name, |entity| &entity.attributes);
    let Some(attribute) = declared.get(name.value) else {
        let near = did_you_mean(name.value, declared.keys().map(String::as_str));
        let owner = match entity {
            Some(entity) => format!("entity `{}`", entity.name.value),
            None => format!("table `{}`", table.id.value),
        };
        let message = format!("{owner} has no attribute `{}`", name.value);
        findings.report(Code::UnknownAttribute, name.span.clone(), message).maybe_hint(near);
        return None;
    };
    if entity.is_none() && table.attributes.reports_mixed(name.value, name.span.clone(), findings) {
        return None;
    }
    if keys.inputs(None).contains(name.value) {
        let message = format!("the primary key of table `{}` is made of `{}`", table.id.value, name.value);
        findings
            .report(Code::RetrofitKey, name.span.clone(), message)
            .hint("two items could get one key: correct such items in the source");
        return None;
    }
    let what = format!("`{}` in {of}", name.value);
    let remedies: Vec<Remedy> = match entry.node.value.as_array() {
        Some(_) => {
            let nodes = entry.node.elements(findings, &what).unwrap_or_default();
            nodes.iter().filter_map(|node| remedy(node, attribute.kind, &what, name, findings)).collect()
        }
        None => remedy(&entry.node, attribute.kind, &what, name, findings).into_iter().collect(),
    };
    let of = MisfitOf {
        attribute: name.value.to_owned(),
        entity: entity.map(|entity| entity.name.value.to_owned()),
    };
    Some((of, remedies))
}

fn remedy(
    node: &Node<'_>,
    kind: AttributeKind,
    what: &str,
    name: &Text<'_>,
    findings: &mut Findings<'_>,
) -> Option<Remedy> {
    if let Some(word) = node.as_text() {
        let known = Remedy::WORDS.into_iter().find(|(known, _)| *known == word.value);
        if known.is_none() {
            let words: Vec<&str> = Remedy::WORDS.iter().map(|(word, _)| *word).collect();
            let message =
                format!("{what} must be {}, or `{{ default = ... }}`", one_of(words.iter().copied()));
            findings
                .report(Code::BadValue, word.span.clone(), message)
                .maybe_hint(did_you_mean(word.value, words.iter().copied()));
        }
        return known.map(|(_, remedy)| remedy);
    }
    let entry = TomlEntry { name: name.clone(), node: node.clone() };
    let fields = Fields::read(&entry, what.to_owned(), grammar::REMEDY, findings);
    let default = fields.required("default", findings)?;
    value_of(default, kind, &fields.what("default"), Code::WrongType, findings).map(Remedy::Default)
}
