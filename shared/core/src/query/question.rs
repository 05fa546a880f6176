//! Builds a request from a named question and its parameters.
//!
//! Each condition of the question is one parameter: `resourceId=123bbb` for equality, otherwise with the operator after
//! a dot: `timestamp.beginsWith=2017-03`. `between` takes `low..high`, or the parameter twice; `in` takes values
//! between commas, or the parameter once for each value, which may then contain commas.

mod error;
mod name;
mod value;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::{
    Entity, Model, OrderBy, Question, QuestionBranch, QuestionCondition, Table, When, WhenTest,
};
use crate::query::QueryRequest;
use crate::query::check::find_table;
use crate::query::limits::PAGE_ITEMS_MAX;
use name::RESERVED;

pub use error::QuestionError;
pub use name::{param_name, symbol};

/// The question of a table, by name.
pub fn find<'m>(
    model: &'m Model,
    table: &str,
    question: &str,
) -> Result<(&'m Table, &'m Question), QuestionError> {
    let found = find_table(model, table)?;
    match model.questions_of(found).find(|known| known.name == question) {
        Some(question) => Ok((found, question)),
        None => Err(QuestionError::Unknown {
            table: found.id.clone(),
            question: question.to_owned(),
            known: model.questions_of(found).map(|known| known.name.clone()).collect(),
        }),
    }
}

/// The request that a question and its parameters make. `format` is taken out by the caller before.
pub fn request(
    table: &Table,
    question: &Question,
    mut params: Params,
) -> Result<QueryRequest, QuestionError> {
    let mut given = Vec::new();
    for condition in question.parameters() {
        let value = condition_of(table, question, &condition, &mut params)?;
        given.extend(value.map(|value| (condition, value)));
    }
    let request = QueryRequest {
        order: order(question, &mut params),
        limit: limit(question, &mut params)?,
        count: flag("count", &mut params)?,
        page: one("page", &mut params)?,
        explain: flag("explain", &mut params)?,
        ..asked(table, question, &given)
    };
    match params.left() {
        None => Ok(request),
        Some(left) => Err(unknown_parameter(question, left, &RESERVED)),
    }
}

/// The request that a question and its parameters make, where each value is one of a `where`: a list for `between` and
/// `in`.
pub fn request_of_values(
    table: &Table,
    question: &Question,
    mut values: BTreeMap<String, Value>,
) -> Result<QueryRequest, QuestionError> {
    let mut given = Vec::new();
    for condition in question.parameters() {
        let mut value = None;
        for name in name::accepted(&condition) {
            value = value.or(values.remove(&name));
        }
        match value {
            Some(value) => given.push((condition.clone(), spelled_out(&condition, &value))),
            None if condition.optional => {}
            None => return Err(missing(question, &condition)),
        }
    }
    match values.keys().next() {
        None => Ok(asked(table, question, &given)),
        Some(left) => Err(unknown_parameter(question, left, &[])),
    }
}

/// The request of a question with these conditions.
fn asked(table: &Table, question: &Question, given: &[(QuestionCondition, Value)]) -> QueryRequest {
    let of = |asked: &[QuestionCondition]| -> Vec<Value> {
        let is = |condition: &QuestionCondition, known: &QuestionCondition| {
            known.attribute == condition.attribute && known.operator == condition.operator
        };
        let value = |condition| given.iter().find(|(known, _)| is(condition, known));
        asked.iter().filter_map(value).map(|(_, value)| value.clone()).collect()
    };
    let mut conditions = of(&question.conditions);
    if !question.branches.is_empty() {
        let branch = |branch: &QuestionBranch| {
            let mut parts = of(&branch.conditions);
            if !branch.entities.is_empty() {
                parts.push(of_entities(table, branch));
            }
            Value::Array(parts)
        };
        conditions.push(json!({ "or": question.branches.iter().map(branch).collect::<Vec<_>>() }));
    }
    QueryRequest {
        table: table.id.clone(),
        entity: question.entities.iter().map(|id| table.entities[id.0].name.clone()).collect(),
        conditions: Value::Array(conditions).into(),
        order: order(question, &mut Params::default()),
        limit: question.limit,
        select: question.select.clone(),
        consistent: question.consistent,
        scan: question.scan,
        ..QueryRequest::default()
    }
}

fn missing(question: &Question, condition: &QuestionCondition) -> QuestionError {
    QuestionError::Missing { question: question.name.clone(), parameter: param_name(condition) }
}

