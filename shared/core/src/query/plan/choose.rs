//! The choice: every access path offers its candidates, and the cheapest wins.

use std::borrow::Cow;

use super::by_entity::ConjunctionByEntity;
use super::candidate::{Candidate, Candidates, ChosenPlan};
use super::clauses::{clauses, disjoint_alternatives};
use super::context::PlanContext;
use super::expansion::{Depth, Expansion, expansions};
use super::keyspace::Keyspace;
use super::path::AccessPath;
use super::path::EntityChoice;
use super::planned_read::PlannedRead;
use super::reject::{RejectReason, RejectedPath};
use crate::condition::Condition;

/// The chosen plan, if any, and all rejected paths.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) best: Option<ChosenPlan>,
    pub(super) rejected: Vec<RejectedPath>,
}

/// The cheapest plan: for the condition as one conjunction, or for each alternative of its `or`s separately.
pub(super) fn choose(context: &PlanContext<'_>) -> Choice {
    let clauses = clauses(&context.request.condition);
    let alternatives = disjoint_alternatives(&clauses);
    let Candidates { mut best, rejected } = conjunction(context, &clauses);
    if !alternatives.is_empty()
        && let Some(union) = each_alternative(context, &alternatives)
        && union.is_better_than(best.as_ref())
    {
        best = Some(union);
    }
    Choice { best: best.map(Candidate::into_plan), rejected }
}

/// A separate plan for each alternative. `None`: one of them has no plan. Not inlined: few requests have an `or`, and
/// WebAssembly compiles a function when it is first called.
#[inline(never)]
fn each_alternative<'a>(
    context: &'a PlanContext<'a>,
    alternatives: &'a [Vec<Cow<'static, Condition>>],
) -> Option<Candidate<'a>> {
    let mut reads = Vec::new();
    for conjunct in alternatives {
        reads.extend(conjunction(context, conjunct).best?.reads);
    }
    Candidate::of(context, reads).ok()
}

/// The best plan of one conjunction, for the entities that can fulfil it.
fn conjunction<'a>(context: &'a PlanContext<'a>, conjunct: &'a [Cow<'a, Condition>]) -> Candidates<'a> {
    let entities = context.possible(conjunct);
    if entities.is_empty() {
        return Candidates { best: Candidate::of(context, Vec::new()).ok(), rejected: Vec::new() };
    }
    let asked = ConjunctionByEntity::new(context, &entities, conjunct);
    let mut candidates =
        Candidates { best: None, rejected: Vec::with_capacity(context.request.table.indexes.len() + 1) };
    for path in context.paths() {
        match best_at(&asked, path) {
            Ok(found) => candidates.offer(found),
            Err(reason) => candidates.reject(path, false, reason),
        }
    }
    if entities.len() > 1
        && let Some(union) = each_entity(context, &entities, conjunct)
    {
        candidates.offer_silently(union);
    }
    if context.request.scan {
        for path in context.paths() {
            match scan_at(&asked, path) {
                Ok(found) => candidates.offer(found),
                Err(reason) => candidates.reject(path, true, reason),
            }
        }
    }
    candidates
}

/// The best path of each entity separately: perhaps no single index holds the items of all.
#[inline(never)]
fn each_entity<'a>(
    context: &'a PlanContext<'a>,
    entities: &[EntityChoice],
    conjunct: &'a [Cow<'a, Condition>],
) -> Option<Candidate<'a>> {
    let mut reads = Vec::new();
    for entity in entities {
        let asked = ConjunctionByEntity::new(context, std::slice::from_ref(entity), conjunct);
        let mut candidates = Candidates::default();
        for path in context.paths() {
            if let Ok(found) = best_at(&asked, path) {
                candidates.offer_silently(found);
            }
        }
        reads.extend(candidates.best?.reads);
    }
    Candidate::of(context, reads).ok()
}

