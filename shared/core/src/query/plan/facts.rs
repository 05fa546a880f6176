//! What a conjunction of conditions says of each attribute, as far as a key can use it.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

use crate::condition::{Comparison, Condition};
use crate::key::Test;
use crate::query::limits::ALTERNATIVES_MAX;
use crate::value::{AttributeValue, compare, equal};

/// What is asked of one attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Asked<'a> {
    /// It is one of these: one value for `=`, several for `in`.
    Values(Vec<&'a AttributeValue>),
    /// Something else that a key can say.
    Test(Test),
}

/// What is asked of one attribute, and the clauses that say so.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fact<'a> {
    pub(super) attribute: &'a str,
    pub(super) asked: Asked<'a>,
    /// Numbers of the clauses that are answered when the key serves this fact exactly.
    pub(super) clauses: Vec<usize>,
}

/// A conjunction, read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Facts<'a> {
    /// The clauses: all of them hold for a matching item.
    pub(super) clauses: Rc<[&'a Condition]>,
    /// The entity's own conditions begin at this clause.
    pub(super) when_from: usize,
    /// At most one fact for an attribute, by the attributes' names.
    pub(super) by_attribute: Vec<Fact<'a>>,
    /// The facts as tests, several values as the range that they lie in.
    pub(super) tests: BTreeMap<&'a str, Test>,
    /// Attributes that every matching item has.
    pub(super) present: Vec<&'a str>,
    /// Can no item match?
    pub(super) impossible: bool,
}

/// A comparison with an attribute: the attribute, the number of the clause, the comparison.
type Compared<'a> = (&'a str, usize, &'a Comparison);

impl<'a> Facts<'a> {
    /// Reads a conjunction, and the entity's own conditions after it.
    pub(super) fn read(
        conjunct: impl ExactSizeIterator<Item = &'a Condition>,
        when: &'a [Condition],
    ) -> Facts<'a> {
        let when_from = conjunct.len();
        let clauses: Rc<[&Condition]> = conjunct.chain(when).collect();
        let mut compared: Vec<Compared<'a>> = Vec::with_capacity(clauses.len());
        let mut present = Vec::with_capacity(clauses.len());
        for (number, clause) in clauses.iter().enumerate() {
            let Condition::Is(path, comparison) = clause else { continue };
            if comparison.implies_presence() {
                present.push(path.root());
            }
            compared.extend(path.as_attribute().map(|attribute| (attribute, number, comparison)));
        }
        compared.sort_by_key(|(attribute, number, _)| (*attribute, *number));
        let mut facts = Facts {
            impossible: clauses.iter().any(|clause| clause.is_never()),
            clauses,
            when_from,
            by_attribute: Vec::with_capacity(compared.len()),
            tests: BTreeMap::new(),
            present,
        };
        for of_one in compared.chunk_by(|a, b| a.0 == b.0) {
            match fact(of_one) {
                Ok(found) => found.into_iter().for_each(|found| facts.add(found)),
                Err(Impossible) => facts.impossible = true,
            }
        }
        facts
    }

    fn add(&mut self, fact: Fact<'a>) {
        let test = match &fact.asked {
            Asked::Values(values) if values.len() > 1 => hull(values),
            Asked::Values(values) => Some(Test::Equal(values[0].clone())),
            Asked::Test(test) => Some(test.clone()),
        };
        self.tests.extend(test.map(|test| (fact.attribute, test)));
        self.by_attribute.push(fact);
    }

    /// What is asked of this attribute.
    pub(super) fn of(&self, attribute: &str) -> Option<&Fact<'a>> {
        self.by_attribute.iter().find(|fact| fact.attribute == attribute)
    }

    /// What the request asks, without the entity's own conditions.
    pub(super) fn asked(&self) -> &[&'a Condition] {
        &self.clauses[..self.when_from]
    }
}

struct Impossible;

