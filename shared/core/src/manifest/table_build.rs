//! From a table as written to the model's [`Table`]: names resolved, DynamoDB's rules checked.

use std::collections::BTreeSet;

use super::code::Code;
use super::diagnostic::Findings;
use super::from_key;
use super::index_text::{IndexText, ProjectionText};
use super::key_position::KeyPosition;
use super::keys::Keys;
use super::local_index;
use super::suggest::did_you_mean;
use super::table_text::TableText;
use crate::key::KeyRole;
use crate::model::{Entity, Index, IndexKind, KeptFacts, KeyAttribute, Projection, Table};

/// The table, unless it has an error.
pub(super) fn build<'a>(
    table: &TableText<'a>,
    keys: &Keys<'a>,
    findings: &mut Findings<'_>,
) -> Option<Table> {
    let errors_before = findings.errors();
    let partition = keys.attributes(table, KeyPosition::PARTITION, findings);
    let sort = keys.attributes(table, KeyPosition::SORT, findings);
    if let (Some(partition), Some(sort)) = (&partition, &sort) {
        check_repeated(table, partition.iter().chain(sort), None, findings);
    }
    local_index::check(table, keys, findings);
    if keys.folds.values().all(|fold| fold.rules().is_some()) {
        from_key::check(table, keys, findings);
    }
    let indexes: Vec<Option<Index>> = (0..table.indexes.len())
        .map(|at| index(table, keys, at, partition.as_deref().unwrap_or_default(), findings))
        .collect();
    super::limits::check(table, findings);
    if findings.errors() > errors_before {
        return None;
    }
    Some(Table {
        id: table.id.value.to_owned(),
        name: table.name.value.to_owned(),
        partition: partition?.into_iter().next()?,
        sort: sort?.into_iter().next(),
        attributes: table.attributes.by_name.clone(),
        entity_attribute: table.entity_attribute.as_ref().map(|name| name.value.to_owned()),
        ttl: table.ttl.clone(),
        entities: table
            .entities
            .iter()
            .map(|entity| Entity {
                name: entity.name.value.to_owned(),
                when: entity.when.clone(),
                attributes: entity.attributes.clone(),
                expect: entity.expect.clone(),
            })
            .collect(),
        indexes: indexes.into_iter().collect::<Option<_>>()?,
        scope: table.scope.clone(),
        written_by: table.written_by.clone(),
        collection_bytes_warn: table.collection_bytes_warn,
        expect: table.expect.clone(),
        facts: KeptFacts::default(),
    })
}

fn index<'a>(
    table: &TableText<'a>,
    keys: &Keys<'a>,
    at: usize,
    table_partition: &[KeyAttribute],
    findings: &mut Findings<'_>,
) -> Option<Index> {
    let text = &table.indexes[at];
    let kind = text.kind();
    let partition = match kind {
        IndexKind::Local => Some(table_partition.to_vec()),
        IndexKind::Global => {
            keys.attributes(table, KeyPosition { index: Some(at), role: KeyRole::Partition }, findings)
        }
    };
    let sort = keys.attributes(table, KeyPosition { index: Some(at), role: KeyRole::Sort }, findings);
    if let (Some(partition), Some(sort)) = (&partition, &sort) {
        check_repeated(table, partition.iter().chain(sort), Some(text), findings);
    }
    let projection = projection(table, keys, at, findings);
    let (name, expect) = (text.name.value.to_owned(), text.expect.clone());
    Some(Index { name, kind, partition: partition?, sort: sort?, projection, expect })
}

fn check_repeated<'k>(
    table: &TableText<'_>,
    key: impl Iterator<Item = &'k KeyAttribute>,
    index: Option<&IndexText<'_>>,
    findings: &mut Findings<'_>,
) {
    let mut seen = BTreeSet::new();
    for repeated in key.filter(|attribute| !seen.insert(attribute.name.as_str())) {
        let (span, owner) = match index {
            Some(index) => (
                index.name.span.clone(),
                format!("index `{}` of table `{}`", index.name.value, table.id.value),
            ),
            None => (table.id.span.clone(), format!("table `{}`", table.id.value)),
        };
        let message = format!("the key of {owner} has the attribute `{}` twice", repeated.name);
        findings.report(Code::RepeatedKeyAttribute, span, message);
    }
}

fn projection(table: &TableText<'_>, keys: &Keys<'_>, at: usize, findings: &mut Findings<'_>) -> Projection {
    let (names, span) = match &table.indexes[at].projection {
        ProjectionText::All => return Projection::All,
        ProjectionText::KeysOnly => return Projection::KeysOnly,
        ProjectionText::Include(names, span) => (names, span),
    };
    let index = table.indexes[at].name.value;
    if names.is_empty() {
        findings
            .report(
                Code::BadValue,
                span.clone(),
                format!("the projection of index `{index}` lists no attribute"),
            )
            .hint("to project only the keys, write `projection = \"keys-only\"`");
    }
    let mut included: Vec<String> = Vec::new();
    for name in names {
        if table.attributes.get(name.value).is_none() && !keys.folded(name.value) {
            let near = did_you_mean(name.value, keys.folds.keys().map(String::as_str));
            table.attributes.unknown(name, table.id.value, findings).maybe_hint(near);
        } else if included.iter().any(|before| before == name.value) {
            let message = format!("the projection of index `{index}` has `{}` twice", name.value);
            findings.report(Code::DuplicateName, name.span.clone(), message);
        }
        included.push(name.value.to_owned());
    }
    Projection::Include(included)
}
