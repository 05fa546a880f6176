//! A condition of a meaning, evaluated for an item by the rules of DynamoDB's filters, implemented independently in
//! this crate.
//!
//! It does not use `keyfold_core::query::Condition`, which is under test.

use std::cmp::Ordering;

use keyfold_core::value::{AttributeValue, Item};

use super::value::{canonical, contains, find, order};
use crate::json::{CaseJson, Json};

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// Of one attribute, or of a place inside of one that is a map.
    Is {
        /// The attribute: `PromotionInfo.Rotation`.
        attribute: String,
        /// The operator.
        op: Op,
        /// Its operands.
        values: Vec<Json>,
    },
    /// At least one of these.
    Any(Vec<Asked>),
    /// All of these.
    All(Vec<Asked>),
    /// Not this.
    Not(Box<Asked>),
}

/// An operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum Op {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Between,
    BeginsWith,
    Contains,
    In,
    Exists,
    NotExists,
}

impl Op {
    /// By the name that a case file uses; a few more are understood.
    pub fn of(name: &str) -> Option<Op> {
        let letters = name.to_ascii_lowercase();
        let plain: String = letters.chars().filter(|letter| !matches!(letter, '_' | ' ')).collect();
        Some(match plain.as_str() {
            "=" | "==" | "eq" => Op::Equal,
            "<>" | "!=" | "ne" => Op::NotEqual,
            "<" | "lt" => Op::Less,
            "<=" | "le" | "lte" => Op::LessOrEqual,
            ">" | "gt" => Op::Greater,
            ">=" | "ge" | "gte" => Op::GreaterOrEqual,
            "between" => Op::Between,
            "beginswith" => Op::BeginsWith,
            "contains" => Op::Contains,
            "in" => Op::In,
            "exists" | "attributeexists" => Op::Exists,
            "notexists" | "attributenotexists" => Op::NotExists,
            _ => return None,
        })
    }
}

impl Asked {
    /// Reads one condition.
    pub fn of(json: &Json) -> Result<Asked, String> {
        let parts = |name: &str| json.list(name).iter().map(Asked::of).collect::<Result<Vec<_>, _>>();
        if json.get("any").is_some() {
            return Ok(Asked::Any(parts("any")?));
        }
        if json.get("all").is_some() {
            return Ok(Asked::All(parts("all")?));
        }
        if let Some(inner) = json.get("not") {
            return Ok(Asked::Not(Box::new(Asked::of(inner)?)));
        }
        let attribute = json.text("attr").or_else(|| json.text("attribute"));
        let attribute = attribute.ok_or("a condition names no `attr`")?.to_owned();
        let name = json.text("op").or_else(|| json.text("operator")).unwrap_or("=");
        let op = Op::of(name).ok_or_else(|| format!("unknown operator `{name}`"))?;
        let values = match json.get("values").or_else(|| json.get("value")) {
            Some(Json::List(values)) => values.clone(),
            Some(one) => vec![one.clone()],
            None => Vec::new(),
        };
        Ok(Asked::Is { attribute, op, values })
    }

    /// Does an item fulfil it?
    pub fn holds(&self, item: &Item) -> bool {
        match self {
            Asked::Is { attribute, op, values } => {
                let values: Vec<_> = values.iter().map(Json::plain).collect();
                holds(*op, find(item, attribute), &values)
            }
            Asked::Any(parts) => parts.iter().any(|part| part.holds(item)),
            Asked::All(parts) => parts.iter().all(|part| part.holds(item)),
            Asked::Not(inner) => !inner.holds(item),
        }
    }
}

fn holds(op: Op, have: Option<&AttributeValue>, values: &[AttributeValue]) -> bool {
    let (first, second) = (values.first(), values.get(1));
    let Some(have) = have else { return matches!(op, Op::NotExists | Op::NotEqual) };
    let order = |bound: Option<&AttributeValue>| bound.and_then(|bound| order(have, bound));
    let equal = |wanted: &AttributeValue| canonical(have) == canonical(wanted);
    match op {
        Op::Exists => true,
        Op::NotExists => false,
        Op::Equal => first.is_some_and(equal),
        Op::NotEqual => !first.is_some_and(equal),
        Op::In => values.iter().any(equal),
        Op::Less => order(first).is_some_and(Ordering::is_lt),
        Op::LessOrEqual => order(first).is_some_and(Ordering::is_le),
        Op::Greater => order(first).is_some_and(Ordering::is_gt),
        Op::GreaterOrEqual => order(first).is_some_and(Ordering::is_ge),
        Op::Between => {
            order(first).is_some_and(Ordering::is_ge) && order(second).is_some_and(Ordering::is_le)
        }
        Op::BeginsWith => match (have, first) {
            (AttributeValue::S(text), Some(AttributeValue::S(prefix))) => text.starts_with(prefix),
            _ => false,
        },
        Op::Contains => first.is_some_and(|part| contains(have, part)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Asked {
        Asked::of(&Json::parse(text).unwrap()).unwrap()
    }

    fn item(text: &str) -> Item {
        let AttributeValue::M(members) = Json::parse(text).unwrap().plain() else { panic!("{text}") };
        Item::from(members)
    }

    #[test]
    fn a_missing_attribute_passes_only_what_denies() {
        let none = item("{}");
        for (op, passes) in
            [("=", false), ("<>", true), ("exists", false), ("not_exists", true), ("<", false), ("in", false)]
        {
            let condition = asked(&format!(r#"{{"attr": "a", "op": "{op}", "values": [1]}}"#));
            assert_eq!(condition.holds(&none), passes, "{op}");
        }
    }

    #[test]
    fn numbers_compare_by_value_and_never_with_texts() {
        let nine = item(r#"{"a": 9, "b": "9"}"#);
        assert!(asked(r#"{"attr": "a", "op": "<", "values": [10]}"#).holds(&nine));
        assert!(!asked(r#"{"attr": "b", "op": "<", "values": [10]}"#).holds(&nine));
        assert!(asked(r#"{"attr": "a", "op": "=", "values": [9.0]}"#).holds(&nine));
        assert!(asked(r#"{"attr": "a", "op": "in", "values": [1, 9.00]}"#).holds(&nine));
        assert!(!asked(r#"{"attr": "a", "op": "between", "values": [10, 8]}"#).holds(&nine));
    }

    #[test]
    fn groups_and_places_inside_of_maps_are_understood() {
        let one = item(r#"{"a": {"b": {"c": 1}}, "d": {"$set": ["x"]}, "e.f": 2}"#);
        for text in [
            r#"{"any": [{"attr": "a.b.c", "values": [2]}, {"attr": "d", "op": "contains", "values": ["x"]}]}"#,
            r#"{"all": [{"attr": "a.b.c", "op": "between", "values": [1, 1]}, {"attr": "e.f", "op": "exists"}]}"#,
            r#"{"not": {"attr": "a.b.x", "op": "exists"}}"#,
        ] {
            assert!(asked(text).holds(&one), "{text}");
        }
        assert!(!asked(r#"{"any": []}"#).holds(&one));
        assert!(asked(r#"{"all": []}"#).holds(&one));
    }

    #[test]
    fn an_unknown_operator_is_named() {
        let json = Json::parse(r#"{"attr": "a", "op": "near", "values": [1]}"#).unwrap();
        assert_eq!(Asked::of(&json), Err("unknown operator `near`".to_owned()));
    }
}
