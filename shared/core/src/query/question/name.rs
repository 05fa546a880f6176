//! The names of parameters: an attribute, an attribute and an operator, or a word of the API's own.

use crate::model::{Operator, QuestionCondition};

/// Parameters of the API. An attribute with such a name is tested by `name.eq`.
pub(super) const RESERVED: [&str; 6] = ["limit", "page", "order", "format", "count", "explain"];

/// The operator as `where` writes it.
pub fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal => "=",
        Operator::Less => "<",
        Operator::LessOrEqual => "<=",
        Operator::Greater => ">",
        Operator::GreaterOrEqual => ">=",
        Operator::Between => "between",
        Operator::BeginsWith => "beginsWith",
        Operator::Contains => "contains",
        Operator::In => "in",
        Operator::Exists => "exists",
    }
}

/// The operator as a word that needs no escaping in a URL.
fn word(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal => "eq",
        Operator::Less => "lt",
        Operator::LessOrEqual => "lte",
        Operator::Greater => "gt",
        Operator::GreaterOrEqual => "gte",
        other => symbol(other),
    }
}

/// The parameter of a condition, as the documentation names it.
pub fn param_name(condition: &QuestionCondition) -> String {
    let QuestionCondition { attribute, operator, .. } = condition;
    match operator {
        Operator::Equal if !RESERVED.contains(&attribute.as_str()) => attribute.clone(),
        other => format!("{attribute}.{}", word(*other)),
    }
}

/// Every name that the parameter of a condition may have.
pub(super) fn accepted(condition: &QuestionCondition) -> Vec<String> {
    let QuestionCondition { attribute, operator, .. } = condition;
    let mut names = vec![
        param_name(condition),
        format!("{attribute}.{}", word(*operator)),
        format!("{attribute}.{}", symbol(*operator)),
    ];
    names.dedup();
    names
}
