//! Warnings: declarations that DynamoDB accepts and the reader may regret.

mod collection;
mod collision;
mod half_key;
mod hot_partition;
mod literal;
mod lossy;
mod native;
mod projection;
mod separator;

use super::diagnostic::Findings;
use super::keys::Keys;
use super::table_text::TableText;
use crate::model::{Retrofit, Table};

/// Separators within values. Always checked: in verbatim mode they are an error.
pub(super) fn separators<'a>(text: &TableText<'a>, keys: &Keys<'a>, findings: &mut Findings<'_>) {
    separator::check(text, keys, findings);
}

/// The other warnings about a table whose templates are valid. They never change the model.
pub(super) fn give<'a>(
    text: &TableText<'a>,
    keys: &Keys<'a>,
    table: &Table,
    retrofits: &[Retrofit],
    findings: &mut Findings<'_>,
) {
    hot_partition::check(text, keys, table, findings);
    collection::check(text, table, findings);
    native::check(text, table, retrofits, findings);
    lossy::check(text, keys, findings);
    projection::check(text, table, findings);
    literal::check(text, keys, findings);
    collision::check(text, keys, findings);
    half_key::check(text, keys, findings);
    text.allow.report_unused(findings);
    text.indexes.iter().for_each(|index| index.allow.report_unused(findings));
}
