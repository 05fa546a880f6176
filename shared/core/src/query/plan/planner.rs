//! The path planner: how one table or index answers one conjunction for one choice of entity.

use std::borrow::Cow;

use smallvec::{SmallVec, smallvec};
use smol_str::SmolStr;

use super::access::SortTest;
use super::certainty::{Certain, Certainty};
use super::conjunction::{Asked, Conjunction, listed_values};
use super::context::PlanContext;
use super::keyspace::{Keyspace, SelectedRange, SelectedRanges};
use super::path::AccessPath;
use super::path::EntityChoice;
use super::path::SmallList;
use super::planned_read::{PlannedRead, SharedByReads};
use super::reject::RejectReason;
use crate::condition::{Comparison, Condition};
use crate::key::{Test, Tests};
use crate::query::limits::FAN_OUT_MAX;
use crate::value::AttributeValue;

/// One conjunction for one choice of entity at one path.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathPlanner<'t, 'a> {
    pub(super) context: &'t PlanContext<'a>,
    pub(super) path: AccessPath<'a>,
    pub(super) entity: EntityChoice,
    pub(super) conjunction: &'t Conjunction<'a>,
    /// The attributes of every wanted item, except those of every item in the table.
    pub(super) always: &'t [SmolStr],
}

/// The tests to select by, one set for each combination of values.
type TestSets<'t, 'a> = Cow<'t, [Tests<'a>]>;

