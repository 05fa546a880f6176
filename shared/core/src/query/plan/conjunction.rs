//! A conjunction of tests: the combined test of each attribute, in a form that keys can use.

use std::cmp::Ordering;
use std::ops::Bound;
use std::rc::Rc;

use super::certainty::Certain;
use super::path::SmallList;
use crate::condition::{Comparison, Condition};
use crate::key::{Test, Tests};
use crate::model::Table;
use crate::value::{AttributeValue, compare, equal};

/// The test of one attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Asked<'a> {
    /// It is one of these: one value for `=`, several for `in`.
    Values(SmallList<&'a AttributeValue>),
    /// Another test that a key can answer.
    Test(Test<&'a AttributeValue>),
}

/// The test of one attribute, and the clauses it comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AttributeTest<'a> {
    pub(super) attribute: &'a str,
    pub(super) asked: Asked<'a>,
    /// The values that the manifest lists of it, if it does.
    pub(super) listed: Option<&'a [AttributeValue]>,
    /// The clauses that are answered when the key serves this test exactly, by their numbers.
    pub(super) clauses: SmallList<usize>,
}

impl AttributeTest<'_> {
    fn has_no_value_left(&self) -> bool {
        match &self.asked {
            Asked::Values(_) | Asked::Test(Test::Absent) => false,
            Asked::Test(test) => {
                self.listed.is_some_and(|values| !values.iter().any(|value| test.passes(value)))
            }
        }
    }
}

/// The values that the manifest lists of an attribute, if it does.
pub(super) fn listed_values<'a>(table: &'a Table, attribute: &str) -> Option<&'a [AttributeValue]> {
    table.facts().listed_values(attribute)
}

/// The combined tests of all clauses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Conjunction<'a> {
    /// The clauses; a matching item fulfils all of them.
    pub(super) clauses: Rc<[&'a Condition]>,
    /// The entity's own conditions begin at this clause.
    pub(super) when_from: usize,
    /// At most one test for an attribute, in the order of their names.
    pub(super) by_attribute: Vec<AttributeTest<'a>>,
    /// The same tests for keys: several values as the range that contains them.
    pub(super) tests: Tests<'a>,
    /// Attributes that every matching item has.
    pub(super) present: SmallList<&'a str>,
    /// Can no item match?
    pub(super) impossible: bool,
    /// Is there an attribute with listed values of which none passes? Then no item matches, and nothing is read.
    pub(super) has_no_value_left: bool,
}

/// A comparison with an attribute: the attribute, the number of the clause, the comparison.
type Compared<'a> = (&'a str, usize, &'a Comparison);

impl<'a> Conjunction<'a> {
    /// Reads a conjunction, and the entity's own conditions after it.
    pub(super) fn read(
        table: &'a Table,
        conjunct: impl ExactSizeIterator<Item = &'a Condition>,
        when: &'a [Condition],
    ) -> Conjunction<'a> {
        let when_from = conjunct.len();
        let clauses: Rc<[&Condition]> = conjunct.chain(when).collect();
        let mut compared: SmallList<Compared<'a>> = SmallList::new();
        let mut present = SmallList::new();
        let mut is_plain = true;
        for (number, clause) in clauses.iter().enumerate() {
            let Condition::Is(path, comparison) = clause else {
                is_plain = false;
                continue;
            };
            // `a.b = 1` holds only where `a` is there, so a nested path proves its root: an index on `a` hides no matching item.
            if comparison.implies_presence() {
                present.push(path.root.as_str());
            }
            compared.extend(path.as_attribute().map(|attribute| (attribute, number, comparison)));
        }
        compared.sort_by_key(|(attribute, number, _)| (*attribute, *number));
        // Two clauses can contradict each other only if one is compound or both test the same attribute. Otherwise the
        // check is skipped, which saves time.
        let is_plain = is_plain && compared.windows(2).all(|pair| pair[0].0 != pair[1].0);
        let mut all = Conjunction {
            impossible: !is_plain && Certain::of([], [], clauses.iter().copied()).is_impossible,
            clauses,
            when_from,
            by_attribute: Vec::with_capacity(compared.len()),
            tests: Tests::default(),
            present,
            has_no_value_left: false,
        };
        for of_one in compared.chunk_by(|a, b| a.0 == b.0) {
            match most_useful(of_one) {
                Ok(Some((asked, clauses))) => all.add(table, of_one[0].0, asked, clauses),
                Ok(None) => {}
                Err(Impossible) => all.impossible = true,
            }
        }
        all.has_no_value_left = all.by_attribute.iter().any(AttributeTest::has_no_value_left);
        all
    }

    fn add(&mut self, table: &'a Table, attribute: &'a str, asked: Asked<'a>, clauses: SmallList<usize>) {
        let test = match &asked {
            // Several values are also one range: the planner compares one query of it with a query for each value.
            Asked::Values(values) if values.len() > 1 => hull(values),
            Asked::Values(values) => Some(Test::Equal(values[0])),
            Asked::Test(test) => Some(*test),
        };
        if let Some(test) = test {
            self.tests.set(attribute, test);
        }
        let listed = listed_values(table, attribute);
        self.by_attribute.push(AttributeTest { attribute, asked, listed, clauses });
    }

    /// The test of this attribute.
    pub(super) fn of(&self, attribute: &str) -> Option<&AttributeTest<'a>> {
        self.by_attribute.iter().find(|test| test.attribute == attribute)
    }

    /// The allowed values of this attribute, from `=` or `in`.
    pub(super) fn values_of(&self, attribute: &str) -> Option<&[&'a AttributeValue]> {
        match &self.of(attribute)?.asked {
            Asked::Values(values) => Some(values),
            Asked::Test(_) => None,
        }
    }

    /// The request's conditions, without the entity's own.
    pub(super) fn asked(&self) -> &[&'a Condition] {
        &self.clauses[..self.when_from]
    }
}

