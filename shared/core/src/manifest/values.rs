//! TOML values as DynamoDB's values.

use toml::de::DeValue;

use super::code::Code;
use super::diagnostic::Findings;
use super::node::{Node, entries_of};
use crate::model::AttributeKind;
use crate::value::{AttributeValue, Number};

/// A value of a declared attribute, or a report that it does not fit the attribute's type.
pub(super) fn value_of(
    node: &Node<'_>,
    kind: AttributeKind,
    what: &str,
    code: Code,
    findings: &mut Findings<'_>,
) -> Option<AttributeValue> {
    let value = untyped(node).filter(|value| fits(value, kind));
    if value.is_none() {
        let message = format!("{what} must be {}", expected(kind));
        findings.report(code, node.span.clone(), message);
    }
    value
}

/// A value of an undeclared attribute.
pub(super) fn untyped_value(
    node: &Node<'_>,
    what: &str,
    findings: &mut Findings<'_>,
) -> Option<AttributeValue> {
    let value = untyped(node);
    if value.is_none() {
        findings.report(
            Code::BadValue,
            node.span.clone(),
            format!("{what} is not a value that DynamoDB can store"),
        );
    }
    value
}

fn untyped(node: &Node<'_>) -> Option<AttributeValue> {
    Some(match node.value {
        DeValue::String(text) => AttributeValue::S(text.to_string()),
        DeValue::Integer(integer) if integer.radix() == 10 => number(integer.as_str())?,
        DeValue::Integer(integer) => {
            number(&u64::from_str_radix(integer.as_str(), integer.radix()).ok()?.to_string())?
        }
        DeValue::Float(float) => number(float.as_str())?,
        DeValue::Boolean(boolean) => AttributeValue::Bool(*boolean),
        DeValue::Datetime(datetime) => AttributeValue::S(datetime.to_string()),
        DeValue::Array(array) => AttributeValue::L(
            array.iter().map(|element| untyped(&Node::new(element))).collect::<Option<_>>()?,
        ),
        DeValue::Table(table) => {
            let entries = entries_of(table).into_iter();
            let entries = entries.map(|entry| Some((entry.name.value.to_owned(), untyped(&entry.node)?)));
            AttributeValue::M(entries.collect::<Option<_>>()?)
        }
    })
}

fn number(text: &str) -> Option<AttributeValue> {
    let number: Number = text.trim_start_matches('+').parse().ok()?;
    Some(AttributeValue::N(number.to_string()))
}

fn fits(value: &AttributeValue, kind: AttributeKind) -> bool {
    crate::value::type_letter(value) == kind.type_letter()
}

fn expected(kind: AttributeKind) -> &'static str {
    match kind {
        AttributeKind::String => "a string",
        AttributeKind::Number => "a number that DynamoDB can store",
        AttributeKind::Boolean => "`true` or `false`",
        AttributeKind::Timestamp(_) => "a timestamp",
        AttributeKind::Date => "a date",
        AttributeKind::List => "a list",
        AttributeKind::Map => "a table",
        AttributeKind::Binary
        | AttributeKind::StringSet
        | AttributeKind::NumberSet
        | AttributeKind::BinarySet => {
            "a type that a manifest cannot contain: sets and binaries have no TOML form"
        }
    }
}
