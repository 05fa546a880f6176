//! The candidates for a request, their prices, and the cheapest.

use std::collections::BTreeSet;

use super::build::{Built, Place, Task, kinds_of};
use super::estimate;
use super::facts::{Facts, alternatives, clauses};
use super::keyspace::{Keyspace, Kind};
use super::merge::join_neighbours;
use super::reject::{Reason, Rejected};
use super::{Delivery, delivery};
use crate::model::IndexKind;
use crate::query::check::CheckedRequest;
use crate::query::condition::{Comparison, Condition};

/// A way of answering everything that is asked.
#[derive(Debug, Clone)]
pub(super) struct Candidate<'m> {
    pub(super) built: Vec<Built<'m>>,
    pub(super) delivery: Delivery,
    pub(super) units: f64,
}

impl Candidate<'_> {
    /// Cheaper first; then what need not be sorted here, fewer requests, fewer conditions left, the table before local
    /// before global indexes.
    fn rank(&self) -> (u64, bool, usize, usize, Vec<(super::Source, bool)>) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "never negative; half units"
        )]
        let half_units = (self.units * 2.0).min(1e15) as u64;
        let left = self.built.iter().map(|built| built.residual.len() + built.when.len()).sum();
        let sources =
            self.built.iter().map(|built| (built.access.source.clone(), built.access.descending)).collect();
        let is_sorted_here = matches!(self.delivery, Delivery::SortedInMemory { .. });
        (half_units, is_sorted_here, self.built.len(), left, sources)
    }
}

/// The best candidate, or none, and all that was turned down.
#[derive(Debug)]
pub(super) struct Outcome<'m> {
    pub(super) best: Option<Candidate<'m>>,
    pub(super) rejected: Vec<Rejected>,
}

/// Finds the cheapest way: the condition as one conjunction, or each alternative of its `or`s by itself.
pub(super) fn choose<'m>(request: &CheckedRequest<'m>) -> Outcome<'m> {
    let whole = conjunction(request, &clauses(&request.condition));
    let Some(alternatives) = alternatives(&request.condition) else { return whole };
    match apart(request, &alternatives) {
        Some(union) if whole.best.as_ref().is_none_or(|best| union.rank() < best.rank()) => {
            Outcome { best: Some(union), rejected: whole.rejected }
        }
        _ => whole,
    }
}

/// Each alternative answered by itself; what an earlier one already gave is filtered out of the later ones.
fn apart<'m>(request: &CheckedRequest<'m>, alternatives: &[Vec<Condition>]) -> Option<Candidate<'m>> {
    let mut built = Vec::new();
    let mut earlier: Vec<Condition> = Vec::new();
    for alternative in alternatives {
        let mut conjunct = alternative.clone();
        conjunct.extend(earlier.iter().cloned());
        built.extend(conjunction(request, &conjunct).best?.built);
        earlier.push(Condition::Not(Box::new(Condition::all(alternative.iter().cloned()))));
    }
    candidate(request, built).ok()
}

fn conjunction<'m>(request: &CheckedRequest<'m>, conjunct: &[Condition]) -> Outcome<'m> {
    let kinds = wanted_kinds(request);
    let mut outcome = Outcome { best: None, rejected: Vec::new() };
    for place in places(request) {
        match at_place(request, place, &kinds, conjunct) {
            Ok(found) => outcome.offer(found),
            Err(reason) => outcome.rejected.push(Rejected { source: place.source(), scan: false, reason }),
        }
    }
    if kinds.len() > 1
        && let Some(union) = each_kind(request, &kinds, conjunct)
    {
        outcome.offer_silently(union);
    }
    if request.scan {
        for place in places(request) {
            match scan_at(request, place, &kinds, conjunct) {
                Ok(found) => outcome.offer(found),
                Err(reason) => outcome.rejected.push(Rejected { source: place.source(), scan: true, reason }),
            }
        }
    }
    outcome
}

/// Every kind of item by its own best place.
fn each_kind<'m>(
    request: &CheckedRequest<'m>,
    kinds: &[Kind],
    conjunct: &[Condition],
) -> Option<Candidate<'m>> {
    let mut built = Vec::new();
    for kind in kinds {
        let mut outcome = Outcome { best: None, rejected: Vec::new() };
        for place in places(request) {
            if let Ok(found) = at_place(request, place, &[*kind], conjunct) {
                outcome.offer_silently(found);
            }
        }
        built.extend(outcome.best?.built);
    }
    candidate(request, built).ok()
}

