//! Conditions on items: an entity's `when`, a retrofit's `only`.

use toml::de::DeValue;

use super::attributes::Attributes;
use super::code::Code;
use super::diagnostic::Findings;
use super::fields::Fields;
use super::grammar;
use super::node::{Entry, Node};
use super::parts::listed;
use super::suggest::one_of;
use super::values::value_of;
use crate::model::{Attribute, When, WhenTest};
use crate::value::AttributeValue;

/// Reads the table; what cannot be read is reported and left out.
pub(super) fn conditions(
    node: &Node<'_>,
    what: &str,
    table: &str,
    attributes: &Attributes,
    findings: &mut Findings<'_>,
) -> Vec<When> {
    let entries = node.entries(findings, what);
    entries.iter().filter_map(|entry| condition(entry, what, table, attributes, findings)).collect()
}

fn condition(
    entry: &Entry<'_>,
    what: &str,
    table: &str,
    attributes: &Attributes,
    findings: &mut Findings<'_>,
) -> Option<When> {
    let attribute = attributes.find(&entry.name, table, findings)?;
    let what = format!("`{}` in {what}", attribute.name);
    let test = match entry.node.value {
        DeValue::Table(_) => exists(entry, &what, findings)?,
        DeValue::Array(_) => {
            let elements = entry.node.elements(findings, &what)?;
            if elements.is_empty() {
                findings.report(Code::BadValue, entry.node.span.clone(), format!("{what} lists no value"));
            }
            let what = format!("each of {what}");
            let values = elements.iter().filter_map(|node| declared_value(node, attribute, &what, findings));
            WhenTest::In(values.collect())
        }
        _ => WhenTest::In(vec![declared_value(&entry.node, attribute, &what, findings)?]),
    };
    Some(When { attribute: attribute.name.clone(), test })
}

fn exists(entry: &Entry<'_>, what: &str, findings: &mut Findings<'_>) -> Option<WhenTest> {
    let fields = Fields::read(entry, what, grammar::EXISTS, findings);
    let exists = fields.required("exists", findings)?.boolean(findings, &fields.what("exists"))?;
    Some(WhenTest::Exists(exists))
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
