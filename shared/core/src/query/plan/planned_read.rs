//! One read of a candidate: a query of a key range, or a scan, with the remaining conditions on its items.

use std::rc::Rc;

use super::access::{Access, Hydration, Operation};
use super::keyspace::SelectedRange;
use super::path::AccessPath;
use super::path::EntityChoice;
use super::path::SmallList;
use crate::condition::Condition;
use crate::model::Projection;
use crate::query::check::CheckedRequest;

/// A read, with the properties that the choice needs.
#[derive(Debug, Clone)]
pub(super) struct PlannedRead<'a> {
    pub(super) path: AccessPath<'a>,
    pub(super) entity: EntityChoice,
    /// The entity whose sort key orders the items. After a join: any of the joined ones.
    pub(super) sorted_as: EntityChoice,
    /// The queried range; `None` for a scan.
    pub(super) range: Option<SelectedRange<'a>>,
    /// The properties common to other reads of its path.
    pub(super) shared: Rc<SharedByReads<'a>>,
    /// Could the range contain items of another entity? Then the entity's own conditions are tested too.
    pub(super) asks_entity: bool,
    /// Does it read at most one item?
    pub(super) single: bool,
    /// The attribute of the caller's scope that the partition key does not fix: an item outside the scope could be read.
    pub(super) unscoped: Option<&'a str>,
    pub(super) descending: bool,
    pub(super) hydration: Hydration,
    /// Does DynamoDB filter?
    pub(super) filters: bool,
    /// Are conditions checked on arriving items?
    pub(super) rechecks: bool,
}

/// The common properties of the reads of one path and one set of tests.
#[derive(Debug, Clone)]
pub(super) struct SharedByReads<'a> {
    /// Attributes that have one value in all items of the reads.
    pub(super) fixed: SmallList<&'a str>,
    /// Attributes by which the items ascend, outermost first.
    pub(super) ascending: SmallList<&'a str>,
    /// Does the sort range hold every key of its entity in the partition?
    pub(super) whole: bool,
    /// The estimated share of a partition in the sort range.
    pub(super) share: f64,
    /// The request's conditions that the key does not answer.
    pub(super) residual: SmallList<&'a Condition>,
    /// The entity's own conditions that the key does not answer.
    pub(super) when: SmallList<&'a Condition>,
    /// Every condition that a matching item fulfils: the request's, then the entity's.
    pub(super) conjunct: Rc<[&'a Condition]>,
    /// How many of the conditions come from the request.
    pub(super) asked: usize,
    /// For joined reads: the remaining conditions besides `residual` and `when`.
    pub(super) joined_left: Vec<Condition>,
    /// For joined reads: the conditions that their items fulfil, besides `conjunct`.
    pub(super) joined_conjunct: Vec<Condition>,
}