impl<'m> Outcome<'m> {
    /// Takes the candidate if it is better, and notes what it was preferred to.
    fn offer(&mut self, found: Candidate<'m>) {
        let Some(best) = self.best.take() else {
            self.best = Some(found);
            return;
        };
        let (winner, loser) = if found.rank() < best.rank() { (found, best) } else { (best, found) };
        if let Some(built) = loser.built.first() {
            let same_price = (loser.units - winner.units).abs() < 0.25;
            let reason = if same_price { Reason::Equal } else { Reason::Costlier { units: loser.units } };
            let scan = matches!(built.access.operation, super::Operation::Scan);
            self.rejected.push(Rejected { source: built.access.source.clone(), scan, reason });
        }
        self.best = Some(winner);
    }

    fn offer_silently(&mut self, found: Candidate<'m>) {
        if self.best.as_ref().is_none_or(|best| found.rank() < best.rank()) {
            self.best = Some(found);
        }
    }
}

fn places<'m>(request: &CheckedRequest<'m>) -> Vec<Place<'m>> {
    let table = request.table;
    let indexes = table.indexes.iter().map(Some);
    std::iter::once(None).chain(indexes).map(|index| Place { table, index }).collect()
}

/// The kinds of item that a request asks for.
fn wanted_kinds(request: &CheckedRequest<'_>) -> Vec<Kind> {
    if request.entities.is_empty() {
        return kinds_of(request.table);
    }
    request.entities.iter().map(|entity| Kind::Entity(*entity)).collect()
}

/// The best candidate at one place.
fn at_place<'m>(
    request: &CheckedRequest<'m>,
    place: Place<'m>,
    kinds: &[Kind],
    conjunct: &[Condition],
) -> Result<Candidate<'m>, Reason> {
    check_consistency(request, place)?;
    let mut best: Option<Candidate<'m>> = None;
    let mut reason = None;
    for depth in [Depth::Shards, Depth::Partition, Depth::Values, Depth::Enumerations] {
        if depth == Depth::Shards && !asks_several_values(conjunct) {
            continue;
        }
        let built = split(request, place, kinds, conjunct)
            .into_iter()
            .map(|(kind, facts, when_from)| {
                queries(Task { request, place, kind, kinds, facts: &facts, when_from }, depth)
            })
            .collect::<Result<Vec<_>, _>>();
        match built.and_then(|built| candidate(request, built.concat())) {
            Ok(found) if best.as_ref().is_none_or(|best| found.rank() < best.rank()) => best = Some(found),
            Ok(_) => {}
            Err(found) => reason = reason.or(Some(found)),
        }
    }
    best.ok_or(reason.unwrap_or(Reason::Scan))
}

fn asks_several_values(conjunct: &[Condition]) -> bool {
    conjunct
        .iter()
        .any(|clause| matches!(clause, Condition::Is(_, Comparison::In(values)) if values.len() > 1))
}

fn check_consistency(request: &CheckedRequest<'_>, place: Place<'_>) -> Result<(), Reason> {
    match place.index {
        Some(index) if request.consistent && index.kind == IndexKind::Global => Err(Reason::Consistency),
        _ => Ok(()),
    }
}

/// The conjunction for each kind that has a key of its own here, or once for all of them.
fn split(
    request: &CheckedRequest<'_>,
    place: Place<'_>,
    kinds: &[Kind],
    conjunct: &[Condition],
) -> Vec<(Kind, Facts, usize)> {
    let with = |kind, more: Vec<Condition>| {
        let facts = Facts::read([conjunct, more.as_slice()].concat());
        (kind, facts, conjunct.len())
    };
    if place.is_overloaded() {
        return kinds.iter().map(|kind| with(*kind, kind_conditions(place.table, *kind))).collect();
    }
    let everything = request.entities.is_empty() && kinds.len() == kinds_of(place.table).len();
    let more = match kinds {
        _ if everything => Vec::new(),
        [one] => kind_conditions(place.table, *one),
        several => {
            vec![Condition::Any(
                several.iter().map(|kind| Condition::all(kind_conditions(place.table, *kind))).collect(),
            )]
        }
    };
    vec![with(Kind::Any, more)]
}

