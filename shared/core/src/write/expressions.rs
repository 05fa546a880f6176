//! The expressions of one write, with their placeholders.

use std::collections::BTreeMap;

use super::action::{Action, Guard};
use crate::model::Table;
use crate::query::expression::ConditionExpression;
use crate::value::{AttributeValue, Name};

/// The expressions of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteExpressions {
    /// `UpdateExpression`; none for a put or a delete.
    pub update: Option<String>,
    /// `ConditionExpression`; none without a guard.
    pub condition: Option<String>,
    /// `ExpressionAttributeNames`.
    pub names: BTreeMap<String, String>,
    /// `ExpressionAttributeValues`.
    pub values: BTreeMap<String, AttributeValue>,
}

impl WriteExpressions {
    /// The expressions of a write to this table.
    pub fn of(table: &Table, action: &Action, guard: Option<&Guard>) -> WriteExpressions {
        let guard = guard.map(|guard| guard.condition(&table.partition.name));
        let mut expression = guard.as_ref().map(ConditionExpression::of).unwrap_or_default();
        let update = match action {
            Action::Update { set, remove, .. } => Some(update(set, remove, &mut expression)),
            Action::Put(_) | Action::Delete(_) => None,
        };
        WriteExpressions {
            update,
            names: expression.names,
            values: expression.values,
            condition: guard.map(|_| expression.text),
        }
    }
}

/// `SET ... REMOVE ...` of whole attributes, with placeholders in addition to those of the condition.
fn update(
    set: &[(Name, AttributeValue)],
    remove: &[String],
    placeholders: &mut ConditionExpression,
) -> String {
    let mut text = String::new();
    for (at, (name, value)) in set.iter().enumerate() {
        text.push_str(if at == 0 { "SET " } else { ", " });
        placeholders.name(name, &mut text);
        text.push_str(" = ");
        placeholders.value(value, &mut text);
    }
    for (at, name) in remove.iter().enumerate() {
        text.push_str(match at {
            0 if text.is_empty() => "REMOVE ",
            0 => " REMOVE ",
            _ => ", ",
        });
        placeholders.name(name, &mut text);
    }
    text
}
