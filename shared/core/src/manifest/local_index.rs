//! DynamoDB's rules for local indexes: the table's partition key, a different sort key, a table with a sort key.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html>

use super::code::Code;
use super::diagnostic::Findings;
use super::index_text::IndexText;
use super::key_position::KeyPosition;
use super::key_text::{KeyForm, KeyText};
use super::keys::Keys;
use super::table_text::TableText;
use crate::key::KeyRole;
use crate::model::IndexKind;

pub(super) fn check(table: &TableText<'_>, keys: &Keys<'_>, findings: &mut Findings<'_>) {
    let local = table.indexes.iter().enumerate().filter(|(_, index)| index.kind() == IndexKind::Local);
    for (at, index) in local {
        check_partition(table, keys, index, findings);
        let sort = KeyPosition { index: Some(at), role: KeyRole::Sort };
        if index.sort.is_none() && sort.templates(table).next().is_none() {
            let message =
                format!("local index `{}` of table `{}` has no sort key", index.name.value, table.id.value);
            findings
                .report(Code::LocalIndexSort, index.name.span.clone(), message)
                .hint("an index with its own `partition` is global");
        }
        if table.sort.is_none() && KeyPosition::SORT.templates(table).next().is_none() {
            let message = format!("table `{}` has a local index, but no sort key", table.id.value);
            findings
                .report(Code::LocalIndexTable, index.name.span.clone(), message)
                .related(table.id.span.clone(), "this table")
                .hint("DynamoDB creates local indexes only on tables with a partition key and a sort key");
        }
    }
}

fn check_partition(
    table: &TableText<'_>,
    keys: &Keys<'_>,
    index: &IndexText<'_>,
    findings: &mut Findings<'_>,
) {
    let templates = table
        .entities
        .iter()
        .filter_map(|entity| entity.template(Some(index.name.value), KeyRole::Partition));
    for template in templates {
        let message = format!(
            "local index `{}` has the table's partition key, which is declared in the table",
            index.name.value
        );
        findings
            .report(Code::LocalIndexPartition, template.span.clone(), message)
            .hint("for a global index, give it `partition = { attribute = \"NAME\" }`");
    }
    let Some(written) = &index.partition else { return };
    if !same_key(table, keys, written) {
        let message = format!(
            "local index `{}` has another partition key than table `{}`",
            index.name.value, table.id.value
        );
        let found = findings.report(Code::LocalIndexPartition, written.span.clone(), message);
        found.hint("leave `partition` out, or make the index global");
        if let Some(partition) = &table.partition {
            found.related(partition.span.clone(), "the table's partition key");
        }
    }
}

/// Does this key name the table's partition key, or repeat its template?
fn same_key(table: &TableText<'_>, keys: &Keys<'_>, written: &KeyText<'_>) -> bool {
    let Some(partition) = &table.partition else { return true };
    let name = match &written.form {
        KeyForm::Wrong => return true,
        KeyForm::Native(_) => return false,
        KeyForm::Template(text) | KeyForm::Named { attribute: None, fold: Some(text), .. } => {
            return matches!(&partition.form, KeyForm::Template(own) | KeyForm::Named { fold: Some(own), .. }
                if own.value == text.value);
        }
        KeyForm::Attribute(name) | KeyForm::Named { attribute: Some(name), .. } => name.value,
        KeyForm::Named { .. } => return false,
    };
    keys.uses(KeyPosition::PARTITION).first().is_none_or(|own| own.name() == name)
}