/// The best candidate at one path.
fn best_at<'a>(asked: &ConjunctionByEntity<'a>, path: AccessPath<'a>) -> Result<Candidate<'a>, RejectReason> {
    check_readable(asked.context, path)?;
    let first = asked.planners(path).next().filter(|planner| !planner.conjunction.impossible);
    let first = match first {
        None => None,
        Some(planner) => {
            let keyspace = planner.keyspace()?;
            if let Some(attribute) = planner.missing_lead() {
                return Err(RejectReason::PartitionOpen { attribute: attribute.clone() });
            }
            Some(keyspace)
        }
    };
    let mut best: Option<Candidate<'a>> = None;
    let mut reason = None;
    let expansions = expansions(asked, path);
    let from = if asked.asks_several_values { Depth::Shards } else { Depth::Partition };
    for depth in Depth::ALL {
        // A depth that expands nothing more would repeat the same queries.
        let takes_more = depth > from && expansions.iter().any(|expansion| expansion.depth == depth);
        if depth != from && !takes_more {
            continue;
        }
        let reads = all_queries(asked, path, first, &expansions, depth);
        match reads.and_then(|reads| Candidate::of(asked.context, reads)) {
            Ok(found) if found.is_better_than(best.as_ref()) => best = Some(found),
            Ok(_) => {}
            Err(found) => reason = reason.or(Some(found)),
        }
    }
    best.ok_or(reason.unwrap_or(RejectReason::Scan))
}

/// May the path be read? A pending index lacks the items that its retrofit has not reached. A global index lags its
/// table, so DynamoDB refuses strongly consistent reads of it.
fn check_readable(context: &PlanContext<'_>, path: AccessPath<'_>) -> Result<(), RejectReason> {
    if !context.readiness.is_complete() {
        let index = path.index.map(|index| index.name.as_str());
        if let Some(pending) = context.readiness.pending(&path.table.id, index) {
            return Err(RejectReason::Pending(Box::new(pending.clone())));
        }
    }
    if context.request.consistent && path.is_global() {
        return Err(RejectReason::Consistency);
    }
    Ok(())
}

/// `first`: the keyspace of the first planner, which is known already.
fn all_queries<'a>(
    asked: &ConjunctionByEntity<'a>,
    path: AccessPath<'a>,
    first: Option<Keyspace<'a>>,
    expansions: &[Expansion<'a>],
    depth: Depth,
) -> Result<Vec<PlannedRead<'a>>, RejectReason> {
    let mut all = Vec::new();
    for (number, planner) in asked.planners(path).enumerate() {
        if planner.conjunction.impossible {
            continue;
        }
        let own =
            expansions.iter().filter(|expansion| expansion.planner == number && expansion.depth <= depth);
        let own: Vec<&str> = own.map(|expansion| expansion.attribute).collect();
        let keyspace = first.filter(|_| number == 0).map_or_else(|| planner.keyspace(), Ok)?;
        let mut reads = planner.queries(keyspace, &own)?;
        // Pages follow the order of the reads: it must not depend on the order of the values in an `in`.
        if planner.context.request.order.is_empty() && reads.len() > 1 {
            reads.sort_by_cached_key(|read| format!("{:?}", read.range));
        }
        if all.is_empty() {
            all = reads;
        } else {
            all.append(&mut reads);
        }
    }
    Ok(all)
}

/// A scan of a path that contains every matching item.
fn scan_at<'a>(asked: &ConjunctionByEntity<'a>, path: AccessPath<'a>) -> Result<Candidate<'a>, RejectReason> {
    check_readable(asked.context, path)?;
    // A scan reads the items of all callers.
    if let Some(attribute) = asked.context.request.scope.keys().next() {
        return Err(RejectReason::Scope { attribute: attribute.into() });
    }
    for planner in asked.planners(path) {
        planner.keyspace()?;
    }
    Candidate::of(asked.context, vec![asked.scan(path)])
}
