//! Parses the `where` of a request into conditions.
//!
//! `{"a": 1, "b": {">": 2}}` requires both; `{"or": [{…}, {…}]}`, `{"and": […]}` and `{"not": {…}}` combine. An
//! attribute named like one of these words needs the list form: `[{"attribute": "or", "operator": "=", "value": 1}]`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::error::RequestError;
use super::values::{
    check_name, exact_value, find_attribute, find_entity, typed_value, unknown_attribute, untyped_value,
};
use crate::condition::{Comparison, Condition, Path};
use crate::json::Json;
use crate::model::{Attribute, AttributeKind, EntityId, Table};
use crate::query::limits::{COMPARISONS_MAX, DEPTH_MAX, IN_VALUES_MAX};
use crate::text::closest;
use crate::value::{AttributeValue, compare};

const OPERATORS: [&str; 12] =
    ["=", "<>", "<", "<=", ">", ">=", "between", "beginsWith", "contains", "in", "exists", "notExists"];

/// Parses a `where` about items of these entities (of all if none is named); null and `{}` match everything.
pub(super) fn read(table: &Table, entities: &[EntityId], value: &Json) -> Result<Condition, RequestError> {
    let mut reader = Reader { table, entities: entities.to_vec(), comparisons: 0 };
    match value {
        Json::Null => Ok(Condition::always()),
        other => Ok(reader.group(other, 0)?.simplified()),
    }
}

struct Reader<'t> {
    table: &'t Table,
    /// Of the request, or of the branch that is read.
    entities: Vec<EntityId>,
    comparisons: usize,
}

