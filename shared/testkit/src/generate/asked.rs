//! The conditions of a request in the generator's own form. They are evaluated here independently, so that an error in
//! core's parsing of a request is found.

use keyfold_core::model::{Entity, When, WhenTest};
use keyfold_core::value::{AttributeValue, Item, Number};
use serde_json::{Value, json};

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// One of these entities: a branch can have its own.
    Of(Vec<Entity>),
    /// One attribute (or a place inside of a map, with a point), one operator.
    Is(String, Operator),
    /// `and`
    All(Vec<Asked>),
    /// `or`
    Any(Vec<Asked>),
    /// `not`
    Not(Box<Asked>),
}

/// An operator and its operands.
#[derive(Debug, Clone, PartialEq)]
pub enum Operator {
    /// `=`
    Equal(AttributeValue),
    /// `<>`
    Unequal(AttributeValue),
    /// `<`
    Less(AttributeValue),
    /// `<=`
    LessOrEqual(AttributeValue),
    /// `>`
    Greater(AttributeValue),
    /// `>=`
    GreaterOrEqual(AttributeValue),
    /// `between`
    Between(AttributeValue, AttributeValue),
    /// `beginsWith`
    BeginsWith(AttributeValue),
    /// `contains`
    Contains(AttributeValue),
    /// `in`
    In(Vec<AttributeValue>),
    /// `exists`
    Exists(bool),
}

impl Asked {
    /// The condition that is always true.
    pub fn nothing() -> Asked {
        Asked::All(Vec::new())
    }

    /// As a request's `where`. `spelled`: in the long form, which takes any attribute name.
    pub fn json(&self, spelled: bool) -> Value {
        match self {
            Asked::Of(entities) => {
                json!({ "entity": entities.iter().map(|entity| &entity.name).collect::<Vec<_>>() })
            }
            Asked::Is(name, operator) => {
                let (word, value) = operator.json();
                match (spelled, word) {
                    (true, _) => json!({ "attribute": name, "operator": word, "value": value }),
                    (false, "=") => json!({ name.as_str(): value }),
                    (false, _) => json!({ name.as_str(): { word: value } }),
                }
            }
            Asked::All(parts) if parts.is_empty() => json!({}),
            Asked::All(parts) => {
                json!({ "and": parts.iter().map(|part| part.json(spelled)).collect::<Vec<_>>() })
            }
            Asked::Any(parts) => {
                json!({ "or": parts.iter().map(|part| part.json(spelled)).collect::<Vec<_>>() })
            }
            Asked::Not(inner) => json!({ "not": inner.json(spelled) }),
        }
    }

    /// Does the item fulfil it?
    pub fn holds(&self, item: &Item) -> bool {
        match self {
            Asked::Of(entities) => entities.iter().any(|entity| is_of(entity, item)),
            Asked::Is(name, operator) => operator.holds(find(item, name)),
            Asked::All(parts) => parts.iter().all(|part| part.holds(item)),
            Asked::Any(parts) => parts.iter().any(|part| part.holds(item)),
            Asked::Not(inner) => !inner.holds(item),
        }
    }
}

/// Is this an item of the entity?
pub(crate) fn is_of(entity: &Entity, item: &Item) -> bool {
    let holds = |When { attribute, test }: &When| match (test, item.get(attribute)) {
        (WhenTest::Exists(wanted), value) => value.is_some() == *wanted,
        (WhenTest::In(values), Some(value)) => values.contains(value),
        (WhenTest::BeginsWith(prefix), Some(AttributeValue::S(text))) => text.starts_with(prefix),
        (WhenTest::In(_), None) | (WhenTest::BeginsWith(_), _) => false,
    };
    entity.when.iter().all(holds)
}

impl Operator {
    fn json(&self) -> (&'static str, Value) {
        match self {
            Operator::Equal(value) => ("=", json_value(value)),
            Operator::Unequal(value) => ("<>", json_value(value)),
            Operator::Less(value) => ("<", json_value(value)),
            Operator::LessOrEqual(value) => ("<=", json_value(value)),
            Operator::Greater(value) => (">", json_value(value)),
            Operator::GreaterOrEqual(value) => (">=", json_value(value)),
            Operator::Between(low, high) => ("between", json!([json_value(low), json_value(high)])),
            Operator::BeginsWith(value) => ("beginsWith", json_value(value)),
            Operator::Contains(value) => ("contains", json_value(value)),
            Operator::In(values) => ("in", values.iter().map(json_value).collect()),
            Operator::Exists(wanted) => ("exists", json!(wanted)),
        }
    }

