//! Attributes that are declared as read from a key: there must be a key that tells them.

use super::code::Code;
use super::diagnostic::Findings;
use super::key_use::KeyUse;
use super::keys::Keys;
use super::table_text::TableText;

pub(super) fn check(table: &TableText<'_>, keys: &Keys<'_>, findings: &mut Findings<'_>) {
    let declared = table.attributes.by_name.values().filter(|attribute| attribute.from_key);
    for attribute in declared {
        let name = attribute.name.as_str();
        let span = table.attributes.span(name).unwrap_or(table.id.span.clone());
        let is_stored =
            keys.every_use().any(|key| matches!(key, KeyUse::Natural(natural) if natural.value == name))
                || table.ttl.as_deref() == Some(name)
                || table.entity_attribute.as_ref().is_some_and(|attribute| attribute.value == name);
        if is_stored {
            let message = format!("items have `{name}` themselves: DynamoDB needs it there");
            findings.report(Code::BadFromKey, span, message).hint("leave `from-key` out");
            continue;
        }
        let templates = || keys.folds.values().flat_map(|fold| &fold.parsed).map(|(rule, _)| &rule.template);
        if !templates().any(|template| template.keeps(name)) {
            let message = format!("no folded key of table `{}` keeps `{name}`", table.id.value);
            findings.report(Code::BadFromKey, span, message).hint(format!(
                "write it into a template as `{{{name}}}`, without a codec that forgets something"
            ));
        }
    }
}
