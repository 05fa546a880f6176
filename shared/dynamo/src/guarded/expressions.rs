//! The expressions of one write, with their placeholders.

use std::collections::HashMap;

use keyfold_core::model::Table;
use keyfold_core::query::expression::ConditionExpression;
use keyfold_core::value::AttributeValue;
use keyfold_core::write::{Action, Guard};

use crate::values::{SdkItem, names_to_sdk, values_to_sdk};

/// What a write carries beside its item or key.
pub(super) struct Expressions {
    /// `UpdateExpression`; none for a put or a delete.
    pub(super) update: Option<String>,
    /// `ConditionExpression`; none without a guard.
    pub(super) condition: Option<String>,
    pub(super) names: Option<HashMap<String, String>>,
    pub(super) values: Option<SdkItem>,
}

impl Expressions {
    pub(super) fn of(table: &Table, action: &Action, guard: Option<&Guard>) -> Expressions {
        let guard = guard.map(|guard| guard.condition(&table.partition.name));
        let mut expression = guard.as_ref().map(ConditionExpression::of).unwrap_or_default();
        let update = match action {
            Action::Update { set, remove, .. } => Some(update(set, remove, &mut expression)),
            Action::Put(_) | Action::Delete(_) => None,
        };
        Expressions {
            update,
            names: names_to_sdk(&expression.names),
            values: values_to_sdk(&expression.values),
            condition: guard.map(|_| expression.text),
        }
    }
}

/// `SET ... REMOVE ...` of whole attributes, with placeholders beside those of the condition.
fn update(
    set: &[(String, AttributeValue)],
    remove: &[String],
    placeholders: &mut ConditionExpression,
) -> String {
    let set: Vec<String> = set
        .iter()
        .map(|(name, value)| format!("{} = {}", placeholders.name(name), placeholders.value(value)))
        .collect();
    let remove: Vec<String> = remove.iter().map(|name| placeholders.name(name)).collect();
    let clauses = [("SET", set), ("REMOVE", remove)].into_iter().filter(|(_, parts)| !parts.is_empty());
    clauses.map(|(word, parts)| format!("{word} {}", parts.join(", "))).collect::<Vec<_>>().join(" ")
}

/// Gives a builder of the SDK the write's table, condition and placeholders. The six builders of guarded writes have these
/// setters, and no trait in common.
macro_rules! guarded {
    ($builder:expr, $table:expr, $expressions:expr) => {
        $builder
            .table_name(&$table.name)
            .set_condition_expression($expressions.condition)
            .set_expression_attribute_names($expressions.names)
            .set_expression_attribute_values($expressions.values)
    };
}
pub(super) use guarded;
