//! The accesses by which one table or index answers one conjunction for one kind of item.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

use super::access::{Access, Hydration, Operation, SortTest, Source};
use super::facts::{Asked, Facts};
use super::ground::Ground;
use super::keyspace::{Keyspace, Kind, Selected, Selection, is_overloaded};
use super::reject::Reason;
use crate::condition::{Comparison, Condition};
use crate::key::Test;
use crate::model::{Index, IndexKind, Projection, Table};
use crate::query::check::CheckedRequest;
use crate::query::limits::FAN_OUT_MAX;
use crate::value::{AttributeValue, compare};

/// A table or an index, as a place to read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) table: &'a Table,
    pub(super) index: Option<&'a Index>,
    /// Does the key depend on which entity an item is?
    pub(super) is_overloaded: bool,
}

impl<'a> Place<'a> {
    pub(super) fn of(table: &'a Table, index: Option<&'a Index>) -> Place<'a> {
        let is_overloaded = match index {
            None => is_overloaded(table.key_attributes()),
            Some(index) => is_overloaded(index.key_attributes()),
        };
        Place { table, index, is_overloaded }
    }

    pub(super) fn source(&self) -> Source {
        Source::of(self.index)
    }

    /// The order of preference between equals, as [`Source`] has it.
    pub(super) fn preference(&self) -> (Option<IndexPreference>, &'a str) {
        match self.index {
            None => (None, ""),
            Some(index) if index.kind == IndexKind::Local => (Some(IndexPreference::Local), &index.name),
            Some(index) => (Some(IndexPreference::Global), &index.name),
        }
    }

    /// Does an entry here hold this attribute?
    pub(super) fn holds(&self, attribute: &str) -> bool {
        self.index.is_none_or(|index| index.projects(self.table, attribute))
    }

    /// DynamoDB refuses a filter on the key that it queries by.
    fn is_own_key(&self, attribute: &str) -> bool {
        match self.index {
            None => self.table.key_attributes().any(|key| key.name == attribute),
            Some(index) => index.key_attributes().any(|key| key.name == attribute),
        }
    }
}

/// The table comes first, then local before global indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IndexPreference {
    Local,
    Global,
}

/// One access, and what the choice needs to know about it.
#[derive(Debug, Clone)]
pub(super) struct Built<'a> {
    pub(super) place: Place<'a>,
    pub(super) kind: Kind,
    /// What is queried; none: a scan.
    pub(super) range: Option<Selected<'a>>,
    /// What it has in common with others of its place.
    pub(super) shared: Rc<Shared<'a>>,
    /// Could something else lie in the range, so that the entity's own conditions are asked too?
    pub(super) asks_kind: bool,
    /// Is it one item at most?
    pub(super) single: bool,
    pub(super) descending: bool,
    pub(super) hydration: Hydration,
    /// Is something filtered, or checked on the items?
    pub(super) filters: bool,
    pub(super) rechecks: bool,
}

/// What the accesses of one place and one set of tests have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared<'a> {
    /// Attributes that have one value in all its items.
    pub(super) fixed: Vec<&'a str>,
    /// Attributes by which its items ascend.
    pub(super) ascending: Vec<&'a str>,
    /// Does the sort range hold every key of its kind in the partition?
    pub(super) whole: bool,
    /// The share of a partition that the sort range leaves, as a guess.
    pub(super) share: f64,
    /// What is left of the request's conditions.
    pub(super) residual: Vec<&'a Condition>,
    /// What is left of the entity's own.
    pub(super) when: Vec<&'a Condition>,
    /// Every condition that a matching item fulfils.
    pub(super) conjunct: Rc<[&'a Condition]>,
    /// How many of them the request made: the rest are the entity's.
    pub(super) asked: usize,
}

/// The request, as far as building needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'t, 'a> {
    pub(super) ground: &'t Ground<'a>,
    pub(super) place: Place<'a>,
    pub(super) kind: Kind,
    pub(super) facts: &'t Facts<'a>,
    /// The attributes that every item of these kinds has.
    pub(super) always: &'t [&'a str],
}

/// Tests, borrowed where no attribute is taken value by value.
type Combinations<'t, 'a> = std::borrow::Cow<'t, [BTreeMap<&'a str, Test>]>;

