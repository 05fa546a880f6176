//! An index that lists an attribute which it contains anyway.

use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::index_text::ProjectionText;
use crate::manifest::table_text::TableText;
use crate::model::Table;

pub(in crate::manifest) fn check(text: &TableText<'_>, table: &Table, findings: &mut Findings<'_>) {
    for (at, (written, index)) in text.indexes.iter().zip(&table.indexes).enumerate() {
        let ProjectionText::Include(names, _) = &written.projection else { continue };
        let is_key =
            |name: &str| table.key_attributes().chain(index.key_attributes()).any(|key| key.name == name);
        for name in names.iter().filter(|name| is_key(name.value)) {
            if text.allows(Code::RedundantProjection, Some(at)) {
                continue;
            }
            let message =
                format!("`{}` is a key attribute and so is in index `{}` anyway", name.value, index.name);
            findings
                .report(Code::RedundantProjection, name.span.clone(), message)
                .hint("leave it out of the projection");
        }
    }
}