impl Reader<'_> {
    fn group(&mut self, value: &Json, depth: usize) -> Result<Condition, RequestError> {
        if depth > DEPTH_MAX {
            return Err(RequestError::TooMany { what: "levels of conditions", most: DEPTH_MAX });
        }
        let around = self.entities.clone();
        if let Some(names) = self.branch_entities(value) {
            self.entities = self.entity_ids(names)?;
        }
        let read = match value {
            Json::Object(members) if members.contains_key("attribute") => self.spelled_out(members),
            Json::Object(members) => {
                let parts = members.iter().map(|(name, value)| self.member(name, value, depth));
                parts.collect::<Result<Vec<_>, _>>().map(Condition::all)
            }
            Json::List(parts) => self.list(parts, depth).map(Condition::all),
            _ => Err(RequestError::Shape {
                place: "where".to_owned(),
                wanted: "an object or a list of conditions",
            }),
        };
        self.entities = around;
        read
    }

    /// The entities of a group of conditions, if one of its members names them.
    fn branch_entities<'j>(&self, group: &'j Json) -> Option<&'j Json> {
        if self.table.attributes.contains_key("entity") {
            return None;
        }
        match group {
            Json::Object(members) => members.get("entity"),
            Json::List(parts) => parts.iter().find_map(|part| match part {
                Json::Object(members) if members.len() == 1 => members.get("entity"),
                _ => None,
            }),
            _ => None,
        }
    }

    fn list(&mut self, parts: &[Json], depth: usize) -> Result<Vec<Condition>, RequestError> {
        parts.iter().map(|part| self.group(part, depth + 1)).collect()
    }

    fn member(&mut self, name: &str, value: &Json, depth: usize) -> Result<Condition, RequestError> {
        match (name, value) {
            ("and", Json::List(parts)) if !parts.is_empty() => Ok(Condition::all(self.list(parts, depth)?)),
            ("or", Json::List(parts)) if !parts.is_empty() => Ok(Condition::Any(self.list(parts, depth)?)),
            ("and", Json::List(_)) => Err(RequestError::EmptyGroup { operator: "and" }),
            ("or", Json::List(_)) => Err(RequestError::EmptyGroup { operator: "or" }),
            ("and" | "or", _) => {
                Err(RequestError::Shape { place: name.to_owned(), wanted: "a list of conditions" })
            }
            ("not", inner) => Ok(Condition::Not(Box::new(self.group(inner, depth + 1)?))),
            // A table's own attribute with this name takes precedence.
            ("entity", names) if !self.table.attributes.contains_key("entity") => self.entities(names),
            (name, value) => self.attribute(name, value),
        }
    }

    /// `"entity": "flight"`: the entities of one branch of an `or`, as the conditions of their `when`.
    fn entities(&mut self, names: &Json) -> Result<Condition, RequestError> {
        let ids = self.entity_ids(names)?;
        Ok(Condition::Any(ids.iter().map(|id| self.table.entities[id.0].condition()).collect()))
    }

    fn entity_ids(&self, names: &Json) -> Result<Vec<EntityId>, RequestError> {
        let wanted =
            || RequestError::Shape { place: "entity".to_owned(), wanted: "a name or a list of names" };
        let names = match names {
            Json::List(names) if !names.is_empty() => names.as_slice(),
            name => std::slice::from_ref(name),
        };
        let id = |name: &Json| Ok(find_entity(self.table, name.as_text().ok_or_else(wanted)?)?.0);
        names.iter().map(id).collect()
    }

    /// `"attribute": value` or `"attribute": {"operator": value, …}`.
    fn attribute(&mut self, name: &str, value: &Json) -> Result<Condition, RequestError> {
        match value {
            Json::Object(operators) if !is_dynamodb_json(operators) => {
                if operators.is_empty() {
                    return Err(RequestError::Shape {
                        place: name.to_owned(),
                        wanted: "a value or an operator",
                    });
                }
                let parts = operators.iter().map(|(operator, value)| self.comparison(name, operator, value));
                Ok(Condition::all(parts.collect::<Result<Vec<_>, _>>()?))
            }
            _ => self.comparison(name, "=", value),
        }
    }

    fn spelled_out(&mut self, members: &BTreeMap<String, Json>) -> Result<Condition, RequestError> {
        let shape = |wanted| RequestError::Shape { place: "where".to_owned(), wanted };
        let known = |name: &String| matches!(name.as_str(), "attribute" | "operator" | "value");
        let name = members.get("attribute").and_then(Json::as_text);
        let operator = members.get("operator").map_or(Some("="), Json::as_text);
        match (name, operator, members.keys().all(known)) {
            (Some(name), Some(operator), true) => {
                self.comparison(name, operator, members.get("value").unwrap_or(&Json::Null))
            }
            _ => Err(shape("a condition with `attribute`, `operator` and `value`")),
        }
    }

    fn comparison(&mut self, name: &str, operator: &str, value: &Json) -> Result<Condition, RequestError> {
        self.comparisons += 1;
        if self.comparisons > COMPARISONS_MAX {
            return Err(RequestError::TooMany { what: "comparisons", most: COMPARISONS_MAX });
        }
        let target = ComparedTo::find(self.table, &self.entities, name)?;
        let is = |comparison| Ok(Condition::Is(target.path.clone(), comparison));
        match operator {
            "=" => is(Comparison::Equal(target.exact(value)?)),
            "<>" => Ok(Condition::Not(Box::new(is(Comparison::Equal(target.exact(value)?))?))),
            "<" => is(Comparison::Less(target.ordered(value, "<")?)),
            "<=" => is(Comparison::LessOrEqual(target.ordered(value, "<=")?)),
            ">" => is(Comparison::Greater(target.ordered(value, ">")?)),
            ">=" => is(Comparison::GreaterOrEqual(target.ordered(value, ">=")?)),
            "between" => is(target.between(value)?),
            "beginsWith" => is(Comparison::BeginsWith(target.prefix(value)?)),
            "contains" => is(Comparison::Contains(target.part(value)?)),
            "in" => is(Comparison::In(target.values(value)?)),
            "exists" => is(Comparison::Exists(target.flag(value)?)),
            "notExists" => is(Comparison::Exists(!target.flag(value)?)),
            _ => Err(RequestError::UnknownOperator {
                attribute: name.to_owned(),
                operator: operator.to_owned(),
                closest: closest(operator, OPERATORS),
            }),
        }
    }
}

fn is_dynamodb_json(members: &BTreeMap<String, Json>) -> bool {
    members.len() == 1
        && members.keys().all(|name| matches!(name.as_str(), "S" | "N" | "B" | "BOOL" | "NULL"))
}

/// The left side of a comparison: a declared attribute, or a value inside a map.
struct ComparedTo<'t> {
    table: &'t Table,
    attribute: &'t Attribute,
    path: Path,
}