fn unknown_parameter(question: &Question, parameter: &str, reserved: &[&str]) -> QuestionError {
    let parameters = question.parameters();
    QuestionError::UnknownParameter {
        question: question.name.clone(),
        parameter: parameter.to_owned(),
        known: parameters
            .iter()
            .map(param_name)
            .chain(reserved.iter().map(|word| (*word).to_owned()))
            .collect(),
    }
}

/// The entities of a branch. Where an attribute is called `entity`, the word means that one, and the `when`s are written out.
fn of_entities(table: &Table, branch: &QuestionBranch) -> Value {
    let entities = || branch.entities.iter().map(|id| &table.entities[id.0]);
    match table.attributes.contains_key("entity") {
        false => json!({ "entity": entities().map(|entity| &entity.name).collect::<Vec<_>>() }),
        true => json!({ "or": entities().map(when).collect::<Vec<_>>() }),
    }
}

/// The `when` of an entity, as conditions of a request.
fn when(entity: &Entity) -> Value {
    let test = |when: &When| {
        let (operator, value) = match &when.test {
            WhenTest::In(values) => ("in", json!(values)),
            WhenTest::Exists(wanted) => ("exists", json!(wanted)),
            WhenTest::BeginsWith(prefix) => ("beginsWith", json!(prefix)),
        };
        json!({ "attribute": when.attribute, "operator": operator, "value": value })
    };
    Value::Array(entity.when.iter().map(test).collect())
}

/// One condition in the form that needs no care for attributes called `and` or `or`.
fn condition_of(
    table: &Table,
    question: &Question,
    condition: &QuestionCondition,
    params: &mut Params,
) -> Result<Option<Value>, QuestionError> {
    let given: Vec<String> = name::accepted(condition).iter().flat_map(|name| params.take(name)).collect();
    if given.is_empty() {
        return if condition.optional { Ok(None) } else { Err(missing(question, condition)) };
    }
    let value = value::read(table, question.entities_of(condition), condition, &given)?;
    Ok(Some(spelled_out(condition, &value)))
}

fn spelled_out(condition: &QuestionCondition, value: &Value) -> Value {
    json!({ "attribute": condition.attribute, "operator": symbol(condition.operator), "value": value })
}

fn order(question: &Question, params: &mut Params) -> Vec<String> {
    let given = params.take("order");
    if given.is_empty() {
        let text = |by: &OrderBy| format!("{}{}", if by.descending { "-" } else { "" }, by.attribute);
        return question.order.iter().map(text).collect();
    }
    given.iter().flat_map(|text| text.split(',')).map(str::to_owned).collect()
}

/// The question's own limit is the maximum.
fn limit(question: &Question, params: &mut Params) -> Result<Option<u32>, QuestionError> {
    let Some(text) = one("limit", params)? else { return Ok(question.limit) };
    let most = question.limit.unwrap_or(PAGE_ITEMS_MAX);
    match text.parse::<u32>() {
        Ok(limit) if (1..=most).contains(&limit) => Ok(Some(limit)),
        _ => Err(QuestionError::Invalid {
            parameter: "limit".to_owned(),
            wanted: format!("a number from 1 to {most}"),
        }),
    }
}

fn flag(name: &str, params: &mut Params) -> Result<bool, QuestionError> {
    match one(name, params)?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true" | "") => Ok(true),
        Some(_) => {
            Err(QuestionError::Invalid { parameter: name.to_owned(), wanted: "`true` or `false`".to_owned() })
        }
    }
}

fn one(name: &str, params: &mut Params) -> Result<Option<String>, QuestionError> {
    let mut values = params.take(name);
    match values.len() {
        0 => Ok(None),
        1 => Ok(values.pop()),
        _ => Err(QuestionError::Invalid { parameter: name.to_owned(), wanted: "given once".to_owned() }),
    }
}

/// The parameters, by name, each with its values in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Params(BTreeMap<String, Vec<String>>);

impl FromIterator<(String, String)> for Params {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Params {
        let mut params = BTreeMap::<String, Vec<String>>::new();
        for (name, value) in pairs {
            params.entry(name).or_default().push(value);
        }
        Params(params)
    }
}

impl Params {
    /// Takes the values of a name out; none if it is not there.
    pub fn take(&mut self, name: &str) -> Vec<String> {
        self.0.remove(name).unwrap_or_default()
    }

    /// The name of an unknown parameter, if there is one.
    pub fn left(&self) -> Option<&str> {
        self.0.keys().next().map(String::as_str)
    }
}

#[cfg(test)]
mod tests;