struct Impossible;

/// The test of one attribute, and the clauses it comes from.
type UsefulTest<'a> = (Asked<'a>, SmallList<usize>);

/// The test of an attribute that narrows a key most: values, then a prefix, then a range, then absence. A key uses one
/// test for each attribute; the other clauses stay in the filter, so the answer is exact.
fn most_useful<'a>(compared: &[Compared<'a>]) -> Result<Option<UsefulTest<'a>>, Impossible> {
    if let Some(values) = values(compared)? {
        return Ok(Some(values));
    }
    let one =
        |test, (_, number, _): &Compared<'a>| Ok(Some((Asked::Test(test), SmallList::from_iter([*number]))));
    // A key takes one test. A prefix usually selects less than a range; the range then stays a filter.
    for prefix in compared {
        if let Comparison::BeginsWith(text) = prefix.2 {
            return one(Test::BeginsWith(text), prefix);
        }
    }
    if let Some(range) = range(compared)? {
        return Ok(Some(range));
    }
    match compared.iter().find(|(_, _, comparison)| matches!(comparison, Comparison::Exists(false))) {
        Some(absent) => one(Test::Absent, absent),
        None => Ok(None),
    }
}

/// The values of the first `=`, or else of the first `in`, that pass every other clause about the attribute. A key that finds
/// exactly these values answers all those clauses.
fn values<'a>(compared: &[Compared<'a>]) -> Result<Option<UsefulTest<'a>>, Impossible> {
    let equal = compared.iter().find_map(|(_, _, comparison)| match comparison {
        Comparison::Equal(value) => Some(std::slice::from_ref(value)),
        _ => None,
    });
    let one_of = || {
        compared.iter().find_map(|(_, _, comparison)| match comparison {
            Comparison::In(values) => Some(values.as_slice()),
            _ => None,
        })
    };
    let Some(given) = equal.or_else(one_of) else { return Ok(None) };
    let mut values = distinct(given);
    if compared.len() > 1 {
        values.retain(|value| compared.iter().all(|(_, _, comparison)| comparison.holds(Some(value))));
    }
    // `a = 1 and a > 2`: reading the key `1` would cost a query that no item can pass.
    if values.is_empty() {
        return Err(Impossible);
    }
    let clauses = compared.iter().map(|(_, number, _)| *number).collect();
    Ok(Some((Asked::Values(values), clauses)))
}

fn distinct(values: &[AttributeValue]) -> SmallList<&AttributeValue> {
    let mut kept: SmallList<&AttributeValue> = SmallList::new();
    for value in values {
        if !kept.iter().any(|known| equal(known, value)) {
            kept.push(value);
        }
    }
    kept
}

/// The range that contains values of one type: one query of it can be cheaper than a query for each value.
fn hull<'a>(values: &[&'a AttributeValue]) -> Option<Test<&'a AttributeValue>> {
    let (mut low, mut high) = (*values.first()?, *values.first()?);
    // Values of two types have no common range: `compare` has no order for them, and each is queried by itself.
    for value in values {
        if compare(value, low)?.is_lt() {
            low = value;
        }
        if compare(value, high)?.is_gt() {
            high = value;
        }
    }
    Some(Test::Range { low: Bound::Included(low), high: Bound::Included(high) })
}

/// All bounds together: the highest lower one and the lowest upper one.
fn range<'a>(compared: &[Compared<'a>]) -> Result<Option<UsefulTest<'a>>, Impossible> {
    let (mut low, mut high, mut clauses) = (Bound::Unbounded, Bound::Unbounded, SmallList::new());
    for (_, number, comparison) in compared {
        let (from, to) = match comparison {
            Comparison::Less(bound) => (Bound::Unbounded, Bound::Excluded(bound)),
            Comparison::LessOrEqual(bound) => (Bound::Unbounded, Bound::Included(bound)),
            Comparison::Greater(bound) => (Bound::Excluded(bound), Bound::Unbounded),
            Comparison::GreaterOrEqual(bound) => (Bound::Included(bound), Bound::Unbounded),
            Comparison::Between(from, to) => (Bound::Included(from), Bound::Included(to)),
            _ => continue,
        };
        // The merged range answers every clause that it is made of, so none of them is filtered again.
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
    Ok(Some((Asked::Test(Test::Range { low, high }), clauses)))
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
        // `a >= 1 and a > 1`: with the inclusive bound `1` would be in the answer, as neither clause is filtered again.
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
