//! Conditions on items: an entity's `when`, a retrofit's `only`.

use toml::de::DeValue;

use super::attributes::Attributes;
use super::code::Code;
use super::diagnostic::Findings;
use super::fields::Fields;
use super::grammar;
use super::node::{Node, TomlEntry};
use super::parts::listed;
use super::suggest::one_of;
use super::values::value_of;
use crate::model::{Attribute, When, WhenTest};
use crate::value::AttributeValue;

/// What conditions may test: the declared attributes, and the prefixes of the table's own folded keys.
#[derive(Clone, Copy)]
pub(super) struct TestableAttributes<'s> {
    pub(super) table: &'s str,
    pub(super) attributes: &'s Attributes,
    pub(super) own_keys: &'s [String],
}

/// The conditions of a `when`; invalid ones are reported and left out.
pub(super) fn conditions(
    node: &Node<'_>,
    what: &str,
    testable: TestableAttributes<'_>,
    findings: &mut Findings<'_>,
) -> Vec<When> {
    let entries = node.entries(findings, what);
    entries.iter().filter_map(|entry| condition(entry, what, testable, findings)).collect()
}

fn condition(
    entry: &TomlEntry<'_>,
    what: &str,
    testable: TestableAttributes<'_>,
    findings: &mut Findings<'_>,
) -> Option<When> {
    let name = entry.name.value;
    let of = format!("`{name}` in {what}");
    if testable.attributes.get(name).is_none() && testable.own_keys.iter().any(|key| key == name) {
        return key_prefix(entry, &of, findings);
    }
    let attribute = testable.attributes.find(&entry.name, testable.table, findings)?;
    let test = match entry.node.value {
        DeValue::Table(_) => test(entry, &of, findings)?,
        DeValue::Array(_) => {
            let elements = entry.node.elements(findings, &of)?;
            if elements.is_empty() {
                findings.report(Code::BadValue, entry.node.span.clone(), format!("{of} lists no value"));
            }
            let of = format!("each of {of}");
            let values = elements.iter().filter_map(|node| declared_value(node, attribute, &of, findings));
            WhenTest::In(values.collect())
        }
        _ => WhenTest::In(vec![declared_value(&entry.node, attribute, &of, findings)?]),
    };
    if attribute.from_key {
        // The entity's template makes the key, so the entity must be known before the attribute is.
        findings
            .report(Code::BadFromKey, entry.name.span.clone(), format!("{of} is read from a key"))
            .hint("ask how the key begins: `PK = { begins-with = \"USER#\" }`");
    }
    if matches!(test, WhenTest::BeginsWith(_)) && attribute.kind.type_letter() != "S" {
        let message =
            format!("{of}: only a string begins with a text, and this is a {}", attribute.kind.name());
        findings.report(Code::OperatorMisfit, entry.node.span.clone(), message);
    }
    Some(When { attribute: attribute.name.clone(), test })
}

/// A folded key is made once the entity is known, so only its prefix can be tested.
fn key_prefix(entry: &TomlEntry<'_>, what: &str, findings: &mut Findings<'_>) -> Option<When> {
    let test = match entry.node.value {
        DeValue::Table(_) => test(entry, what, findings)?,
        _ => WhenTest::Exists(true),
    };
    if !matches!(test, WhenTest::BeginsWith(_)) {
        findings
            .report(Code::BadValue, entry.node.span.clone(), format!("{what} is a folded key"))
            .hint("of a folded key you can only ask how it begins: `{ begins-with = \"USER#\" }`");
        return None;
    }
    Some(When { attribute: entry.name.value.to_owned(), test })
}

/// `{ exists = true }` or `{ begins-with = "USER#" }`
fn test(entry: &TomlEntry<'_>, what: &str, findings: &mut Findings<'_>) -> Option<WhenTest> {
    let fields = Fields::read(entry, what, grammar::WHEN_TEST, findings);
    let Some(node) = fields.node("begins-with") else {
        let exists = fields.required("exists", findings)?.boolean(findings, &fields.what("exists"))?;
        return Some(WhenTest::Exists(exists));
    };
    let prefix = node.text(findings, &fields.what("begins-with"))?;
    if prefix.value.is_empty() {
        let message = format!("{} is empty, so every string begins with it", fields.what("begins-with"));
        findings.report(Code::BadValue, prefix.span, message).hint("write `{ exists = true }` for any value");
        return None;
    }
    if let Some(exists) = fields.node("exists") {
        let message = format!("{what} has both `exists` and `begins-with`");
        findings
            .report(Code::BadValue, exists.span.clone(), message)
            .hint("what begins with a text exists: leave `exists` out");
    }
    Some(WhenTest::BeginsWith(prefix.value.to_owned()))
}

/// A value that fits the attribute's type, and is one of its values if it lists them.
pub(super) fn declared_value(
    node: &Node<'_>,
    attribute: &Attribute,
    what: &str,
    findings: &mut Findings<'_>,
) -> Option<AttributeValue> {
    let value = value_of(node, attribute.kind, what, Code::WrongType, findings)?;
    let refused =
        attribute.values.as_ref().is_some_and(|values| !values.is_empty() && !values.contains(&value));
    if refused {
        let message = format!("{what} is not one of the values of `{}`", attribute.name);
        findings
            .report(Code::BadValue, node.span.clone(), message)
            .hint(format!("it is {}", one_of(listed(attribute).unwrap_or_default())));
    }
    Some(value)
}
