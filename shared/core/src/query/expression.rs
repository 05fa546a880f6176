//! Conditions as DynamoDB's expressions: with placeholders to send, and spelled out for people.

use std::collections::BTreeMap;

use crate::condition::{Comparison, Condition, Path};
use crate::query::plan::{Access, KeyEqual, Operation, SortCondition, SortTest};
use crate::value::AttributeValue;

/// The expressions of one request, with their placeholders.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expressions {
    /// `KeyConditionExpression`, for a query.
    pub key_condition: Option<String>,
    /// `FilterExpression`.
    pub filter: Option<String>,
    /// `ProjectionExpression`.
    pub projection: Option<String>,
    /// `ExpressionAttributeNames`.
    pub names: BTreeMap<String, String>,
    /// `ExpressionAttributeValues`.
    pub values: BTreeMap<String, AttributeValue>,
}

/// The expressions of one access. `projection`: the attributes to return; all of the table or index if absent.
pub fn expressions(access: &Access, projection: Option<&[String]>) -> Expressions {
    let mut holders = Placeholders::default();
    let key_condition = key_condition(&access.operation, &mut holders);
    let filter = (!access.filter.is_always()).then(|| condition(&access.filter, &mut holders, false));
    let projection = projection
        .filter(|names| !names.is_empty())
        .map(|names| names.iter().map(|name| holders.name(name)).collect::<Vec<_>>().join(", "));
    Expressions { key_condition, filter, projection, names: holders.names, values: holders.values }
}

/// A key condition for people; `None` for a scan.
pub fn readable_key_condition(operation: &Operation) -> Option<String> {
    key_condition(operation, &mut Plain)
}

/// A condition for people; `None` if it asks nothing.
pub fn readable_condition(asked: &Condition) -> Option<String> {
    (!asked.is_always()).then(|| condition(asked, &mut Plain, false))
}

/// A condition by itself, as a write carries it; more placeholders can be added for the update beside it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConditionExpression {
    /// `ConditionExpression`.
    pub text: String,
    /// `ExpressionAttributeNames`.
    pub names: BTreeMap<String, String>,
    /// `ExpressionAttributeValues`.
    pub values: BTreeMap<String, AttributeValue>,
}

impl ConditionExpression {
    /// The expression of a condition that asks something.
    pub fn of(asked: &Condition) -> ConditionExpression {
        let mut holders = Placeholders::default();
        let text = condition(asked, &mut holders, false);
        ConditionExpression { text, names: holders.names, values: holders.values }
    }

    /// The placeholder of a name.
    pub fn name(&mut self, name: &str) -> String {
        holder_of_name(&mut self.names, name)
    }

    /// A placeholder for a value.
    pub fn value(&mut self, value: &AttributeValue) -> String {
        holder_of_value(&mut self.values, value)
    }
}

/// How names and values are written.
trait Words {
    fn name(&mut self, name: &str) -> String;
    fn value(&mut self, value: &AttributeValue) -> String;
}

/// `#n0` and `:v0`, each name once.
#[derive(Default)]
struct Placeholders {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, AttributeValue>,
}

impl Words for Placeholders {
    fn name(&mut self, name: &str) -> String {
        holder_of_name(&mut self.names, name)
    }

    fn value(&mut self, value: &AttributeValue) -> String {
        holder_of_value(&mut self.values, value)
    }
}

fn holder_of_name(names: &mut BTreeMap<String, String>, name: &str) -> String {
    if let Some((holder, _)) = names.iter().find(|(_, known)| *known == name) {
        return holder.clone();
    }
    let holder = format!("#n{}", names.len());
    names.insert(holder.clone(), name.to_owned());
    holder
}

fn holder_of_value(values: &mut BTreeMap<String, AttributeValue>, value: &AttributeValue) -> String {
    let holder = format!(":v{}", values.len());
    values.insert(holder.clone(), value.clone());
    holder
}

/// Names and values as they are.
struct Plain;

impl Words for Plain {
    fn name(&mut self, name: &str) -> String {
        name.to_owned()
    }

    fn value(&mut self, value: &AttributeValue) -> String {
        match value {
            AttributeValue::S(text) => format!("{text:?}"),
            AttributeValue::N(number) => number.clone(),
            AttributeValue::Bool(value) => value.to_string(),
            AttributeValue::Null(_) => "null".to_owned(),
            AttributeValue::B(bytes) => format!("{} bytes", bytes.len()),
            other => crate::value::type_letter(other).to_owned(),
        }
    }
}

fn key_condition(operation: &Operation, words: &mut dyn Words) -> Option<String> {
    let Operation::Query { partition, sort } = operation else { return None };
    let mut parts = Vec::with_capacity(partition.len() + sort.len());
    for KeyEqual { attribute, value } in partition {
        parts.push(format!("{} = {}", words.name(attribute), words.value(value)));
    }
    for SortCondition { attribute, test } in sort {
        parts.push(sort_condition(attribute, test, words));
    }
    Some(parts.join(" AND "))
}

fn sort_condition(attribute: &str, test: &SortTest, words: &mut dyn Words) -> String {
    let name = words.name(attribute);
    let mut compare =
        |operator: &str, value: &AttributeValue| format!("{name} {operator} {}", words.value(value));
    match test {
        SortTest::Equal(value) => compare("=", value),
        SortTest::AtLeast(value) => compare(">=", value),
        SortTest::Above(value) => compare(">", value),
        SortTest::AtMost(value) => compare("<=", value),
        SortTest::Below(value) => compare("<", value),
        SortTest::BeginsWith(value) => format!("begins_with({name}, {})", words.value(value)),
        SortTest::Between(low, high) => {
            format!("{name} BETWEEN {} AND {}", words.value(low), words.value(high))
        }
    }
}

/// `inner`: in brackets if it has several parts.
fn condition(asked: &Condition, words: &mut dyn Words, inner: bool) -> String {
    let mut joined = |parts: &[Condition], word: &str| {
        let text = parts.iter().map(|part| condition(part, words, true)).collect::<Vec<_>>().join(word);
        if inner { format!("({text})") } else { text }
    };
    match asked {
        Condition::Is(path, comparison) => is(path, comparison, words),
        Condition::All(parts) => joined(parts, " AND "),
        Condition::Any(parts) => joined(parts, " OR "),
        Condition::Not(part) => format!("NOT {}", condition(part, words, true)),
    }
}

fn is(path: &Path, comparison: &Comparison, words: &mut dyn Words) -> String {
    let mut name = words.name(&path.root);
    for member in &path.inner {
        name.push('.');
        name.push_str(&words.name(member));
    }
    let mut compare =
        |operator: &str, value: &AttributeValue| format!("{name} {operator} {}", words.value(value));
    match comparison {
        Comparison::Equal(value) => compare("=", value),
        Comparison::Less(value) => compare("<", value),
        Comparison::LessOrEqual(value) => compare("<=", value),
        Comparison::Greater(value) => compare(">", value),
        Comparison::GreaterOrEqual(value) => compare(">=", value),
        Comparison::Between(low, high) => {
            format!("{name} BETWEEN {} AND {}", words.value(low), words.value(high))
        }
        Comparison::BeginsWith(value) => format!("begins_with({name}, {})", words.value(value)),
        Comparison::Contains(value) => format!("contains({name}, {})", words.value(value)),
        Comparison::In(values) => {
            let values = values.iter().map(|value| words.value(value)).collect::<Vec<_>>().join(", ");
            format!("{name} IN ({values})")
        }
        Comparison::Exists(true) => format!("attribute_exists({name})"),
        Comparison::Exists(false) => format!("attribute_not_exists({name})"),
    }
}