impl<'t, 'a> Task<'t, 'a> {
    /// The keyspace, once it is sure that it hides no matching item.
    pub(super) fn keyspace(&self) -> Result<Keyspace<'a>, Reason> {
        let keyspace = Keyspace::of(self.place, self.kind)
            .map_err(|key| Reason::EntityAbsent { attribute: key.name.clone() })?;
        let hidden = keyspace
            .required()
            .find(|attribute| !self.always.contains(attribute) && !self.facts.present.contains(attribute));
        match hidden {
            Some(attribute) => Err(Reason::Sparse { attribute: attribute.to_owned() }),
            None => Ok(keyspace),
        }
    }

    /// The queries that answer the conjunction, with these attributes taken value by value.
    pub(super) fn queries(
        &self,
        keyspace: Keyspace<'a>,
        expand: &[&'a str],
    ) -> Result<Vec<Built<'a>>, Reason> {
        if self.count_combinations(expand)? == 0 {
            return Ok(Vec::new());
        }
        let tests = &self.facts.tests;
        if let Some(attribute) = keyspace.open_partition(tests, expand) {
            return Err(Reason::PartitionOpen { attribute: attribute.to_owned() });
        }
        let mut built = Vec::new();
        for tests in self.combinations(expand).iter() {
            let selection =
                keyspace.select(tests).map_err(|attribute| Reason::PartitionOpen { attribute })?;
            if self.reads_everything(expand, &selection) {
                return Err(Reason::Scan);
            }
            self.with_selection(keyspace, tests, selection, &mut built);
            if built.len() > FAN_OUT_MAX {
                return Err(Reason::FanOut);
            }
        }
        Ok(built)
    }

    /// A scan of the place, every clause filtered.
    pub(super) fn scan(&self) -> Built<'a> {
        let (residual, when) = self.split_clauses(&|_| false);
        let mut built = self.built(Shared { residual, when, share: 1.0, ..self.shared() });
        built.asks_kind = true;
        built.finish(self.ground.request);
        built
    }

    fn shared(&self) -> Shared<'a> {
        let (conjunct, asked) = (self.facts.clauses.clone(), self.facts.when_from);
        Shared { conjunct, asked, ..Shared::default() }
    }

    fn built(&self, shared: Shared<'a>) -> Built<'a> {
        Built {
            place: self.place,
            kind: self.kind,
            range: None,
            shared: Rc::new(shared),
            asks_kind: false,
            single: false,
            descending: false,
            hydration: Hydration::None,
            filters: false,
            rechecks: false,
        }
    }

    /// The attributes that are taken value by value, each with its values.
    fn expanded(&self, expand: &[&'a str]) -> impl Iterator<Item = (&'a str, Vec<&'a AttributeValue>)> {
        let asked = self.facts.by_attribute.iter().filter(|fact| expand.contains(&fact.attribute));
        let open = expand.iter().filter(|name| self.facts.of(name).is_none());
        let asked = asked.map(|fact| {
            let declared = || self.declared_values(fact.attribute).unwrap_or_default().iter();
            match &fact.asked {
                Asked::Values(values) => (fact.attribute, values.clone()),
                Asked::Test(test) => {
                    (fact.attribute, declared().filter(|value| passes(test, value)).collect())
                }
            }
        });
        asked.chain(open.filter_map(|name| Some((*name, self.declared_values(name)?.iter().collect()))))
    }

    /// How many combinations there are.
    fn count_combinations(&self, expand: &[&'a str]) -> Result<usize, Reason> {
        self.expanded(expand).try_fold(1, |count, (_, values)| match count * values.len() {
            count if count > FAN_OUT_MAX => Err(Reason::FanOut),
            count => Ok(count),
        })
    }

    /// Is there an attribute of which no listed value passes? Then nothing is read, wherever that attribute is in the key.
    pub(super) fn has_no_value_left(&self) -> bool {
        self.facts.by_attribute.iter().any(|fact| match &fact.asked {
            Asked::Values(_) | Asked::Test(Test::Absent) => false,
            Asked::Test(test) => self
                .declared_values(fact.attribute)
                .is_some_and(|values| !values.iter().any(|value| passes(test, value))),
        })
    }

    /// Every combination of the values that expanded attributes take, as tests.
    fn combinations(&self, expand: &[&'a str]) -> Combinations<'t, 'a> {
        let tests: &'t BTreeMap<&'a str, Test> = &self.facts.tests;
        if expand.is_empty() {
            return Combinations::Borrowed(std::slice::from_ref(tests));
        }
        let mut all = vec![tests.clone()];
        for (attribute, values) in self.expanded(expand) {
            all = multiply(&all, attribute, &values);
        }
        Combinations::Owned(all)
    }

    fn declared_values(&self, attribute: &str) -> Option<&'a [AttributeValue]> {
        self.place.table.attributes.get(attribute)?.values.as_deref()
    }

    /// Does every matching item have the same value here?
    fn has_one_value(&self, attribute: &str) -> bool {
        let asked = self.facts.of(attribute).map(|fact| &fact.asked);
        matches!(asked, Some(Asked::Values(values)) if values.len() == 1)
    }

    /// Can this attribute be taken value by value: by an `in`, or because the manifest lists what it can be?
    pub(super) fn is_expandable(&self, attribute: &str) -> bool {
        match self.facts.of(attribute).map(|fact| &fact.asked) {
            Some(Asked::Values(values)) => values.len() > 1,
            Some(Asked::Test(Test::Absent)) => false,
            Some(Asked::Test(_)) | None => self.declared_values(attribute).is_some(),
        }
    }

    fn with_selection(
        &self,
        keyspace: Keyspace<'a>,
        tests: &BTreeMap<&'a str, Test>,
        selection: Selection<'a>,
        all: &mut Vec<Built<'a>>,
    ) {
        let is_exact = |attribute: &str| {
            !self.is_hull(attribute, tests)
                && selection.served().any(|(name, exact)| exact && name == attribute)
        };
        let (residual, when) = self.left(keyspace, &is_exact);
        let is_fixed = |(name, test): &(&&'a str, &Test)| match test {
            // One of several values: others can lie in the same range, unless the key tells them apart.
            Test::Equal(_) => self.has_one_value(name) || is_exact(name),
            Test::Absent => true,
            Test::Range { .. } | Test::BeginsWith(_) => false,
        };
        let fixed: Vec<&str> = tests.iter().filter(is_fixed).map(|(name, _)| *name).collect();
        // What the partition key says already, the sort key does not narrow further.
        let is_said = |name: &str| selection.by_partition.iter().any(|(said, exact)| *exact && *said == name);
        let narrowed = || selection.by_sort.iter().map(|(name, _)| *name).filter(|name| !is_said(name));
        let mut built = self.built(Shared {
            ascending: keyspace.ascending(&|name| fixed.contains(&name)),
            fixed,
            whole: narrowed().next().is_none(),
            share: narrowed().map(|name| narrowing(tests.get(name))).product(),
            residual,
            when,
            ..self.shared()
        });
        // The ranges of one selection are different ones.
        let before = all.len();
        all.reserve_exact(selection.selected.len());
        for (number, selected) in selection.selected.into_iter().enumerate() {
            let asks_kind = self.has_neighbours(&selected);
            built.single = self.is_single(&selected);
            built.range = Some(selected);
            if number == 0 || asks_kind != built.asks_kind {
                built.asks_kind = asks_kind;
                built.finish(self.ground.request);
            }
            let range = built.range.take();
            add_range(all, before, Built { range, ..built.clone() });
        }
    }

    /// What the key leaves to be checked: of the request's conditions, and of the entity's own.
    fn left(
        &self,
        keyspace: Keyspace<'a>,
        is_exact: &dyn Fn(&str) -> bool,
    ) -> (Vec<&'a Condition>, Vec<&'a Condition>) {
        let facts = self.facts;
        let in_key = |name: &str| keyspace.required().any(|part| part == name);
        let here = |name: &str| self.always.contains(&name) || in_key(name);
        // The entity's conditions tell it from its neighbours: what only its own items have, or only its own keys say,
        // says nothing of those.
        let asks_kind = facts.when_from < facts.clauses.len() && !self.place.is_overloaded;
        let everywhere = asks_kind.then(|| self.ground.present(self.ground.kinds()));
        let answered = |number: usize| match &everywhere {
            _ if number < facts.when_from => self.is_answered(number, is_exact, &here),
            Some(everywhere) => {
                self.is_answered(number, is_exact, &|name| everywhere.contains(&name) || in_key(name))
            }
            None => false,
        };
        self.split_clauses(&answered)
    }

    /// Does the key answer nothing of what is asked, while every partition is read to filter? That is a scan.
    fn reads_everything(&self, expand: &[&str], selection: &Selection<'_>) -> bool {
        let open = || expand.iter().any(|name| self.facts.of(name).is_none());
        let several = || selection.selected.windows(2).any(|pair| pair[0].partition != pair[1].partition);
        let is_served = |attribute: &str| selection.served().any(|(served, _)| served == attribute);
        self.facts.asked().iter().any(|clause| !clause.is_always())
            && (open() || several())
            && !self.facts.by_attribute.iter().any(|fact| is_served(fact.attribute))
    }

    /// Were several values tested as the range that they lie in?
    fn is_hull(&self, attribute: &str, tests: &BTreeMap<&str, Test>) -> bool {
        let asked = self.facts.of(attribute).map(|fact| &fact.asked);
        matches!(asked, Some(Asked::Values(values)) if values.len() > 1)
            && !matches!(tests.get(attribute), Some(Test::Equal(_)))
    }

    /// Does the key answer this clause in full?
    fn is_answered(
        &self,
        number: usize,
        is_exact: &dyn Fn(&str) -> bool,
        is_present: &dyn Fn(&str) -> bool,
    ) -> bool {
        let by_presence = match self.facts.clauses[number] {
            Condition::Is(path, Comparison::Exists(true)) => path.as_attribute().is_some_and(is_present),
            _ => false,
        };
        let mut facts = self.facts.by_attribute.iter();
        by_presence || facts.any(|fact| fact.clauses.contains(&number) && is_exact(fact.attribute))
    }

    fn split_clauses(&self, answered: &dyn Fn(usize) -> bool) -> (Vec<&'a Condition>, Vec<&'a Condition>) {
        let left = |numbers: std::ops::Range<usize>| {
            numbers.filter(|number| !answered(*number)).map(|number| self.facts.clauses[number]).collect()
        };
        let (from, all) = (self.facts.when_from, self.facts.clauses.len());
        (left(0..from), left(from..all))
    }

    /// Could items of another kind lie in the same range? Where nothing depends on the kind they do.
    fn has_neighbours(&self, selected: &Selected<'_>) -> bool {
        if !self.place.is_overloaded {
            return true;
        }
        self.ground.kinds().filter(|kind| *kind != self.kind).any(|kind| {
            Keyspace::of(self.place, kind)
                .is_ok_and(|other| other.could_hold(&selected.partition, &selected.sort))
        })
    }

    fn is_single(&self, selected: &Selected<'_>) -> bool {
        let exact_sort = matches!(
            &*selected.sort,
            [condition] if matches!(condition.test, SortTest::Equal(_))
        );
        self.place.index.is_none() && (self.place.table.sort.is_none() || exact_sort)
    }
}

impl<'a> Built<'a> {
    /// Divides what is left between DynamoDB's filter and our own check, and finds out whether attributes are missing.
    pub(super) fn finish(&mut self, request: &CheckedRequest<'_>) {
        let place = self.place;
        let (mut filters, mut rechecks, mut all_here) = (false, false, answer_is_at(place, request));
        for clause in self.left() {
            if self.is_sendable(clause) {
                filters |= !clause.is_always();
            } else {
                rechecks |= !clause.is_always();
                all_here &= clause.only_uses(&|attribute| place.holds(attribute));
            }
        }
        self.hydration = match place.index {
            Some(index) if !all_here && index.kind == IndexKind::Local => Hydration::Fetched,
            Some(_) if !all_here => Hydration::ByKey,
            _ => Hydration::None,
        };
        self.filters = filters;
        self.rechecks = match self.hydration {
            Hydration::ByKey => self.shared.conjunct.iter().any(|clause| !clause.is_always()),
            Hydration::None | Hydration::Fetched => rechecks,
        };
    }

    /// Do the two differ in nothing but their ranges? Shards of one partition are many and alike.
    pub(super) fn is_like(&self, other: &Built<'a>) -> bool {
        Rc::ptr_eq(&self.shared, &other.shared)
            && (self.single, self.asks_kind, self.range.is_none())
                == (other.single, other.asks_kind, other.range.is_none())
    }

    /// What is left of all conditions.
    pub(super) fn left(&self) -> impl Iterator<Item = &'a Condition> {
        let when = if self.asks_kind { self.shared.when.as_slice() } else { &[] };
        self.shared.residual.iter().chain(when).copied()
    }

    /// Can DynamoDB filter by it?
    fn is_sendable(&self, clause: &Condition) -> bool {
        let (place, queried) = (self.place, self.range.is_some());
        clause.only_uses(&|attribute| place.holds(attribute) && !(queried && place.is_own_key(attribute)))
    }

    /// The access, with its conditions.
    pub(super) fn into_access(self) -> Access {
        let all = |clauses: Vec<&Condition>| Condition::all(clauses.into_iter().cloned());
        let (filter, recheck): (Vec<_>, Vec<_>) = self.left().partition(|clause| self.is_sendable(clause));
        let recheck = match self.hydration {
            // The item may have changed since the index saw it.
            Hydration::ByKey => all(self.shared.conjunct.to_vec()),
            Hydration::None | Hydration::Fetched => all(recheck),
        };
        Access {
            source: self.place.source(),
            operation: self.range.map_or(Operation::Scan, Selected::operation),
            filter: all(filter),
            recheck,
            hydration: self.hydration,
            descending: self.descending,
        }
    }
}

/// Does the place hold all attributes that the answer shows or is ordered by?
fn answer_is_at(place: Place<'_>, request: &CheckedRequest<'_>) -> bool {
    let shown = match (&request.select, request.count) {
        (_, true) => true,
        (Some(names), false) => names.iter().all(|name| place.holds(name)),
        (None, false) => place.index.is_none_or(|index| index.projection == Projection::All),
    };
    shown && request.order.iter().all(|by| place.holds(&by.attribute))
}

/// Values that the key does not tell apart (those of one shard, or of one text in lower case) select the same range: it is
/// read once, and checked for all that is still to be checked. `before`: so many can be the same.
fn add_range<'a>(all: &mut Vec<Built<'a>>, before: usize, one: Built<'a>) {
    match all[..before].iter_mut().find(|known| known.range == one.range) {
        None => all.push(one),
        Some(known) if one.left().count() > known.left().count() => {
            *known = one;
        }
        Some(_) => {}
    }
}