impl<'t, 'a> PathPlanner<'t, 'a> {
    /// The keyspace, if it certainly hides no matching item. An item that lacks a part of an index's key is not in the
    /// index: unless every matching item has all parts, the answer could miss one.
    pub(super) fn keyspace(&self) -> Result<Keyspace<'a>, RejectReason> {
        let keyspace = Keyspace::of(self.path, self.entity)
            .map_err(|key| RejectReason::EntityAbsent { attribute: key.name.as_str().into() })?;
        let is_open = |attribute: &str| {
            !self.conjunction.present.contains(&attribute)
                && !self.always.iter().any(|name| name == attribute)
        };
        let is_open_anywhere = |attribute: &str| {
            is_open(attribute) && !self.context.everywhere().iter().any(|name| name == attribute)
        };
        let hidden = if self.path.is_overloaded() {
            keyspace.find_required(&is_open_anywhere).map(SmolStr::from)
        } else {
            // Attributes that every item of the table has cannot hide an item.
            self.path.facts.unpromised.iter().find(|name| is_open(name)).cloned()
        };
        match hidden {
            Some(attribute) => Err(RejectReason::Sparse { attribute }),
            None => Ok(keyspace),
        }
    }

    /// An attribute that the partition key needs and no expansion supplies. It excludes most indexes before anything is
    /// built; without it a table with many indexes takes much longer to plan.
    pub(super) fn missing_lead(&self) -> Option<&'a SmolStr> {
        let Conjunction { tests, has_no_value_left, .. } = self.conjunction;
        // Nothing is read on any path.
        if *has_no_value_left {
            return None;
        }
        for lead in &self.path.facts.leads {
            let is_expandable = match tests.get(&lead.attribute) {
                Some(Test::Equal(_)) => continue,
                Some(_) if !lead.by_equality => continue,
                Some(_) => self.is_expandable(&lead.attribute),
                None => lead.is_listed,
            };
            if !is_expandable {
                return Some(&lead.attribute);
            }
        }
        None
    }

    /// The queries that answer the conjunction. `expand`: attributes that are expanded into their values.
    pub(super) fn queries(
        &self,
        keyspace: Keyspace<'a>,
        expand: &[&'a str],
    ) -> Result<Vec<PlannedRead<'a>>, RejectReason> {
        if self.count_combinations(expand)? == 0 {
            return Ok(Vec::new());
        }
        let tests = &self.conjunction.tests;
        if let Some(attribute) = keyspace.open_partition(tests, expand) {
            return Err(partition_open(attribute));
        }
        if self.answers_nothing(keyspace, expand) {
            return Err(RejectReason::Scan);
        }
        let mut reads = Vec::new();
        for tests in self.test_sets(expand).iter() {
            let mut selected = SelectedRanges::default();
            keyspace.select(tests, &mut selected).map_err(partition_open)?;
            if self.reads_everything(expand, &selected) {
                return Err(RejectReason::Scan);
            }
            // Different values can yield the same range, and the contents of a partition can depend on its whole key.
            // Shards must then be checked one by one.
            let takes_each =
                !expand.is_empty() || self.path.is_overloaded() || !self.context.request.scope.is_empty();
            if takes_each {
                selected.take_apart();
            }
            self.add_reads(keyspace, tests, &mut selected, &mut reads)?;
            if reads.len() > FAN_OUT_MAX {
                return Err(RejectReason::FanOut);
            }
        }
        Ok(reads)
    }

    /// A scan of the path, every clause filtered.
    pub(super) fn scan(&self) -> PlannedRead<'a> {
        let (residual, when) = self.unanswered(&|_| false);
        let Conjunction { clauses, when_from, .. } = self.conjunction;
        let shared = SharedByReads { residual, when, ..SharedByReads::of(clauses.clone(), *when_from) };
        let mut read = PlannedRead::of(self.path, self.entity, shared);
        read.asks_entity = true;
        read.finish(self.context.request);
        read
    }

    /// The expanded attributes, with their values.
    fn expanded(&self, expand: &[&'a str]) -> impl Iterator<Item = (&'a str, SmallList<&'a AttributeValue>)> {
        let asked = self.conjunction.by_attribute.iter().filter(|test| expand.contains(&test.attribute));
        let open = expand.iter().filter(|name| self.conjunction.of(name).is_none());
        let asked = asked.map(|of_one| {
            let listed = || of_one.listed.unwrap_or_default().iter();
            match &of_one.asked {
                Asked::Values(values) => (of_one.attribute, values.clone()),
                Asked::Test(test) => {
                    (of_one.attribute, listed().filter(|value| test.passes(value)).collect())
                }
            }
        });
        asked.chain(
            open.filter_map(|name| Some((*name, listed_values(self.path.table, name)?.iter().collect()))),
        )
    }

    /// The number of combinations of values, each a query; refused above the limit.
    fn count_combinations(&self, expand: &[&'a str]) -> Result<usize, RejectReason> {
        self.expanded(expand).try_fold(1, |count, (_, values)| match count * values.len() {
            count if count > FAN_OUT_MAX => Err(RejectReason::FanOut),
            count => Ok(count),
        })
    }

    /// The tests, with every combination of the expanded attributes' values.
    fn test_sets(&self, expand: &[&'a str]) -> TestSets<'t, 'a> {
        let tests: &'t Tests<'a> = &self.conjunction.tests;
        if expand.is_empty() {
            return TestSets::Borrowed(std::slice::from_ref(tests));
        }
        let mut all = vec![tests.clone()];
        for (attribute, values) in self.expanded(expand) {
            all = multiply(&all, attribute, &values);
        }
        TestSets::Owned(all)
    }

    /// Do all matching items have the same value here?
    fn has_one_value(&self, attribute: &str) -> bool {
        self.conjunction.values_of(attribute).is_some_and(|values| values.len() == 1)
    }

    /// Can this attribute be expanded: by an `in`, or because the manifest lists its values?
    pub(super) fn is_expandable(&self, attribute: &str) -> bool {
        let Some(of_one) = self.conjunction.of(attribute) else {
            return listed_values(self.path.table, attribute).is_some();
        };
        match &of_one.asked {
            Asked::Values(values) => values.len() > 1,
            Asked::Test(Test::Absent) => false,
            Asked::Test(_) => of_one.listed.is_some(),
        }
    }

    fn add_reads(
        &self,
        keyspace: Keyspace<'a>,
        tests: &Tests<'a>,
        selected: &mut SelectedRanges<'a>,
        all: &mut Vec<PlannedRead<'a>>,
    ) -> Result<(), RejectReason> {
        // A clause is dropped only if the key condition is equivalent. A lossy part (lower case, a shard) or a range
        // around several values also matches other values, whose items would be returned.
        let is_exact = |attribute: &str| {
            selected.served().any(|(served, exact)| exact && served == attribute)
                && !self.is_range_of_values(attribute, tests)
        };
        let (residual, when) = self.left_by_key(keyspace, &is_exact);
        let is_fixed = |(name, test): &(&'a str, Test<&AttributeValue>)| match test {
            // A range for several values contains other values too, unless the key separates them.
            Test::Equal(_) => self.has_one_value(name) || is_exact(name),
            Test::Absent => true,
            Test::Range { .. } | Test::BeginsWith(_) => false,
        };
        let fixed: SmallList<&str> = tests.iter().filter(is_fixed).map(|(name, _)| name).collect();
        // An attribute fixed by the partition key narrows nothing in the sort key. Counting it twice would make the
        // path look cheaper than it is.
        let in_partition =
            |name: &str| selected.by_partition.iter().any(|(part, exact)| *exact && *part == name);
        let narrowed = || selected.by_sort.iter().map(|(name, _)| *name).filter(|name| !in_partition(name));
        let shared = SharedByReads {
            ascending: keyspace.ascending(&|name| fixed.contains(&name)),
            fixed,
            whole: narrowed().next().is_none(),
            share: narrowed().map(|name| narrowing(tests.get(name))).product(),
            residual,
            when,
            conjunct: self.conjunction.clauses.clone(),
            asked: self.conjunction.when_from,
            joined_left: Vec::new(),
            joined_conjunct: Vec::new(),
        };
        let mut read = PlannedRead::of(self.path, self.entity, shared);
        // The ranges of one selection are disjoint, so only ranges of earlier selections can be equal.
        let before = all.len();
        all.reserve_exact(selected.ranges.len());
        for (number, range) in selected.ranges.drain(..).enumerate() {
            let asks_entity = self.has_neighbours(&range);
            read.single = self.is_single(&range);
            read.unscoped = self.unscoped(&range);
            if let Some(attribute) = read.unscoped.filter(|_| !read.single) {
                return Err(RejectReason::Scope { attribute: attribute.into() });
            }
            read.range = Some(range);
            if number == 0 || asks_entity != read.asks_entity {
                read.asks_entity = asks_entity;
                read.finish(self.context.request);
            }
            let range = read.range.take();
            add_read(all, before, PlannedRead { range, ..read.clone() });
        }
        Ok(())
    }

    /// The attribute of the caller's scope with other values in this partition. A filter would hide those items, but
    /// not their read cost, nor where a page ends. The sort range does not count, because reads are joined later.
    fn unscoped(&self, range: &SelectedRange<'_>) -> Option<&'a str> {
        let scope = &self.context.request.scope;
        if scope.is_empty() {
            return None;
        }
        let others = self.context.entities().filter(|_| self.path.is_overloaded());
        let mut keyspaces = others.chain([self.entity]).filter_map(|entity| {
            let keyspace = Keyspace::of(self.path, entity).ok()?;
            (entity == self.entity || keyspace.could_hold(&range.partition, &[])).then_some(keyspace)
        });
        keyspaces.find_map(|keyspace| {
            let mut open =
                scope.iter().filter(|(name, value)| !keyspace.fixes(&range.partition, name, value));
            open.next().map(|(name, _)| name.as_str())
        })
    }

    /// The conditions that the key does not answer: the request's, and the entity's own.
    fn left_by_key(
        &self,
        keyspace: Keyspace<'a>,
        is_exact: &dyn Fn(&str) -> bool,
    ) -> (SmallList<&'a Condition>, SmallList<&'a Condition>) {
        let conjunction = self.conjunction;
        // The range can contain items of other entities. Attributes that only the wanted entity requires, or only its
        // template writes, prove nothing about those items. Such a condition is dropped only if the entity's conditions
        // are tested, and those conditions themselves are never dropped.
        let everywhere = self.context.everywhere();
        let asks_entity = conjunction.when_from < conjunction.clauses.len();
        let promised = if asks_entity { self.always } else { &[] };
        let by_key = self.answered_by_key(is_exact);
        let answered = |number: usize| {
            let is_entitys = number >= conjunction.when_from;
            if is_entitys && self.path.is_overloaded() {
                return false;
            }
            let promised = if is_entitys { &[] } else { promised };
            let is_present = |name: &str| {
                everywhere.iter().chain(promised).any(|known| known == name) || keyspace.requires(name)
            };
            by_key[number] || self.asks_presence(number).is_some_and(is_present)
        };
        let (residual, mut when) = self.unanswered(&answered);
        // Entity conditions that follow from the request's conditions are not tested again.
        if !when.is_empty() && !residual.is_empty() {
            let asked = Certain::of([], [], residual.iter().copied());
            when.retain(|clause| asked.says(clause) != Certainty::Holds);
        }
        (residual, when)
    }

    /// Does the key use no tested attribute, while every partition is read? Then it [reads
    /// everything](PathPlanner::reads_everything); this check finds that before a key is built.
    fn answers_nothing(&self, keyspace: Keyspace<'a>, expand: &[&'a str]) -> bool {
        let mut inputs = keyspace.partition_inputs().chain(keyspace.sort_inputs());
        self.asks_something()
            && self.takes_unasked(expand)
            && !inputs.any(|attribute| self.conjunction.of(attribute).is_some())
    }

    /// Is every partition read and filtered, with no test answered by the key? That is a scan under another name and
    /// needs the same permission.
    fn reads_everything(&self, expand: &[&str], selected: &SelectedRanges<'_>) -> bool {
        let several = || {
            selected.ranges.iter().any(|range| range.count() > 1)
                || selected.ranges.windows(2).any(|pair| pair[0].partition != pair[1].partition)
        };
        let is_served = |attribute: &str| selected.served().any(|(served, _)| served == attribute);
        self.asks_something()
            && (self.takes_unasked(expand) || several())
            && !self.conjunction.by_attribute.iter().any(|of_one| is_served(of_one.attribute))
    }

    /// Is an attribute expanded that no condition tests?
    fn takes_unasked(&self, expand: &[&str]) -> bool {
        expand.iter().any(|name| self.conjunction.of(name).is_none())
    }

    /// Is there a condition that an item can fail?
    fn asks_something(&self) -> bool {
        self.conjunction.asked().iter().any(|clause| !clause.is_always())
    }

    /// Are several values tested as one range? Then values between them match too.
    fn is_range_of_values(&self, attribute: &str, tests: &Tests<'_>) -> bool {
        self.conjunction.values_of(attribute).is_some_and(|values| values.len() > 1)
            && !matches!(tests.get(attribute), Some(Test::Equal(_)))
    }

    /// The numbers of the clauses that the key answers completely.
    fn answered_by_key(&self, is_exact: &dyn Fn(&str) -> bool) -> SmallVec<[bool; 16]> {
        let mut answered = smallvec![false; self.conjunction.clauses.len()];
        for of_one in &self.conjunction.by_attribute {
            if is_exact(of_one.attribute) {
                of_one.clauses.iter().for_each(|number| answered[*number] = true);
            }
        }
        answered
    }

    /// The attribute, if the clause tests only its presence.
    fn asks_presence(&self, number: usize) -> Option<&'a str> {
        match self.conjunction.clauses[number] {
            Condition::Is(path, Comparison::Exists(true)) => path.as_attribute(),
            _ => None,
        }
    }

    fn unanswered(
        &self,
        answered: &dyn Fn(usize) -> bool,
    ) -> (SmallList<&'a Condition>, SmallList<&'a Condition>) {
        let Conjunction { clauses, when_from, .. } = self.conjunction;
        let left = |numbers: std::ops::Range<usize>| {
            numbers.filter(|number| !answered(*number)).map(|number| clauses[number]).collect()
        };
        (left(0..*when_from), left(*when_from..clauses.len()))
    }

    /// Could the range contain items of another entity? Always, if the key does not depend on the entity.
    fn has_neighbours(&self, range: &SelectedRange<'_>) -> bool {
        if !self.path.is_overloaded() {
            return true;
        }
        self.context.entities().filter(|entity| *entity != self.entity).any(|entity| {
            Keyspace::of(self.path, entity).is_ok_and(|other| other.could_hold(&range.partition, &range.sort))
        })
    }

    /// A complete primary key identifies one item. Index keys are not unique.
    fn is_single(&self, range: &SelectedRange<'_>) -> bool {
        let exact_sort = matches!(
            &*range.sort,
            [condition] if matches!(condition.test, SortTest::Equal(_))
        );
        self.path.index.is_none() && (self.path.table.sort.is_none() || exact_sort)
    }
}

/// Values that the key maps to one text (those of one shard, or differing only in case) select the same range. It is
/// read once, and its items are checked for all remaining conditions. The ranges would be joined later too, but until then count as
/// several, which may be more than a plan may have. `before`: only these reads can be equal.
fn add_read<'a>(all: &mut Vec<PlannedRead<'a>>, before: usize, read: PlannedRead<'a>) {
    match all[..before].iter_mut().find(|known| known.range == read.range) {
        None => all.push(read),
        Some(known) if read.left().count() > known.left().count() => *known = read,
        Some(_) => {}
    }
}

fn multiply<'a>(all: &[Tests<'a>], attribute: &'a str, values: &[&'a AttributeValue]) -> Vec<Tests<'a>> {
    let with = |tests: &Tests<'a>, value: &'a AttributeValue| {
        let mut more = tests.clone();
        more.set(attribute, Test::Equal(value));
        more
    };
    all.iter().flat_map(|tests| values.iter().map(move |value| with(tests, value))).collect()
}

fn partition_open(attribute: &str) -> RejectReason {
    RejectReason::PartitionOpen { attribute: attribute.into() }
}

/// The assumed share of a partition left by a test of a sort part.
fn narrowing(test: Option<Test<&AttributeValue>>) -> f64 {
    match test {
        Some(Test::Equal(_) | Test::Absent) => 0.1,
        Some(_) => 0.3,
        None => 1.0,
    }
}
