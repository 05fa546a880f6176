//! The values of a parameter, typed by the manifest, in DynamoDB's JSON notation.

use serde_json::{Value, json};

use super::error::QuestionError;
use super::name::param_name;
use crate::model::{Attribute, AttributeKind, EntityId, Operator, QuestionCondition, Table};
use crate::query::check::{RequestError, typed_text};
use crate::value::AttributeValue;

/// The operand of a condition.
pub(super) fn read(
    table: &Table,
    entities: &[EntityId],
    condition: &QuestionCondition,
    given: &[String],
) -> Result<Value, QuestionError> {
    match (condition.operator, given) {
        (Operator::In, [list]) => several(table, entities, condition, &in_list(list)),
        (Operator::Between, [range]) => match range.split_once("..") {
            Some((low, high)) if !high.contains("..") => several(table, entities, condition, &[low, high]),
            _ => Err(invalid(condition, "two values: `low..high`")),
        },
        (Operator::In, list) => several(table, entities, condition, &texts(list)),
        (Operator::Between, [low, high]) => several(table, entities, condition, &[low, high]),
        (Operator::Between, _) => Err(invalid(condition, "two values: `low..high`")),
        (Operator::Exists, [text]) => match text.as_str() {
            "true" | "" => Ok(json!(true)),
            "false" => Ok(json!(false)),
            _ => Err(invalid(condition, "`true` or `false`")),
        },
        (_, [text]) => one(table, entities, condition, text),
        _ => Err(invalid(condition, "given once")),
    }
}

fn in_list(list: &str) -> Vec<&str> {
    if list.is_empty() { Vec::new() } else { list.split(',').collect() }
}

fn texts(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

fn several(
    table: &Table,
    entities: &[EntityId],
    condition: &QuestionCondition,
    texts: &[&str],
) -> Result<Value, QuestionError> {
    texts
        .iter()
        .map(|text| one(table, entities, condition, text))
        .collect::<Result<Vec<_>, _>>()
        .map(Value::Array)
}

fn one(
    table: &Table,
    entities: &[EntityId],
    condition: &QuestionCondition,
    text: &str,
) -> Result<Value, QuestionError> {
    let Some(attribute) = table.attribute_of(entities, &condition.attribute) else {
        return Err(QuestionError::Request(RequestError::UnknownAttribute {
            table: table.id.clone(),
            attribute: condition.attribute.clone(),
            closest: None,
        }));
    };
    // `contains` asks for a member: the attribute's own type is that of the whole.
    let value = match attribute.kind {
        AttributeKind::StringSet | AttributeKind::List | AttributeKind::Map => {
            return Ok(json!({ "S": text }));
        }
        AttributeKind::NumberSet => member(table, attribute, AttributeKind::Number, text)?,
        AttributeKind::BinarySet => member(table, attribute, AttributeKind::Binary, text)?,
        _ => typed_text(table, attribute, text)?,
    };
    serde_json::to_value(value).map_err(|_| invalid(condition, "a value"))
}

fn member(
    table: &Table,
    set: &Attribute,
    kind: AttributeKind,
    text: &str,
) -> Result<AttributeValue, RequestError> {
    typed_text(table, &Attribute { kind, ..set.clone() }, text)
}

fn invalid(condition: &QuestionCondition, wanted: &str) -> QuestionError {
    QuestionError::Invalid { parameter: param_name(condition), wanted: wanted.to_owned() }
}
