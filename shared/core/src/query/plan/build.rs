//! The accesses by which one table or index answers one conjunction for one kind of item.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::access::{Access, Hydration, Operation, Source};
use super::facts::{Asked, Facts};
use super::keyspace::{Keyspace, Kind, Selected, Selection, is_overloaded};
use super::reject::Reason;
use crate::key::Test;
use crate::model::{Index, IndexKind, Projection, Table};
use crate::query::check::CheckedRequest;
use crate::query::condition::{Comparison, Condition};
use crate::query::limits::FAN_OUT_MAX;
use crate::value::{AttributeValue, compare};

/// A table or an index, as a place to read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'m> {
    pub(super) table: &'m Table,
    pub(super) index: Option<&'m Index>,
}

impl<'m> Place<'m> {
    pub(super) fn source(&self) -> Source {
        Source::of(self.index)
    }

    /// Can an item of the table be absent here?
    pub(super) fn is_sparse(&self) -> bool {
        !kinds_of(self.table).into_iter().all(|kind| {
            let present = always_present(self.table, &[kind]);
            Keyspace::of(self.table, self.index, kind)
                .is_ok_and(|keyspace| keyspace.required().all(|part| present.contains(part)))
        })
    }

    pub(super) fn is_overloaded(&self) -> bool {
        match self.index {
            None => is_overloaded(self.table.key_attributes()),
            Some(index) => is_overloaded(index.key_attributes()),
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

/// One access, and what the choice needs to know about it.
#[derive(Debug, Clone)]
pub(super) struct Built<'m> {
    pub(super) access: Access,
    pub(super) place: Place<'m>,
    pub(super) kind: Kind,
    /// Attributes that have one value in all its items.
    pub(super) fixed: BTreeSet<String>,
    /// Attributes by which its items ascend.
    pub(super) ascending: Vec<String>,
    /// Does the sort range hold every key of its kind in the partition?
    pub(super) whole: bool,
    /// What is left of the conditions, the entity's own aside.
    pub(super) residual: Vec<Condition>,
    /// The entity's own conditions, where something else could lie in the range.
    pub(super) when: Vec<Condition>,
    /// Every condition that a matching item fulfils, and how many of them the request made: the rest are the entity's.
    pub(super) conjunct: (Vec<Condition>, usize),
    /// The share of a partition that the sort range leaves, as a guess.
    pub(super) share: f64,
    /// Is it one item at most?
    pub(super) single: bool,
}

/// The request, as far as building needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'r, 'm> {
    pub(super) request: &'r CheckedRequest<'m>,
    pub(super) place: Place<'m>,
    pub(super) kind: Kind,
    /// The kinds that are asked for, where `kind` is any of them.
    pub(super) kinds: &'r [Kind],
    pub(super) facts: &'r Facts,
    /// The entity's own conditions begin at this clause.
    pub(super) when_from: usize,
}

impl<'m> Task<'_, 'm> {
    /// The keyspace, once it is sure that it hides no matching item.
    pub(super) fn keyspace(&self) -> Result<Keyspace<'m>, Reason> {
        let keyspace = Keyspace::of(self.place.table, self.place.index, self.kind)
            .map_err(|key| Reason::EntityAbsent { attribute: key.name.clone() })?;
        let always = always_present(self.place.table, self.own_kinds());
        let hidden = keyspace
            .required()
            .find(|attribute| !always.contains(attribute) && !self.facts.present.contains(*attribute));
        match hidden {
            Some(attribute) => Err(Reason::Sparse { attribute: attribute.to_owned() }),
            None => Ok(keyspace),
        }
    }

    /// The queries that answer the conjunction, with these attributes taken value by value.
    pub(super) fn queries(
        &self,
        keyspace: &Keyspace<'m>,
        expand: &BTreeSet<&str>,
    ) -> Result<Vec<Built<'m>>, Reason> {
        let mut built = Vec::new();
        for tests in self.combinations(expand)? {
            let selection =
                keyspace.select(&tests).map_err(|attribute| Reason::PartitionOpen { attribute })?;
            if self.reads_everything(expand, &selection) {
                return Err(Reason::Scan);
            }
            for one in self.with_selection(keyspace, &tests, &selection) {
                add_range(&mut built, one);
            }
            if built.len() > FAN_OUT_MAX {
                return Err(Reason::FanOut);
            }
        }
        Ok(built)
    }

    /// A scan of the place, every clause filtered.
    pub(super) fn scan(&self) -> Built<'m> {
        let (residual, when) = self.split_clauses(&|_| false);
        let mut built = Built {
            access: self.empty_access(Operation::Scan),
            place: self.place,
            kind: self.kind,
            fixed: BTreeSet::new(),
            ascending: Vec::new(),
            whole: false,
            residual,
            when,
            conjunct: self.conjunct(),
            share: 1.0,
            single: false,
        };
        built.finish(self.request);
        built
    }

    /// The kinds of item that the task is about.
    fn own_kinds(&self) -> &[Kind] {
        if self.kind == Kind::Any { self.kinds } else { std::slice::from_ref(&self.kind) }
    }

    fn empty_access(&self, operation: Operation) -> Access {
        Access {
            source: self.place.source(),
            operation,
            filter: Condition::always(),
            recheck: Condition::always(),
            hydration: Hydration::None,
            descending: false,
        }
    }

    /// Every combination of the values that expanded attributes take, as tests.
    fn combinations<'a>(
        &'a self,
        expand: &BTreeSet<&'a str>,
    ) -> Result<Vec<BTreeMap<&'a str, Test>>, Reason> {
        let mut all = vec![BTreeMap::new()];
        for (attribute, fact) in &self.facts.by_attribute {
            match &fact.asked {
                Asked::Values(values) if values.len() > 1 => {
                    if expand.contains(attribute.as_str()) {
                        all = multiply(&all, attribute, values)?;
                    } else if let Some(hull) = hull(values) {
                        add(&mut all, attribute, &hull);
                    }
                }
                Asked::Values(values) => add(&mut all, attribute, &Test::Equal(values[0].clone())),
                Asked::Test(test) => match self.declared_values(attribute) {
                    Some(values) if expand.contains(attribute.as_str()) => {
                        let passing: Vec<_> =
                            values.iter().filter(|value| passes(test, value)).cloned().collect();
                        all = multiply(&all, attribute, &passing)?;
                    }
                    _ => add(&mut all, attribute, test),
                },
            }
        }
        for attribute in expand.iter().filter(|name| !self.facts.by_attribute.contains_key(**name)) {
            if let Some(values) = self.declared_values(attribute) {
                all = multiply(&all, attribute, values)?;
            }
        }
        Ok(all)
    }

    fn declared_values(&self, attribute: &str) -> Option<&[AttributeValue]> {
        self.place.table.attributes.get(attribute)?.values.as_deref()
    }

    /// Does every matching item have the same value here?
    fn has_one_value(&self, attribute: &str) -> bool {
        let asked = self.facts.by_attribute.get(attribute).map(|fact| &fact.asked);
        matches!(asked, Some(Asked::Values(values)) if values.len() == 1)
    }

    /// Can this attribute be taken value by value: by an `in`, or because the manifest lists what it can be?
    pub(super) fn is_expandable(&self, attribute: &str) -> bool {
        match self.facts.by_attribute.get(attribute).map(|fact| &fact.asked) {
            Some(Asked::Values(values)) => values.len() > 1,
            Some(Asked::Test(Test::Absent)) => false,
            Some(Asked::Test(_)) | None => self.declared_values(attribute).is_some(),
        }
    }

    fn with_selection(
        &self,
        keyspace: &Keyspace<'m>,
        tests: &BTreeMap<&str, Test>,
        selection: &Selection,
    ) -> Vec<Built<'m>> {
        let is_exact = |attribute: &str| {
            !self.is_hull(attribute, tests)
                && selection
                    .by_partition
                    .iter()
                    .chain(&selection.by_sort)
                    .any(|(name, exact)| *exact && name == attribute)
        };
        let present = |kinds: &[Kind]| -> BTreeSet<&str> {
            always_present(self.place.table, kinds).into_iter().chain(keyspace.required()).collect()
        };
        let here = present(self.own_kinds());
        // The entity's conditions tell it from its neighbours: what only its own items have, or only its own keys say,
        // says nothing of those.
        let asks_kind = self.when_from < self.facts.clauses.len() && !self.place.is_overloaded();
        let everywhere = asks_kind.then(|| present(&kinds_of(self.place.table)));
        let answered = |number: usize| match &everywhere {
            _ if number < self.when_from => self.is_answered(number, &is_exact, &here),
            Some(everywhere) => self.is_answered(number, &is_exact, everywhere),
            None => false,
        };
        let (residual, when) = self.split_clauses(&answered);
        let is_fixed = |(name, test): &(&&str, &Test)| match test {
            // One of several values: others can lie in the same range, unless the key tells them apart.
            Test::Equal(_) => self.has_one_value(name) || is_exact(name),
            Test::Absent => true,
            Test::Range { .. } | Test::BeginsWith(_) => false,
        };
        let fixed: BTreeSet<String> =
            tests.iter().filter(is_fixed).map(|(name, _)| (*name).to_owned()).collect();
        let ascending: Vec<String> =
            keyspace.ascending(&|name| fixed.contains(name)).into_iter().map(str::to_owned).collect();
        // What the partition key says already, the sort key does not narrow further.
        let is_said = |name: &str| selection.by_partition.iter().any(|(said, exact)| *exact && said == name);
        let narrowed: Vec<&str> =
            selection.by_sort.iter().map(|(name, _)| name.as_str()).filter(|name| !is_said(name)).collect();
        let share = narrowed.iter().map(|name| narrowing(tests.get(name))).product();
        let finish = |selected: &Selected| {
            let mut built = Built {
                access: self.empty_access(Operation::Query {
                    partition: selected.partition.clone(),
                    sort: selected.sort.clone(),
                }),
                place: self.place,
                kind: self.kind,
                fixed: fixed.clone(),
                ascending: ascending.clone(),
                whole: narrowed.is_empty(),
                residual: residual.clone(),
                when: if self.has_neighbours(selected) { when.clone() } else { Vec::new() },
                conjunct: self.conjunct(),
                share,
                single: self.is_single(selected),
            };
            built.finish(self.request);
            built
        };
        selection.selected.iter().map(finish).collect()
    }

    /// Does the key answer nothing of what is asked, while every partition is read to filter? That is a scan.
    fn reads_everything(&self, expand: &BTreeSet<&str>, selection: &Selection) -> bool {
        let open = expand.iter().any(|name| !self.facts.by_attribute.contains_key(*name));
        let partitions: BTreeSet<String> =
            selection.selected.iter().map(|selected| format!("{:?}", selected.partition)).collect();
        let asked = self.facts.clauses[..self.when_from].iter().any(|clause| !clause.is_always());
        asked
            && (open || partitions.len() > 1)
            && !self.facts.by_attribute.keys().any(|name| {
                selection.by_partition.iter().chain(&selection.by_sort).any(|(served, _)| served == name)
            })
    }

    /// Were several values tested as the range that they lie in?
    fn is_hull(&self, attribute: &str, tests: &BTreeMap<&str, Test>) -> bool {
        let asked = self.facts.by_attribute.get(attribute).map(|fact| &fact.asked);
        matches!(asked, Some(Asked::Values(values)) if values.len() > 1)
            && !matches!(tests.get(attribute), Some(Test::Equal(_)))
    }

    /// Does the key answer this clause in full?
    fn is_answered(&self, number: usize, is_exact: &dyn Fn(&str) -> bool, present: &BTreeSet<&str>) -> bool {
        let by_fact = self
            .facts
            .by_attribute
            .iter()
            .any(|(attribute, fact)| fact.clauses.contains(&number) && is_exact(attribute));
        let by_presence = match &self.facts.clauses[number] {
            Condition::Is(path, Comparison::Exists(true)) => {
                path.as_attribute().is_some_and(|attribute| present.contains(attribute))
            }
            _ => false,
        };
        by_fact || by_presence
    }

    fn split_clauses(&self, answered: &dyn Fn(usize) -> bool) -> (Vec<Condition>, Vec<Condition>) {
        let mut split = (Vec::new(), Vec::new());
        for (number, clause) in self.facts.clauses.iter().enumerate() {
            if !answered(number) {
                let side = if number < self.when_from { &mut split.0 } else { &mut split.1 };
                side.push(clause.clone());
            }
        }
        split
    }

    /// Could items of another kind lie in the same range? Where nothing depends on the kind they do.
    fn has_neighbours(&self, selected: &Selected) -> bool {
        if !self.place.is_overloaded() {
            return true;
        }
        kinds_of(self.place.table).into_iter().filter(|kind| *kind != self.kind).any(|kind| {
            Keyspace::of(self.place.table, self.place.index, kind)
                .is_ok_and(|other| other.could_hold(&selected.partition, &selected.sort))
        })
    }

    fn is_single(&self, selected: &Selected) -> bool {
        let exact_sort = matches!(
            selected.sort.as_slice(),
            [condition] if matches!(condition.test, super::access::SortTest::Equal(_))
        );
        self.place.index.is_none() && (self.place.table.sort.is_none() || exact_sort)
    }

    fn conjunct(&self) -> (Vec<Condition>, usize) {
        (self.facts.clauses.clone(), self.when_from)
    }
}

