//! A key that is an attribute's name instead of its value: `sort = "account_id"` in an entity.

use crate::key::Part;
use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::keys::Keys;
use crate::manifest::table_text::TableText;

pub(in crate::manifest) fn check(table: &TableText<'_>, keys: &Keys<'_>, findings: &mut Findings<'_>) {
    for fold in keys.folds.values() {
        for (rule, text) in &fold.parsed {
            let [Part::Literal(literal)] = rule.template.parts() else { continue };
            let is_name = table.attributes.get(literal).is_some();
            if !is_name || table.allows(Code::LiteralNamesAttribute, fold.place().index) {
                continue;
            }
            let what = fold.place().what(table);
            findings
                .report(
                    Code::LiteralNamesAttribute,
                    text.span.clone(),
                    format!("{what} is the text `{literal}` for every item, not the attribute `{literal}`"),
                )
                .hint(format!("write `{{{literal}}}` for the attribute's value"));
        }
    }
}
