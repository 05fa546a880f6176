//! Limits on indexes and projected attributes of a table.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html>

use super::code::Code;
use super::code::Severity;
use super::diagnostic::Findings;
use super::index_text::{IndexText, ProjectionText};
use super::table_text::TableText;
use crate::model::IndexKind;

const LOCAL_INDEXES_MAX: usize = 5;
const GLOBAL_INDEXES_DEFAULT_QUOTA: usize = 20;
const PROJECTED_ATTRIBUTES_MAX: usize = 100;

pub(super) fn check(table: &TableText<'_>, findings: &mut Findings<'_>) {
    let id = table.id.value;
    if let Some(sixth) = of_kind(table, IndexKind::Local).nth(LOCAL_INDEXES_MAX) {
        let count = of_kind(table, IndexKind::Local).count();
        findings
            .report(
                Code::TooManyLocalIndexes,
                sixth.name.span.clone(),
                format!("table `{id}` has {count} local indexes; DynamoDB allows 5"),
            )
            .hint("make the others global, or let several entities share one index");
    }
    if let Some(one_more) = of_kind(table, IndexKind::Global).nth(GLOBAL_INDEXES_DEFAULT_QUOTA) {
        let count = of_kind(table, IndexKind::Global).count();
        let severity = if table.allow.has(Code::ManyIndexes) { Severity::Warning } else { Severity::Error };
        let message = format!("table `{id}` has {count} global indexes; the default quota is 20");
        findings.report_as(severity, Code::ManyIndexes, one_more.name.span.clone(), message).hint(
            "AWS raises the quota on request; once it is raised, write `allow = [\"many-indexes\"]` in the table",
        );
    }
    check_projected(table, findings);
}

fn of_kind<'t, 'a>(table: &'t TableText<'a>, kind: IndexKind) -> impl Iterator<Item = &'t IndexText<'a>> {
    table.indexes.iter().filter(move |index| index.kind() == kind)
}

/// The limit is for all indexes together; an attribute counts once for each index that names it.
fn check_projected(table: &TableText<'_>, findings: &mut Findings<'_>) {
    let mut total = 0;
    for index in &table.indexes {
        let ProjectionText::Include(names, span) = &index.projection else { continue };
        let before = total;
        total += names.len();
        if before <= PROJECTED_ATTRIBUTES_MAX && total > PROJECTED_ATTRIBUTES_MAX {
            let message = format!(
                "up to index `{}`, the indexes of table `{}` project {total} attributes by name; DynamoDB allows 100",
                index.name.value, table.id.value
            );
            findings
                .report(Code::TooManyProjected, span.clone(), message)
                .hint("indexes with `projection = \"all\"` do not count");
        }
    }
}
