//! Attributes declared as read from a key: some key must contain them.

use std::ops::Range;

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
        if let Some((owner, span)) = untold(table, keys, name) {
            findings.report(Code::BadFromKey, span, format!("no folded key of {owner} keeps `{name}`")).hint(
                format!("write it into a template as `{{{name}}}`, without a codec that forgets something"),
            );
        }
    }
}

/// The table or the entity that declares the attribute without a key that contains it, and the position.
fn untold(table: &TableText<'_>, keys: &Keys<'_>, name: &str) -> Option<(String, Range<usize>)> {
    if !table.attributes.is_of_entities(name) {
        let mut templates = keys.folds.values().flat_map(|fold| &fold.parsed).map(|(rule, _)| &rule.template);
        let span = table.attributes.span(name).unwrap_or(table.id.span.clone());
        let is_kept = templates.any(|template| template.keeps(name));
        return (!is_kept).then(|| (format!("table `{}`", table.id.value), span));
    }
    let is_kept = |at| {
        let mut templates = keys.folds.values().filter_map(|fold| fold.template_of(at));
        templates.any(|(template, _)| template.keeps(name))
    };
    table.entities.iter().enumerate().find_map(|(at, entity)| {
        entity.attributes.get(name).filter(|attribute| attribute.from_key && !is_kept(at))?;
        Some((format!("entity `{}`", entity.name.value), entity.own.span(name)?))
    })
}
