//! The position of the next page: for each access the last returned entry, or the last item of a sorted answer.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::AnswerError;
use crate::model::OrderBy;
use crate::query::QueryPlan;
use crate::query::plan::{Access, KeyEqual, Operation};
use crate::value::{AttributeValue, put_injective, type_letter};

/// Initial capacity for the bytes of a fingerprint.
const BYTES_GUESSED: usize = 256;

/// The position of the next page. It is valid only for the plan it comes from.
///
/// It contains key values of items, so it must be encrypted before it leaves the process, as the `TokenKeys` of
/// `keyfold-dynamo` do.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The [`fingerprint`] of its plan.
    plan: u64,
    place: Place,
}

/// `{:?}` hides the keys.
impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Position")
    }
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Place {
    /// The position of each access.
    Accesses(Vec<Progress>),
    /// After this item of a sorted answer.
    Sorted(SortedAfter),
}

/// The position of an access.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Progress {
    /// At the start.
    NotStarted,
    /// All up to the entry with this key.
    After(Vec<KeyValue>),
    /// Everything.
    Done,
}

/// An item of a sorted answer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SortedAfter {
    /// Its sort values, most significant first.
    pub(super) order: Vec<Option<KeyValue>>,
    /// Its primary key.
    pub(super) key: Vec<KeyValue>,
}

impl Position {
    pub(super) fn of_accesses(plan: &QueryPlan, progress: Vec<Progress>) -> Position {
        Position { plan: fingerprint(plan), place: Place::Accesses(progress) }
    }

    pub(super) fn of_sorted(plan: &QueryPlan, after: SortedAfter) -> Position {
        Position { plan: fingerprint(plan), place: Place::Sorted(after) }
    }
}

/// The start of an execution.
pub(super) struct Start {
    /// For each access.
    pub(super) lanes: Vec<Progress>,
    /// Within a sorted answer.
    pub(super) sorted: Option<SortedAfter>,
}

/// The start of an execution of this plan.
pub(super) fn start(
    plan: &QueryPlan,
    from: Option<&Position>,
    is_sorted: bool,
) -> Result<Start, AnswerError> {
    let beginning = vec![Progress::NotStarted; plan.accesses.len()];
    let Some(from) = from else { return Ok(Start { lanes: beginning, sorted: None }) };
    if from.plan != fingerprint(plan) {
        return Err(AnswerError::BadPosition);
    }
    match &from.place {
        Place::Accesses(lanes) if !is_sorted && lanes.len() == plan.accesses.len() => {
            Ok(Start { lanes: lanes.clone(), sorted: None })
        }
        Place::Sorted(after) if is_sorted && after.order.len() == plan.order.len() => {
            Ok(Start { lanes: beginning, sorted: Some(after.clone()) })
        }
        _ => Err(AnswerError::BadPosition),
    }
}

/// Distinguishes plans that read differently, for example after an update of the planner.
fn fingerprint(plan: &QueryPlan) -> u64 {
    let mut bytes = Vec::with_capacity(BYTES_GUESSED);
    put_injective(&mut bytes, b't', plan.table.as_bytes());
    plan.accesses.iter().for_each(|access| put_access(&mut bytes, access));
    for OrderBy { attribute, descending } in &plan.order {
        put_injective(&mut bytes, if *descending { b'd' } else { b'a' }, attribute.as_bytes());
    }
    put_shown(&mut bytes, b'w', &(plan.delivery, plan.count));
    first_of_digest(&bytes)
}

fn first_of_digest(bytes: &[u8]) -> u64 {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(first)
}

/// Every page has the fingerprint of its plan. The common parts are written directly, the others through `Debug`.
fn put_access(to: &mut Vec<u8>, access: &Access) {
    let Access { source, operation, filter, recheck, hydration, descending } = access;
    put_injective(to, b'i', source.index().unwrap_or_default().as_bytes());
    match operation {
        Operation::Scan => to.push(b'S'),
        Operation::Query { partition, sort } => {
            for KeyEqual { attribute, value } in partition {
                put_injective(to, b'p', attribute.as_bytes());
                match value {
                    AttributeValue::S(text) => put_injective(to, b'v', text.as_bytes()),
                    other => put_shown(to, b'o', other),
                }
            }
            if !sort.is_empty() {
                put_shown(to, b's', sort);
            }
        }
    }
    for (letter, condition) in [(b'f', filter), (b'r', recheck)] {
        if !condition.is_always() {
            put_shown(to, letter, condition);
        }
    }
    to.extend([*hydration as u8, u8::from(*descending)]);
}

