//! A part whose values will contain the separator that follows it.

use crate::key::{Codec, Part};
use crate::manifest::code::Code;
use crate::manifest::code::Severity;
use crate::manifest::diagnostic::Findings;
use crate::manifest::fold::Fold;
use crate::manifest::key_text::span_within;
use crate::manifest::keys::Keys;
use crate::manifest::node::Text;
use crate::manifest::parts::listed;
use crate::manifest::table_text::TableText;

pub(in crate::manifest) fn check(table: &TableText<'_>, keys: &Keys<'_>, findings: &mut Findings<'_>) {
    for fold in keys.folds.values() {
        for (rule, text) in &fold.parsed {
            for pair in rule.template.parts().windows(2) {
                let [Part::Attribute { name, codec, .. }, Part::Literal(literal)] = pair else { continue };
                let Some(separator) = literal.chars().next() else { continue };
                if contains(table, name, codec, separator) {
                    report(table, fold, name, separator, text, findings);
                }
            }
        }
    }
}

fn contains(table: &TableText<'_>, name: &str, codec: &Codec, separator: char) -> bool {
    let Some(attribute) = table.attributes.get(name) else { return false };
    match codec {
        Codec::Map(map) => {
            attribute.maps.get(map).is_some_and(|codes| codes.values().any(|code| code.contains(separator)))
        }
        Codec::Text | Codec::Enumerated | Codec::Lower | Codec::Upper => {
            let declared =
                table.attributes.contains.get(name).is_some_and(|letters| letters.contains(separator));
            declared
                || listed(attribute)
                    .is_some_and(|values| values.iter().any(|value| value.contains(separator)))
        }
        _ => false,
    }
}

fn report(
    table: &TableText<'_>,
    fold: &Fold<'_>,
    name: &str,
    separator: char,
    text: &Text<'_>,
    findings: &mut Findings<'_>,
) {
    let what = fold.place().what(table);
    let placeholder = text.value.find(&format!("{{{name}")).map(|at| at + 1..at + 1 + name.len());
    let span = placeholder.map_or(text.span.clone(), |part| span_within(findings.text(), text, part));
    // Asked in any case: an error cannot be allowed, but it occurs.
    let is_allowed = table.allows(Code::SeparatorInValues, fold.place().index);
    if fold.verbatim() {
        let message =
            format!("values of `{name}` contain `{separator}`, which separates the parts of {what}");
        findings
            .report_as(Severity::Error, Code::SeparatorInValues, span, message)
            .hint("a verbatim key could not be read back: use another separator, or leave `verbatim` out");
    } else if !is_allowed {
        let message = format!("values of `{name}` contain `{separator}`, and will be escaped in {what}");
        findings
            .report(Code::SeparatorInValues, span, message)
            .hint("nothing is lost, but keys read less well: another separator avoids it");
    }
}
