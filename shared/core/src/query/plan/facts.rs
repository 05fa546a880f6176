//! What a conjunction of conditions says of each attribute, as far as a key can use it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::key::Test;
use crate::query::condition::{Comparison, Condition};
use crate::query::limits::ALTERNATIVES_MAX;
use crate::value::{AttributeValue, compare, equal};

/// What is asked of one attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Asked {
    /// It is one of these: one value for `=`, several for `in`.
    Values(Vec<AttributeValue>),
    /// Something else that a key can say.
    Test(Test),
}

/// What is asked of one attribute, and the clauses that say so.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fact {
    pub(super) asked: Asked,
    /// Numbers of the clauses that are answered when the key serves this fact exactly.
    pub(super) clauses: Vec<usize>,
}

/// A conjunction, read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Facts {
    /// The clauses: all of them hold for a matching item.
    pub(super) clauses: Vec<Condition>,
    /// At most one fact for an attribute.
    pub(super) by_attribute: BTreeMap<String, Fact>,
    /// Attributes that every matching item has.
    pub(super) present: BTreeSet<String>,
    /// Can no item match?
    pub(super) impossible: bool,
}

impl Facts {
    /// Reads a conjunction.
    pub(super) fn read(clauses: Vec<Condition>) -> Facts {
        let mut grouped: BTreeMap<String, Vec<(usize, &Comparison)>> = BTreeMap::new();
        let mut present = BTreeSet::new();
        for (number, clause) in clauses.iter().enumerate() {
            let Condition::Is(path, comparison) = clause else { continue };
            if comparison.implies_presence() {
                present.insert(path.root().to_owned());
            }
            if let Some(attribute) = path.as_attribute() {
                grouped.entry(attribute.to_owned()).or_default().push((number, comparison));
            }
        }
        let mut impossible = clauses.iter().any(Condition::is_never);
        let mut by_attribute = BTreeMap::new();
        for (attribute, comparisons) in grouped {
            match fact(&comparisons) {
                Ok(Some(found)) => {
                    by_attribute.insert(attribute, found);
                }
                Ok(None) => {}
                Err(Impossible) => impossible = true,
            }
        }
        Facts { clauses, by_attribute, present, impossible }
    }
}

struct Impossible;

/// The most useful thing that is said: a value, then values, then a prefix, then a range, then absence.
fn fact(comparisons: &[(usize, &Comparison)]) -> Result<Option<Fact>, Impossible> {
    let one = |asked, number: usize| Ok(Some(Fact { asked, clauses: vec![number] }));
    for (number, comparison) in comparisons {
        if let Comparison::Equal(value) = comparison {
            return one(Asked::Values(vec![value.clone()]), *number);
        }
    }
    for (number, comparison) in comparisons {
        if let Comparison::In(values) = comparison {
            return one(Asked::Values(distinct(values)), *number);
        }
    }
    for (number, comparison) in comparisons {
        if let Comparison::BeginsWith(prefix) = comparison {
            return one(Asked::Test(Test::BeginsWith(prefix.clone())), *number);
        }
    }
    if let Some(range) = range(comparisons)? {
        return Ok(Some(range));
    }
    match comparisons.iter().find(|(_, comparison)| matches!(comparison, Comparison::Exists(false))) {
        Some((number, _)) => one(Asked::Test(Test::Absent), *number),
        None => Ok(None),
    }
}

fn distinct(values: &[AttributeValue]) -> Vec<AttributeValue> {
    let mut kept: Vec<AttributeValue> = Vec::with_capacity(values.len());
    for value in values {
        if !kept.iter().any(|known| equal(known, value)) {
            kept.push(value.clone());
        }
    }
    kept
}

/// All bounds together: the highest lower one and the lowest upper one.
fn range(comparisons: &[(usize, &Comparison)]) -> Result<Option<Fact>, Impossible> {
    let (mut low, mut high, mut clauses) = (Bound::Unbounded, Bound::Unbounded, Vec::new());
    for (number, comparison) in comparisons {
        let (from, to) = match comparison {
            Comparison::Less(bound) => (Bound::Unbounded, Bound::Excluded(bound)),
            Comparison::LessOrEqual(bound) => (Bound::Unbounded, Bound::Included(bound)),
            Comparison::Greater(bound) => (Bound::Excluded(bound), Bound::Unbounded),
            Comparison::GreaterOrEqual(bound) => (Bound::Included(bound), Bound::Unbounded),
            Comparison::Between(from, to) => (Bound::Included(from), Bound::Included(to)),
            _ => continue,
        };
        clauses.push(*number);
        low = tighter(low, from, Ordering::Greater);
        high = tighter(high, to, Ordering::Less);
    }
    if clauses.is_empty() {
        return Ok(None);
    }
    if is_empty(low, high) {
        return Err(Impossible);
    }
    let test = Test::Range { low: low.cloned(), high: high.cloned() };
    Ok(Some(Fact { asked: Asked::Test(test), clauses }))
}

/// The bound that leaves less; of equal ones the exclusive.
fn tighter<'a>(
    a: Bound<&'a AttributeValue>,
    b: Bound<&'a AttributeValue>,
    wins: Ordering,
) -> Bound<&'a AttributeValue> {
    let (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) = (a, b) else {
        return if matches!(a, Bound::Unbounded) { b } else { a };
    };
    match compare(y, x) {
        Some(order) if order == wins => b,
        Some(Ordering::Equal) if matches!(b, Bound::Excluded(_)) => b,
        _ => a,
    }
}

fn is_empty(low: Bound<&AttributeValue>, high: Bound<&AttributeValue>) -> bool {
    match (low, high) {
        (Bound::Included(low), Bound::Included(high)) => compare(low, high) == Some(Ordering::Greater),
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            matches!(compare(low, high), Some(Ordering::Greater | Ordering::Equal))
        }
        _ => false,
    }
}

/// The clauses of a condition: what is joined by `and`, flat.
pub(super) fn clauses(condition: &Condition) -> Vec<Condition> {
    match condition {
        Condition::All(parts) => parts.iter().flat_map(clauses).collect(),
        Condition::Not(inner) => match inner.as_ref() {
            Condition::Not(again) => clauses(again),
            Condition::Is(path, Comparison::Exists(wanted)) => {
                vec![Condition::Is(path.clone(), Comparison::Exists(!wanted))]
            }
            // Not any of these: none of them.
            Condition::Any(parts) => {
                parts.iter().flat_map(|part| clauses(&Condition::Not(Box::new(part.clone())))).collect()
            }
            _ => vec![condition.clone()],
        },
        Condition::Any(parts) if parts.len() == 1 => clauses(&parts[0]),
        other => vec![other.clone()],
    }
}

/// The alternatives that a condition consists of, each a conjunction, if they are more than one and not too many.
pub(super) fn alternatives(condition: &Condition) -> Option<Vec<Vec<Condition>>> {
    let mut all = vec![Vec::new()];
    for clause in clauses(condition) {
        let choices = match &clause {
            Condition::Any(parts) => {
                let mut choices = Vec::new();
                for part in parts {
                    match alternatives(part) {
                        Some(several) => choices.extend(several),
                        None => choices.push(clauses(part)),
                    }
                }
                choices
            }
            _ => vec![vec![clause]],
        };
        if all.len() * choices.len() > ALTERNATIVES_MAX {
            return None;
        }
        all = all
            .iter()
            .flat_map(|known: &Vec<Condition>| {
                choices.iter().map(|choice| [known.as_slice(), choice].concat())
            })
            .collect();
    }
    (all.len() > 1).then_some(all)
}
