//! The expressions of one write, with their placeholders.

use std::collections::BTreeMap;

use super::action::{Action, Guard};
use super::operation::AttributeOperation;
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
        WriteExpressions::with(table, action, guard, &[])
    }

    /// The expressions of a write with further operations of its update.
    pub(super) fn with(
        table: &Table,
        action: &Action,
        guard: Option<&Guard>,
        operations: &[AttributeOperation],
    ) -> WriteExpressions {
        let guard = guard.map(|guard| guard.condition(&table.partition.name));
        let mut expression = guard.as_ref().map(ConditionExpression::of).unwrap_or_default();
        let update = match action {
            Action::Update { set, remove, .. } => Some(update(set, remove, operations, &mut expression)),
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

/// `SET ... REMOVE ... ADD ... DELETE ...`, with placeholders in addition to those of the condition.
fn update(
    set: &[(Name, AttributeValue)],
    remove: &[String],
    operations: &[AttributeOperation],
    placeholders: &mut ConditionExpression,
) -> String {
    let mut clauses: Vec<(&str, String)> = Vec::new();
    for (name, value) in set {
        let mut text = String::new();
        placeholders.name(name, &mut text);
        text.push_str(" = ");
        placeholders.value(value, &mut text);
        clauses.push(("SET", text));
    }
    for name in remove {
        let mut text = String::new();
        placeholders.name(name, &mut text);
        clauses.push(("REMOVE", text));
    }
    clauses.extend(operations.iter().map(|operation| operation.clause(placeholders)));
    let below = |word| {
        let texts = clauses.iter().filter(|(known, _)| *known == word).map(|(_, text)| text.as_str());
        let texts: Vec<&str> = texts.collect();
        (!texts.is_empty()).then(|| format!("{word} {}", texts.join(", ")))
    };
    ["SET", "REMOVE", "ADD", "DELETE"].into_iter().filter_map(below).collect::<Vec<_>>().join(" ")
}