impl Built<'_> {
    /// Divides what is left between DynamoDB's filter and our own check, and finds out whether attributes are missing.
    pub(super) fn finish(&mut self, request: &CheckedRequest<'_>) {
        let place = self.place;
        let queried = matches!(self.access.operation, Operation::Query { .. });
        let sendable = |attribute: &str| place.holds(attribute) && !(queried && place.is_own_key(attribute));
        let left = self.residual.iter().chain(&self.when).cloned();
        let (filter, recheck): (Vec<_>, Vec<_>) = left.partition(|clause| clause.only_uses(&sendable));
        let all_here = recheck.iter().all(|clause| clause.only_uses(&|attribute| place.holds(attribute)))
            && answer_is_at(place, request);
        self.access.hydration = match place.index {
            Some(index) if !all_here && index.kind == IndexKind::Local => Hydration::Fetched,
            Some(_) if !all_here => Hydration::ByKey,
            _ => Hydration::None,
        };
        self.access.filter = Condition::all(filter);
        self.access.recheck = match self.access.hydration {
            // The item may have changed since the index saw it.
            Hydration::ByKey => Condition::all(self.conjunct.0.iter().cloned()),
            _ => Condition::all(recheck),
        };
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

/// The kinds of item that a table can hold.
pub(super) fn kinds_of(table: &Table) -> Vec<Kind> {
    let entities = (0..table.entities.len()).map(|number| Kind::Entity(crate::model::EntityId(number)));
    let strays = Keyspace::of(table, None, Kind::Stray).is_ok().then_some(Kind::Stray);
    entities.chain(strays).collect()
}

/// Attributes that every item of these kinds has: parts of its primary key, and what the manifest promises. The kinds of one
/// table can have keys of different parts.
fn always_present<'m>(table: &'m Table, kinds: &[Kind]) -> BTreeSet<&'m str> {
    let promised = table.attributes.values().filter(|known| known.required).map(|known| known.name.as_str());
    let of = |kind: Kind| {
        let mut present: BTreeSet<&str> = promised.clone().collect();
        if let Ok(keyspace) = Keyspace::of(table, None, kind) {
            present.extend(keyspace.required());
        }
        if let Kind::Entity(entity) = kind {
            present.extend(table.entities[entity.0].requires.iter().map(String::as_str));
        }
        present
    };
    kinds.iter().copied().map(of).reduce(|all, one| &all & &one).unwrap_or_default()
}