fn put_shown(to: &mut Vec<u8>, letter: u8, shown: &impl fmt::Debug) {
    put_injective(to, letter, format!("{shown:?}").as_bytes());
}

/// A value that a key can hold. For other types, which occur only as sort values, the type is enough: their values have
/// no order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum KeyValue {
    S(String),
    N(String),
    B(Vec<u8>),
    /// A type that no key has, by its letter.
    Other(String),
}

impl From<&AttributeValue> for KeyValue {
    fn from(value: &AttributeValue) -> KeyValue {
        match value {
            AttributeValue::S(text) => KeyValue::S(text.clone()),
            AttributeValue::N(number) => KeyValue::N(number.clone()),
            AttributeValue::B(bytes) => KeyValue::B(bytes.clone()),
            other => KeyValue::Other(type_letter(other).to_owned()),
        }
    }
}

/// The value again; of a type that no key has, any value.
impl From<&KeyValue> for AttributeValue {
    fn from(value: &KeyValue) -> AttributeValue {
        match value {
            KeyValue::S(text) => AttributeValue::S(text.clone()),
            KeyValue::N(number) => AttributeValue::N(number.clone()),
            KeyValue::B(bytes) => AttributeValue::B(bytes.clone()),
            KeyValue::Other(letter) => match letter.as_str() {
                "BOOL" => AttributeValue::Bool(false),
                "M" => AttributeValue::M([].into()),
                "L" => AttributeValue::L(Vec::new()),
                "SS" => AttributeValue::Ss(Vec::new()),
                "NS" => AttributeValue::Ns(Vec::new()),
                "BS" => AttributeValue::Bs(Vec::new()),
                _ => AttributeValue::Null(true),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Model;
    use crate::query::check::{Caller, check};
    use crate::query::plan::plan;
    use crate::query::readiness::Readiness;

    const MANIFEST: &str = r#"
        [tables.t]
        name = "tableOfTheCase"
        partition = "a"
        sort = "b"
        attributes = { a = "string", b = "string", c = "string" }
        indexes.byB = { partition = "b", sort = "a" }
    "#;

    fn model() -> Model {
        crate::manifest::parse("keyfold.toml", MANIFEST).model.unwrap()
    }

    #[test]
    fn plans_that_read_in_another_way_have_other_fingerprints() {
        let model = model();
        let fingerprint_of = |request: serde_json::Value| {
            let request = serde_json::from_value(request).unwrap();
            let checked = check(&model, &request, &Caller::Trusted).unwrap();
            fingerprint(&plan(&checked, &Readiness::complete()).unwrap())
        };
        let asked = [
            json!({ "table": "t", "where": { "a": "x" } }),
            json!({ "table": "t", "where": { "a": "y" } }),
            json!({ "table": "t", "where": { "b": "x" } }),
            json!({ "table": "t", "where": { "a": "x", "b": "y" } }),
            json!({ "table": "t", "where": { "a": "x", "b": { "<": "y" } } }),
            json!({ "table": "t", "where": { "a": "x", "c": "y" } }),
            json!({ "table": "t", "where": { "a": "x" }, "order": "b" }),
            json!({ "table": "t", "where": { "a": "x" }, "order": "-b" }),
            json!({ "table": "t", "where": { "a": "x" }, "count": true }),
            json!({ "table": "t", "where": { "c": "x" }, "scan": true }),
        ];
        let mut all: Vec<u64> = asked.iter().cloned().map(fingerprint_of).collect();
        assert_eq!(all[0], fingerprint_of(asked[0].clone()));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), asked.len());
    }

    #[test]
    fn a_position_of_another_plan_is_refused() {
        let plan_of = |value: &str| {
            let request = serde_json::from_value(json!({ "table": "t", "where": { "a": value } })).unwrap();
            plan(&check(&model(), &request, &Caller::Trusted).unwrap(), &Readiness::complete()).unwrap()
        };
        let [one, other] = ["x", "y"].map(plan_of);
        let at = |plan| Position { plan, place: Place::Accesses(vec![Progress::NotStarted]) };
        let of_one = at(fingerprint(&one));
        assert!(start(&one, Some(&of_one), false).is_ok());
        assert!(start(&other, Some(&of_one), false).is_err());
    }
}