impl<'a> SharedByReads<'a> {
    /// A whole partition without remaining conditions. `asked`: how many conditions come from the request.
    pub(super) fn of(conjunct: Rc<[&'a Condition]>, asked: usize) -> SharedByReads<'a> {
        SharedByReads {
            fixed: SmallList::new(),
            ascending: SmallList::new(),
            whole: false,
            share: 1.0,
            residual: SmallList::new(),
            when: SmallList::new(),
            conjunct,
            asked,
            joined_left: Vec::new(),
            joined_conjunct: Vec::new(),
        }
    }
}

impl<'a> PlannedRead<'a> {
    /// A read of everything in the path; a range can be set.
    pub(super) fn of(
        path: AccessPath<'a>,
        entity: EntityChoice,
        shared: SharedByReads<'a>,
    ) -> PlannedRead<'a> {
        PlannedRead {
            path,
            entity,
            sorted_as: entity,
            range: None,
            shared: Rc::new(shared),
            asks_entity: false,
            single: false,
            unscoped: None,
            descending: false,
            hydration: Hydration::None,
            filters: false,
            rechecks: false,
        }
    }

    /// Divides the remaining conditions between DynamoDB's filter and the recheck, and finds missing attributes.
    pub(super) fn finish(&mut self, request: &CheckedRequest<'_>) {
        let path = self.path;
        let (mut filters, mut rechecks, mut all_here) = (false, false, answer_is_at(path, request));
        for clause in self.left() {
            if self.is_sendable(clause) {
                filters |= !clause.is_always();
            } else {
                rechecks |= !clause.is_always();
                all_here &= clause.only_uses(&|attribute| path.holds(attribute));
            }
        }
        self.hydration = match path.index {
            Some(_) if all_here => Hydration::None,
            Some(_) if path.is_local() => Hydration::Fetched,
            Some(_) => Hydration::ByKey,
            None => Hydration::None,
        };
        self.filters = filters;
        self.rechecks = match self.hydration {
            Hydration::ByKey => self.conjunct().any(|clause| !clause.is_always()),
            Hydration::None | Hydration::Fetched => rechecks,
        };
    }

    /// The number of requests: one for each shard of the range.
    pub(super) fn count(&self) -> usize {
        self.range.as_ref().map_or(1, SelectedRange::count)
    }

    /// A separate read for each shard.
    pub(super) fn apart(mut self) -> Vec<PlannedRead<'a>> {
        let Some(range) = self.range.take() else { return vec![self] };
        let one = |range| PlannedRead { range: Some(range), ..self.clone() };
        range.apart().into_iter().map(one).collect()
    }

    /// Do the two differ only in their ranges? The many shards of one partition do, and are priced once.
    pub(super) fn is_like(&self, other: &PlannedRead<'a>) -> bool {
        Rc::ptr_eq(&self.shared, &other.shared)
            && (self.single, self.asks_entity, self.range.is_none())
                == (other.single, other.asks_entity, other.range.is_none())
    }

    /// All remaining conditions.
    pub(super) fn left(&self) -> impl Iterator<Item = &Condition> {
        let when = if self.asks_entity { self.shared.when.as_slice() } else { &[] };
        self.shared.residual.iter().chain(when).copied().chain(&self.shared.joined_left)
    }

    /// Every condition that a matching item fulfils.
    pub(super) fn conjunct(&self) -> impl Iterator<Item = &Condition> {
        self.shared.conjunct.iter().copied().chain(&self.shared.joined_conjunct)
    }

    /// Can DynamoDB filter by it? Not by attributes that the index lacks, which it would treat as missing, and not by
    /// the key of the query, which it refuses.
    pub(super) fn is_sendable(&self, clause: &Condition) -> bool {
        let (path, queried) = (self.path, self.range.is_some());
        clause.only_uses(&|attribute| {
            path.holds(attribute)
                && !path.is_read_from_key(attribute)
                && !(queried && path.is_own_key(attribute))
        })
    }

    /// The read as an access of the plan.
    pub(super) fn into_access(self) -> Access {
        let all = |clauses: Vec<&Condition>| Condition::all(clauses.into_iter().cloned());
        let (filter, recheck): (Vec<_>, Vec<_>) = self.left().partition(|clause| self.is_sendable(clause));
        let filter = all(filter);
        let recheck = match self.hydration {
            // The item is read after the index, which lags the table: it may have changed and no longer match.
            Hydration::ByKey => all(self.conjunct().collect()),
            Hydration::None | Hydration::Fetched => all(recheck),
        };
        Access {
            source: self.path.read_from(),
            operation: self.range.map_or(Operation::Scan, SelectedRange::operation),
            filter,
            recheck,
            hydration: self.hydration,
            descending: self.descending,
        }
    }
}

/// Does the path have all attributes of the answer and its order?
fn answer_is_at(path: AccessPath<'_>, request: &CheckedRequest<'_>) -> bool {
    let shown = match (&request.select, request.count) {
        (_, true) => true,
        (Some(names), false) => names.iter().all(|name| path.holds(name)),
        (None, false) => path.index.is_none_or(|index| index.projection == Projection::All),
    };
    shown && request.order.iter().all(|by| path.holds(&by.attribute))
}