/// Values that the key does not tell apart (those of one shard, or of one text in lower case) select the same range: it is
/// read once, and checked for all that is still to be checked.
fn add_range<'m>(all: &mut Vec<Built<'m>>, one: Built<'m>) {
    match all.iter_mut().find(|known| known.access.operation == one.access.operation) {
        None => all.push(one),
        Some(known) if one.residual.len() + one.when.len() > known.residual.len() + known.when.len() => {
            *known = one;
        }
        Some(_) => {}
    }
}

fn add<'a>(all: &mut [BTreeMap<&'a str, Test>], attribute: &'a str, test: &Test) {
    for tests in all {
        tests.insert(attribute, test.clone());
    }
}

/// The range that values of one type lie in.
fn hull(values: &[AttributeValue]) -> Option<Test> {
    let (mut low, mut high) = (values.first()?, values.first()?);
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

fn multiply<'a>(
    all: &[BTreeMap<&'a str, Test>],
    attribute: &'a str,
    values: &[AttributeValue],
) -> Result<Vec<BTreeMap<&'a str, Test>>, Reason> {
    if all.len() * values.len() > FAN_OUT_MAX {
        return Err(Reason::FanOut);
    }
    Ok(all
        .iter()
        .flat_map(|tests| {
            values.iter().map(|value| {
                let mut more = tests.clone();
                more.insert(attribute, Test::Equal(value.clone()));
                more
            })
        })
        .collect())
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