/// The most useful thing that is said: a value, then values, then a prefix, then a range, then absence.
fn fact<'a>(compared: &[Compared<'a>]) -> Result<Option<Fact<'a>>, Impossible> {
    let one = |asked, (attribute, number, _): &Compared<'a>| {
        Ok(Some(Fact { attribute, asked, clauses: vec![*number] }))
    };
    for said in compared {
        if let Comparison::Equal(value) = said.2 {
            return one(Asked::Values(vec![value]), said);
        }
    }
    for said in compared {
        if let Comparison::In(values) = said.2 {
            return one(Asked::Values(distinct(values)), said);
        }
    }
    for said in compared {
        if let Comparison::BeginsWith(prefix) = said.2 {
            return one(Asked::Test(Test::BeginsWith(prefix.clone())), said);
        }
    }
    if let Some(range) = range(compared)? {
        return Ok(Some(range));
    }
    match compared.iter().find(|said| matches!(said.2, Comparison::Exists(false))) {
        Some(said) => one(Asked::Test(Test::Absent), said),
        None => Ok(None),
    }
}

fn distinct(values: &[AttributeValue]) -> Vec<&AttributeValue> {
    let mut kept: Vec<&AttributeValue> = Vec::with_capacity(values.len());
    for value in values {
        if !kept.iter().any(|known| equal(known, value)) {
            kept.push(value);
        }
    }
    kept
}

/// The range that values of one type lie in.
fn hull(values: &[&AttributeValue]) -> Option<Test> {
    let (mut low, mut high) = (*values.first()?, *values.first()?);
    for value in values {
        if compare(value, low)?.is_lt() {
            low = value;
        }
        if compare(value, high)?.is_gt() {
            high = value;
        }
    }
    Some(Test::Range { low: Bound::Included(low.clone()), high: Bound::Included(high.clone()) })
}

/// All bounds together: the highest lower one and the lowest upper one.
fn range<'a>(compared: &[Compared<'a>]) -> Result<Option<Fact<'a>>, Impossible> {
    let (mut low, mut high, mut clauses) = (Bound::Unbounded, Bound::Unbounded, Vec::new());
    for (_, number, comparison) in compared {
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
    let Some(((attribute, ..), false)) = compared.first().map(|first| (first, clauses.is_empty())) else {
        return Ok(None);
    };
    if is_empty(low, high) {
        return Err(Impossible);
    }
    let test = Test::Range { low: low.cloned(), high: high.cloned() };
    Ok(Some(Fact { attribute, asked: Asked::Test(test), clauses }))
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

/// The clauses of a condition: what is joined by `and`, flat. Only what must be rewritten is copied.
pub(super) fn clauses(condition: &Condition) -> Vec<Cow<'_, Condition>> {
    let mut all = Vec::new();
    add_clauses(condition, &mut all);
    all
}

fn add_clauses<'a>(condition: &'a Condition, all: &mut Vec<Cow<'a, Condition>>) {
    match condition {
        Condition::All(parts) => parts.iter().for_each(|part| add_clauses(part, all)),
        Condition::Not(inner) => match inner.as_ref() {
            Condition::Not(again) => add_clauses(again, all),
            Condition::Is(path, Comparison::Exists(wanted)) => {
                all.push(Cow::Owned(Condition::Is(path.clone(), Comparison::Exists(!wanted))));
            }
            // Not any of these: none of them.
            Condition::Any(parts) => {
                for part in parts {
                    let none = Condition::Not(Box::new(part.clone()));
                    all.extend(owned(clauses(&none)).into_iter().map(Cow::Owned));
                }
            }
            _ => all.push(Cow::Borrowed(condition)),
        },
        Condition::Any(parts) if parts.len() == 1 => add_clauses(&parts[0], all),
        other => all.push(Cow::Borrowed(other)),
    }
}

fn owned(clauses: Vec<Cow<'_, Condition>>) -> Vec<Condition> {
    clauses.into_iter().map(Cow::into_owned).collect()
}

/// The alternatives that a condition consists of, each a conjunction, if they are more than one and not too many.
pub(super) fn alternatives(clauses: &[Cow<'_, Condition>]) -> Option<Vec<Vec<Condition>>> {
    if !clauses.iter().any(|clause| matches!(clause.as_ref(), Condition::Any(_))) {
        return None;
    }
    let mut all = vec![Vec::new()];
    for clause in clauses {
        let choices = match clause.as_ref() {
            Condition::Any(parts) => choices(parts),
            _ => vec![vec![clause.as_ref().clone()]],
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

fn choices(parts: &[Condition]) -> Vec<Vec<Condition>> {
    let mut choices = Vec::new();
    for part in parts {
        let clauses = clauses(part);
        match alternatives(&clauses) {
            Some(several) => choices.extend(several),
            None => choices.push(owned(clauses)),
        }
    }
    choices
}