    fn holds(&self, value: Option<&AttributeValue>) -> bool {
        let Some(value) = value else {
            return matches!(self, Operator::Exists(false) | Operator::Unequal(_));
        };
        match self {
            Operator::Equal(wanted) => same(value, wanted),
            Operator::Unequal(other) => !same(value, other),
            Operator::Less(bound) => order(value, bound).is_some_and(std::cmp::Ordering::is_lt),
            Operator::LessOrEqual(bound) => order(value, bound).is_some_and(std::cmp::Ordering::is_le),
            Operator::Greater(bound) => order(value, bound).is_some_and(std::cmp::Ordering::is_gt),
            Operator::GreaterOrEqual(bound) => order(value, bound).is_some_and(std::cmp::Ordering::is_ge),
            Operator::Between(low, high) => {
                order(value, low).is_some_and(std::cmp::Ordering::is_ge)
                    && order(value, high).is_some_and(std::cmp::Ordering::is_le)
            }
            Operator::BeginsWith(prefix) => match (value, prefix) {
                (AttributeValue::S(value), AttributeValue::S(prefix)) => value.starts_with(prefix.as_str()),
                (AttributeValue::B(value), AttributeValue::B(prefix)) => value.starts_with(prefix),
                _ => false,
            },
            Operator::Contains(part) => contains(value, part),
            Operator::In(values) => values.iter().any(|wanted| same(value, wanted)),
            Operator::Exists(wanted) => *wanted,
        }
    }
}

fn find<'i>(item: &'i Item, name: &str) -> Option<&'i AttributeValue> {
    if let Some(value) = item.get(name) {
        return Some(value);
    }
    let (root, inner) = name.split_once('.')?;
    match item.get(root)? {
        AttributeValue::M(members) => members.get(inner),
        _ => None,
    }
}

fn same(a: &AttributeValue, b: &AttributeValue) -> bool {
    match (a, b) {
        (AttributeValue::N(_), AttributeValue::N(_)) => order(a, b).is_some_and(std::cmp::Ordering::is_eq),
        _ => a == b,
    }
}

/// The order of two values of one type; `None` of others.
pub(crate) fn order(a: &AttributeValue, b: &AttributeValue) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (AttributeValue::S(a), AttributeValue::S(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (AttributeValue::B(a), AttributeValue::B(b)) => Some(a.cmp(b)),
        (AttributeValue::N(a), AttributeValue::N(b)) => Some(a.parse::<Number>().ok()?.cmp(&b.parse().ok()?)),
        _ => None,
    }
}

fn contains(value: &AttributeValue, part: &AttributeValue) -> bool {
    match (value, part) {
        (AttributeValue::S(value), AttributeValue::S(part)) => value.contains(part.as_str()),
        (AttributeValue::Ss(members), AttributeValue::S(member)) => members.contains(member),
        (AttributeValue::Ns(members), AttributeValue::N(_)) => {
            members.iter().any(|member| same(&AttributeValue::N(member.clone()), part))
        }
        (AttributeValue::Bs(members), AttributeValue::B(member)) => members.contains(member),
        (AttributeValue::L(members), _) => members.iter().any(|member| same(member, part)),
        (AttributeValue::B(value), AttributeValue::B(part)) => {
            part.is_empty() || value.windows(part.len()).any(|window| window == part)
        }
        _ => false,
    }
}

/// Plain JSON where it is exact, otherwise DynamoDB's notation (binaries, large numbers).
fn json_value(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!(text),
        AttributeValue::Bool(value) => json!(value),
        AttributeValue::N(text) => match text.parse::<i32>() {
            Ok(number) => json!(number),
            Err(_) => json!({ "N": text }),
        },
        other => serde_json::to_value(other).unwrap_or(Value::Null),
    }
}
