//! Plans for named questions without parameter values.
//!
//! Stand-ins of the right types replace the values: they show the planner only which attributes are given, and how.

use crate::condition::Comparison;
use crate::model::{Attribute, AttributeKind, Model, Operator, Question, QuestionCondition, Table};
use crate::query::check::{CheckedRequest, in_scope};
use crate::query::limits::{PAGE_ITEMS_DEFAULT, SORT_ITEMS_MAX};
use crate::query::plan::{PlanError, QueryPlan, plan};
use crate::query::readiness::Readiness;
use crate::value::AttributeValue;

/// The plan of one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice<'m> {
    /// The question.
    pub question: &'m Question,
    /// Its table.
    pub table: &'m Table,
    /// Asked with its optional conditions? `None` if it has none.
    pub with_optional: Option<bool>,
    /// The plan, or why it is impossible.
    pub outcome: Result<QueryPlan, PlanError>,
}

/// Plans every question of a model: without its optional conditions, and with them.
pub fn advise(model: &Model) -> Vec<Advice<'_>> {
    let mut advice = Vec::new();
    for question in &model.questions {
        let Some(table) = model.table(&question.table) else { continue };
        for with_optional in ways(question) {
            let outcome = plan_question(table, question, *with_optional, &Readiness::complete());
            advice.push(Advice { question, table, with_optional: *with_optional, outcome });
        }
    }
    advice
}

/// The ways in which a question can be asked: without its optional conditions and with them, or the only one (`None`).
pub fn ways(question: &Question) -> &'static [Option<bool>] {
    let has_optional = question.parameters().iter().any(|condition| condition.optional);
    if has_optional { &[Some(false), Some(true)] } else { &[None] }
}

/// Plans a question of a table in one of its [`ways`].
pub fn plan_question(
    table: &Table,
    question: &Question,
    with_optional: Option<bool>,
    readiness: &Readiness,
) -> Result<QueryPlan, PlanError> {
    plan(&stand_in(table, question, with_optional.unwrap_or(true)), readiness)
}

/// The question as a request, with stand-ins for values. For a table with a scope the caller has claims, as in the
/// query API: such a caller can use fewer indexes.
fn stand_in<'m>(table: &'m Table, question: &Question, with_optional: bool) -> CheckedRequest<'m> {
    let asked = |condition: &QuestionCondition| {
        let attribute = table.attribute_of(question.entities_of(condition), &condition.attribute)?;
        (with_optional || !condition.optional).then(|| comparison(attribute, condition))
    };
    let own = |name: &String| Some((name.clone(), stand_in_value(table.attributes.get(name)?)));
    let scope = table.scope.keys().filter_map(own).collect();
    CheckedRequest {
        table,
        entities: question.entities.clone(),
        condition: in_scope(&scope, question.condition(table, &asked)),
        scope,
        order: question.order.clone(),
        limit: question.limit.unwrap_or(PAGE_ITEMS_DEFAULT),
        limited: question.limit.is_some(),
        select: question.select.clone(),
        count: false,
        consistent: question.consistent,
        scan: question.scan,
        sort_in_memory: question.scan.then_some(SORT_ITEMS_MAX),
    }
}

fn comparison(attribute: &Attribute, condition: &QuestionCondition) -> Comparison {
    let value = || stand_in_value(attribute);
    match condition.operator {
        Operator::Equal => Comparison::Equal(value()),
        Operator::Less => Comparison::Less(value()),
        Operator::LessOrEqual => Comparison::LessOrEqual(value()),
        Operator::Greater => Comparison::Greater(value()),
        Operator::GreaterOrEqual => Comparison::GreaterOrEqual(value()),
        Operator::Between => Comparison::Between(value(), value()),
        Operator::BeginsWith => Comparison::BeginsWith(value()),
        Operator::Contains => Comparison::Contains(value()),
        Operator::In => Comparison::In(vec![value()]),
        Operator::Exists => Comparison::Exists(true),
    }
}

/// A value that an attribute can have, in place of one that is not known.
pub fn stand_in_value(attribute: &Attribute) -> AttributeValue {
    if let Some(first) = attribute.values.as_ref().and_then(|values| values.first()) {
        return first.clone();
    }
    let mapped = attribute.maps.values().next().and_then(|map| map.keys().next());
    match attribute.kind {
        AttributeKind::Number => AttributeValue::N(mapped.cloned().unwrap_or_else(|| "1".to_owned())),
        AttributeKind::Binary => AttributeValue::B(b"x".to_vec()),
        AttributeKind::Boolean => AttributeValue::Bool(true),
        AttributeKind::Timestamp(_) => AttributeValue::S("2000-01-01T00:00:00Z".to_owned()),
        AttributeKind::Date => AttributeValue::S("2000-01-01".to_owned()),
        _ => AttributeValue::S(mapped.cloned().unwrap_or_else(|| "x".to_owned())),
    }
}
