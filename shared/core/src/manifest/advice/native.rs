//! A folded global index that DynamoDB's own multi-attribute keys could replace.

use crate::key::{Codec, Part};
use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::key_use::NATIVE_ATTRIBUTES_MAX;
use crate::manifest::table_text::TableText;
use crate::model::{Attribute, FoldRule, Index, IndexKind, KeyAttribute, KeySource, Retrofit, Table};

pub(in crate::manifest) fn check(
    text: &TableText<'_>,
    table: &Table,
    retrofits: &[Retrofit],
    findings: &mut Findings<'_>,
) {
    for (at, index) in table.indexes.iter().enumerate() {
        let Some((partition, sort)) = native(table, index) else { continue };
        let is_misfit = |name: &&str| {
            let of_table = retrofits.iter().filter(|retrofit| retrofit.to == table.id);
            of_table.flat_map(|retrofit| retrofit.misfits.keys()).any(|of| of.attribute == *name)
        };
        // A folded key omits items whose value has another type; with a native key DynamoDB refuses to write them.
        if partition.iter().chain(&sort).any(is_misfit) {
            continue;
        }
        if text.allows(Code::NativeWouldServe, Some(at)) {
            continue;
        }
        let message = format!("a native key would serve index `{}`, with nothing to backfill", index.name);
        let mut hint = format!(
            "items have these attributes already, so the index fills itself and no writer has to fold:\npartition = {partition:?}"
        );
        if !sort.is_empty() {
            hint.push_str(&format!("\nsort = {sort:?}"));
        }
        findings.report(Code::NativeWouldServe, text.indexes[at].name.span.clone(), message).hint(hint);
    }
}

/// The two lists of an equivalent native key, if there is one.
fn native<'t>(table: &'t Table, index: &'t Index) -> Option<(Vec<&'t str>, Vec<&'t str>)> {
    // Only global indexes have native keys.
    if index.kind != IndexKind::Global {
        return None;
    }
    // A key that another key shares exists already and costs nothing more.
    let shared = |key: &KeyAttribute| {
        let elsewhere = table.indexes.iter().filter(|other| other.name != index.name);
        table
            .key_attributes()
            .chain(elsewhere.flat_map(Index::key_attributes))
            .any(|other| other.name == key.name)
    };
    let folded = |key: &&KeyAttribute| matches!(key.source, KeySource::Folded(_));
    if !index.key_attributes().any(|key| folded(&key)) || index.key_attributes().filter(folded).any(shared) {
        return None;
    }
    let half = |keys: &'t [KeyAttribute]| {
        let names: Vec<Vec<&str>> = keys.iter().map(|key| plain(table, key)).collect::<Option<_>>()?;
        Some(names.concat()).filter(|names| names.len() <= NATIVE_ATTRIBUTES_MAX)
    };
    let (partition, sort) = (half(&index.partition)?, half(&index.sort)?);
    let all: std::collections::BTreeSet<_> = partition.iter().chain(&sort).collect();
    (!partition.is_empty() && all.len() == partition.len() + sort.len()).then_some((partition, sort))
}

/// The attributes of a key that is natural, or joined from plain attributes in the same way for all items.
fn plain<'t>(table: &'t Table, key: &'t KeyAttribute) -> Option<Vec<&'t str>> {
    let rules = match &key.source {
        KeySource::Natural => return Some(vec![&key.name]),
        KeySource::Folded(rules) => rules,
    };
    let [FoldRule { entity: None, template }] = rules.as_slice() else { return None };
    if !template.literal_prefix().is_empty() {
        return None;
    }
    let mut names = Vec::new();
    for part in template.parts() {
        match part {
            Part::Literal(text) if !text.contains(char::is_alphanumeric) => {}
            Part::Attribute { name, codec, optional: false } if is_plain(table, name, codec) => {
                names.push(name.as_str());
            }
            _ => return None,
        }
    }
    Some(names)
}

fn is_plain(table: &Table, name: &str, codec: &Codec) -> bool {
    // An attribute that a key holds need not be stored.
    let is_stored = |attribute: &&Attribute| !attribute.from_key;
    let scalar = table
        .attributes
        .get(name)
        .filter(is_stored)
        .is_some_and(|attribute| attribute.kind.scalar().is_some());
    scalar && matches!(codec, Codec::Text | Codec::Enumerated | Codec::Timestamp(_) | Codec::Date)
}