/// What an item of this kind fulfils.
fn kind_conditions(table: &crate::model::Table, kind: Kind) -> Vec<Condition> {
    let of = |entity: &crate::model::Entity| entity.when.iter().map(Condition::from).collect::<Vec<_>>();
    match kind {
        Kind::Any => Vec::new(),
        Kind::Entity(entity) => of(&table.entities[entity.0]),
        Kind::Stray => {
            table.entities.iter().map(|entity| Condition::Not(Box::new(Condition::all(of(entity))))).collect()
        }
    }
}

/// How far attributes are taken value by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// None: shards that several values lie in are read for all of these at once.
    Shards,
    /// Those of the partition key: without that there is no query.
    Partition,
    /// Also those of the sort key that an `in` gives values for.
    Values,
    /// Also those of the sort key whose values the manifest lists.
    Enumerations,
}

fn queries<'m>(task: Task<'_, 'm>, depth: Depth) -> Result<Vec<Built<'m>>, Reason> {
    if task.facts.impossible {
        return Ok(Vec::new());
    }
    let keyspace = task.keyspace()?;
    let expand = expanded(&task, &keyspace, depth);
    let mut built = task.queries(&keyspace, &expand)?;
    if task.request.order.is_empty() {
        built.sort_by(|a, b| format!("{:?}", a.access.operation).cmp(&format!("{:?}", b.access.operation)));
    }
    Ok(built)
}

fn expanded<'m>(task: &Task<'_, 'm>, keyspace: &Keyspace<'m>, depth: Depth) -> BTreeSet<&'m str> {
    let required: BTreeSet<&str> = keyspace.required().collect();
    let open = |name: &&str| task.is_expandable(name) && required.contains(*name);
    if depth == Depth::Shards {
        return BTreeSet::new();
    }
    let mut expand: BTreeSet<&str> = keyspace.partition_inputs().into_iter().filter(open).collect();
    if depth == Depth::Partition {
        return expand;
    }
    let sort = keyspace.sort_inputs();
    let asked = |name: &str| {
        task.facts.by_attribute.contains_key(name) || task.request.order.iter().any(|by| by.attribute == name)
    };
    let reach = sort.iter().rposition(|name| asked(name)).map_or(0, |last| last + 1);
    let given = |name: &&str| depth == Depth::Enumerations || task.facts.by_attribute.contains_key(*name);
    expand.extend(sort[..reach].iter().copied().filter(open).filter(given));
    expand
}

/// Accesses as a candidate, if they give the order.
fn candidate<'m>(request: &CheckedRequest<'m>, built: Vec<Built<'m>>) -> Result<Candidate<'m>, Reason> {
    let mut built = if request.order.is_empty() { join_neighbours(request, built) } else { built };
    if built.len() > crate::query::limits::FAN_OUT_MAX {
        return Err(Reason::FanOut);
    }
    let delivery = delivery::decide(request, &mut built).ok_or(Reason::Order)?;
    let enough = match delivery {
        Delivery::Sequential | Delivery::Merged if !request.count => Some(request.limit),
        _ => None,
    };
    let units = built.iter().map(|built| estimate::units(built, enough, request.consistent)).sum();
    Ok(Candidate { built, delivery, units })
}

/// A scan, at a place that hides no item asked for.
fn scan_at<'m>(
    request: &CheckedRequest<'m>,
    place: Place<'m>,
    kinds: &[Kind],
    conjunct: &[Condition],
) -> Result<Candidate<'m>, Reason> {
    check_consistency(request, place)?;
    for (kind, facts, when_from) in split(request, place, kinds, conjunct) {
        Task { request, place, kind, kinds, facts: &facts, when_from }.keyspace()?;
    }
    // One pass finds the items of all kinds.
    let everything = request.entities.is_empty() && kinds.len() == kinds_of(place.table).len();
    let more = if everything {
        Vec::new()
    } else {
        vec![Condition::Any(
            kinds.iter().map(|kind| Condition::all(kind_conditions(place.table, *kind))).collect(),
        )]
    };
    let facts = Facts::read([conjunct, more.as_slice()].concat());
    let task = Task { request, place, kind: Kind::Any, kinds, facts: &facts, when_from: conjunct.len() };
    candidate(request, vec![task.scan()])
}
