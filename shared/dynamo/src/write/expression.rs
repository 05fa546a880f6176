//! `SET ... REMOVE ...`, with placeholders beside those of the condition.

use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::query::expression::ConditionExpression;
use keyfold_core::value::AttributeValue;

/// The update expression that sets and removes whole attributes.
pub(super) fn update_expression(
    set: &BTreeMap<String, AttributeValue>,
    remove: &BTreeSet<String>,
    holders: &mut ConditionExpression,
) -> String {
    let set: Vec<String> = set
        .iter()
        .map(|(name, value)| format!("{} = {}", holders.name(name), holders.value(value)))
        .collect();
    let remove: Vec<String> = remove.iter().map(|name| holders.name(name)).collect();
    let clauses = [("SET", set), ("REMOVE", remove)].into_iter().filter(|(_, parts)| !parts.is_empty());
    clauses.map(|(word, parts)| format!("{word} {}", parts.join(", "))).collect::<Vec<_>>().join(" ")
}
