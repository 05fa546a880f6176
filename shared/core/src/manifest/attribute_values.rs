//! The listed values of an attribute: its only allowed values, and the codes for them in keys.

use std::collections::{BTreeMap, BTreeSet};

use super::code::Code;
use super::diagnostic::Findings;
use super::fields::Fields;
use super::name::check_id;
use super::node::{Text, TomlEntry};
use super::values::value_of;
use crate::model::AttributeKind;
use crate::value::{AttributeValue, Number};

/// Maximum number of listed values. The planner, the codec and the checks scan all of them.
const VALUES_MAX: usize = 10_000;

/// `values`: the only ones that the attribute takes.
pub(super) fn values(
    kind: AttributeKind,
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) -> Option<Vec<AttributeValue>> {
    let node = fields.node("values")?;
    let what = fields.what("values");
    if !matches!(kind, AttributeKind::String | AttributeKind::Number) {
        let message = format!("{what}: only a string or a number can list its values");
        findings.report(Code::BadValues, node.span.clone(), message);
        return None;
    }
    let elements = node.elements(findings, &what)?;
    if elements.is_empty() {
        findings
            .report(
                Code::BadValues,
                node.span.clone(),
                format!("{what} is empty, so no item could have the attribute"),
            )
            .hint("leave `values` out if any value will do");
    }
    if elements.len() > VALUES_MAX {
        let message = format!("{what} has {} values, and at most {VALUES_MAX} can be listed", elements.len());
        findings
            .report(Code::BadValues, node.span.clone(), message)
            .hint("leave `values` out: the attribute is hardly an enumeration");
        return None;
    }
    // Values of one type, distinguished by their texts.
    let (mut values, mut seen) = (Vec::new(), BTreeSet::new());
    for element in &elements {
        let Some(value) = value_of(element, kind, &format!("each of {what}"), Code::BadValues, findings)
        else {
            continue;
        };
        if !seen.insert(text_of(&value).to_owned()) {
            findings.report(
                Code::BadValues,
                element.span.clone(),
                format!("{what} has {} twice", findings.text().get(element.span.clone()).unwrap_or("one")),
            );
        }
        values.push(value);
    }
    Some(values)
}

/// The text of a listed value: a string or a number.
fn text_of(value: &AttributeValue) -> &str {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => text,
        _ => unreachable!("`value_of` has checked the type"),
    }
}

/// `maps`: for each name, a code for each value.
pub(super) fn maps(
    kind: AttributeKind,
    values: Option<&[AttributeValue]>,
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) -> BTreeMap<String, BTreeMap<String, String>> {
    let Some(node) = fields.node("maps") else { return BTreeMap::new() };
    if !matches!(kind, AttributeKind::String | AttributeKind::Number) {
        let message = format!("{}: only a string or a number can have value maps", fields.what("maps"));
        findings.report(Code::BadMap, node.span.clone(), message);
        return BTreeMap::new();
    }
    let entries = node.entries(findings, &fields.what("maps"));
    // An empty list is reported itself and causes no further errors.
    let listed = values.filter(|values| !values.is_empty());
    let listed: Option<BTreeSet<&str>> = listed.map(|values| values.iter().map(text_of).collect());
    let map = |entry: &TomlEntry<'_>| {
        let what = format!("value map `{}` in {}", entry.name.value, fields.what("maps"));
        (entry.name.value.to_owned(), map(entry, &what, kind, listed.as_ref(), findings))
    };
    entries.iter().map(map).collect()
}

fn map(
    entry: &TomlEntry<'_>,
    what: &str,
    kind: AttributeKind,
    listed: Option<&BTreeSet<&str>>,
    findings: &mut Findings<'_>,
) -> BTreeMap<String, String> {
    check_id(&entry.name, "a value map", findings);
    let (mut map, mut codes) = (BTreeMap::new(), BTreeSet::new());
    for pair in entry.node.entries(findings, what) {
        check_mapped(&pair.name, what, kind, listed, findings);
        let Some(code) = pair.node.text(findings, &format!("each code of {what}")) else { continue };
        if !codes.insert(code.value) {
            findings
                .report(Code::BadMap, code.span, format!("{what} uses the code `{}` twice", code.value))
                .hint("give each value its own code; otherwise the key cannot be split again");
        }
        map.insert(pair.name.value.to_owned(), code.value.to_owned());
    }
    if map.is_empty() {
        findings.report(Code::BadMap, entry.name.span.clone(), format!("{what} is empty"));
    }
    map
}

/// A map's left side is a value that the attribute can have.
fn check_mapped(
    name: &Text<'_>,
    what: &str,
    kind: AttributeKind,
    listed: Option<&BTreeSet<&str>>,
    findings: &mut Findings<'_>,
) {
    let value = match kind {
        AttributeKind::Number => name.value.parse().ok().map(|number: Number| number.to_string()),
        _ => Some(name.value.to_owned()),
    };
    let possible = value.is_some_and(|value| listed.is_none_or(|listed| listed.contains(value.as_str())));
    if !possible {
        let message =
            format!("{what} has a code for `{}`, which is not a value of the attribute", name.value);
        findings.report(Code::BadMap, name.span.clone(), message);
    }
}