fn multiply<'a>(
    all: &[BTreeMap<&'a str, Test>],
    attribute: &'a str,
    values: &[&AttributeValue],
) -> Vec<BTreeMap<&'a str, Test>> {
    let with = |tests: &BTreeMap<&'a str, Test>, value: &AttributeValue| {
        let mut more = tests.clone();
        more.insert(attribute, Test::Equal(value.clone()));
        more
    };
    all.iter().flat_map(|tests| values.iter().map(move |value| with(tests, value))).collect()
}

fn passes(test: &Test, value: &AttributeValue) -> bool {
    let within = |bound: &Bound<AttributeValue>, wanted: Ordering| match bound {
        Bound::Unbounded => true,
        Bound::Included(bound) => compare(value, bound).is_some_and(|order| order == wanted || order.is_eq()),
        Bound::Excluded(bound) => compare(value, bound) == Some(wanted),
    };
    match test {
        Test::Equal(wanted) => crate::value::equal(value, wanted),
        Test::BeginsWith(prefix) => Comparison::BeginsWith(prefix.clone()).holds(Some(value)),
        Test::Range { low, high } => within(low, Ordering::Greater) && within(high, Ordering::Less),
        Test::Absent => false,
    }
}

/// How much of a partition a test on a sort part leaves, as a guess.
fn narrowing(test: Option<&Test>) -> f64 {
    match test {
        Some(Test::Equal(_) | Test::Absent) => 0.1,
        Some(_) => 0.3,
        None => 1.0,
    }
}