impl<'t> ComparedTo<'t> {
    fn find(table: &'t Table, entities: &[EntityId], name: &str) -> Result<ComparedTo<'t>, RequestError> {
        if table.attributes.contains_key(name) {
            let attribute = find_attribute(table, entities, name)?;
            return Ok(ComparedTo { table, attribute, path: Path::attribute(name) });
        }
        check_name(name)?;
        let mut segments = name.split('.').map(str::to_owned);
        let path = Path { root: segments.next().unwrap_or_default(), inner: segments.collect() };
        let root = find_attribute(table, entities, &path.root)
            .map_err(|error| if path.inner.is_empty() { unknown_attribute(table, name) } else { error })?;
        match root.kind {
            AttributeKind::Map if path.inner.iter().all(|name| !name.is_empty()) => {
                Ok(ComparedTo { table, attribute: root, path })
            }
            _ => Err(unknown_attribute(table, name)),
        }
    }

    fn inside(&self) -> bool {
        self.path.as_attribute().is_none()
    }

    fn value(&self, value: &Json) -> Result<AttributeValue, RequestError> {
        if self.inside() {
            untyped_value(self.attribute, value)
        } else {
            typed_value(self.table, self.attribute, value)
        }
    }

    /// A value that an item must have as a whole.
    fn exact(&self, value: &Json) -> Result<AttributeValue, RequestError> {
        let value = self.value(value)?;
        if self.inside() { Ok(value) } else { exact_value(self.table, self.attribute, value) }
    }

    fn refuse(&self, operator: &'static str) -> RequestError {
        RequestError::OperatorType {
            table: self.table.id.clone(),
            attribute: self.path.to_string(),
            kind: self.attribute.kind.name(),
            operator,
        }
    }

    /// A value for `<` and its like: text, number or binary.
    fn ordered(&self, value: &Json, operator: &'static str) -> Result<AttributeValue, RequestError> {
        match self.value(value)? {
            value @ (AttributeValue::S(_) | AttributeValue::N(_) | AttributeValue::B(_)) => Ok(value),
            _ => Err(self.refuse(operator)),
        }
    }

    fn between(&self, value: &Json) -> Result<Comparison, RequestError> {
        let Some([low, high]) = value.as_list() else {
            return Err(RequestError::Shape { place: self.path.to_string(), wanted: "a list of two bounds" });
        };
        let (low, high) = (self.ordered(low, "between")?, self.ordered(high, "between")?);
        match compare(&low, &high) {
            Some(Ordering::Greater) => {
                Err(RequestError::InvertedBetween { attribute: self.path.to_string() })
            }
            Some(_) => Ok(Comparison::Between(low, high)),
            None => Err(self.refuse("between")),
        }
    }

    fn prefix(&self, value: &Json) -> Result<AttributeValue, RequestError> {
        match self.value(value)? {
            value @ (AttributeValue::S(_) | AttributeValue::B(_)) => Ok(value),
            _ => Err(self.refuse("beginsWith")),
        }
    }

    fn part(&self, value: &Json) -> Result<AttributeValue, RequestError> {
        let part = match self.attribute.kind {
            AttributeKind::List | AttributeKind::Map => untyped_value(self.attribute, value)?,
            AttributeKind::StringSet | AttributeKind::NumberSet | AttributeKind::BinarySet => {
                untyped_value(self.attribute, value)?
            }
            _ => self.value(value)?,
        };
        let fits = match self.attribute.kind {
            AttributeKind::Number | AttributeKind::Boolean => false,
            AttributeKind::Map => self.inside(),
            AttributeKind::StringSet => matches!(part, AttributeValue::S(_)),
            AttributeKind::NumberSet => matches!(part, AttributeValue::N(_)),
            AttributeKind::BinarySet => matches!(part, AttributeValue::B(_)),
            _ => true,
        };
        if fits { Ok(part) } else { Err(self.refuse("contains")) }
    }

    fn values(&self, value: &Json) -> Result<Vec<AttributeValue>, RequestError> {
        let Some(values) = value.as_list() else {
            return Err(RequestError::Shape { place: self.path.to_string(), wanted: "a list of values" });
        };
        match values.len() {
            0 => Err(RequestError::EmptyIn { attribute: self.path.to_string() }),
            1..=IN_VALUES_MAX => values.iter().map(|value| self.exact(value)).collect(),
            _ => Err(RequestError::TooMany { what: "values in `in`", most: IN_VALUES_MAX }),
        }
    }

    /// `{"exists": true}`; in the spelled-out form the value may be left out.
    fn flag(&self, value: &Json) -> Result<bool, RequestError> {
        match value {
            Json::Bool(flag) => Ok(*flag),
            Json::Null => Ok(true),
            _ => Err(RequestError::Shape { place: self.path.to_string(), wanted: "true or false" }),
        }
    }
}
