//! From a checked request to a plan: the reads, their sources, their order and their price.
//!
//! A request passes through these types, in this order:
//!
//! 1. `PlanContext` (`context`): the request, the access paths of its table, the facts of each entity;
//! 2. `Conjunction` (`clauses`, `conjunction`, `by_entity`): the combined test of each attribute by all clauses;
//! 3. `AccessPath` (`path`, `keyspace`): the table or one index, with the key that an entity's items have in it;
//! 4. `PathPlanner` (`planner`, `expansion`): the `PlannedRead`s by which one path answers one conjunction;
//! 5. `Candidate` (`candidate`, `join`, `delivery`, `estimate`): reads that answer the whole request, in order, with a
//!    price;
//! 6. `ChosenPlan` (`choose`): the cheapest candidate. Every other path has a `RejectReason`.
//!
//! A plan never loses an item: an index is used only if every matching item is in it, conditions that a key answers
//! only partly are checked again on the items, and "key conditions AND filter AND recheck" equals the request. Among
//! correct plans the price decides, and the same request always has the same plan.

mod access;
mod by_entity;
mod candidate;
mod certainty;
mod choose;
mod clauses;
mod conjunction;
mod context;
mod delivery;
mod estimate;
mod expansion;
mod join;
mod keyspace;
mod path;
mod planned_read;
mod planner;
mod reject;
mod selectivity;
mod suggest;

pub use access::{Access, Hydration, KeyEqual, Operation, ReadFrom, SortCondition, SortTest};
pub use delivery::Delivery;
pub(crate) use delivery::first_page;
pub use reject::{RejectReason, RejectedPath};

use smol_str::SmolStr;

use self::context::PlanContext;
use self::suggest::Suggestions;
use crate::model::OrderBy;
use crate::query::check::CheckedRequest;
use crate::query::readiness::{Pending, Readiness};

/// The plan of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPlan {
    /// The table's id in the manifest.
    pub table: SmolStr,
    /// The table's name in DynamoDB.
    pub table_name: SmolStr,
    /// The reads. None: no item can match.
    pub accesses: Vec<Access>,
    /// How their answers become one.
    pub delivery: Delivery,
    /// The order of the answer.
    pub order: Vec<OrderBy>,
    /// Maximum items in the answer.
    pub limit: u32,
    /// The attributes of the answer; all if absent.
    pub select: Option<Vec<String>>,
    /// Only the number of items.
    pub count: bool,
    /// Strongly consistent reads.
    pub consistent: bool,
    /// Could the single item read be outside the caller's scope? Then its cost is reported as for a missing item.
    pub hides_cost: bool,
    /// The estimated read units, from the manifest's expectations.
    pub estimated_units: f64,
    /// The rejected candidates, with reasons.
    pub rejected: Vec<RejectedPath>,
}

impl QueryPlan {
    /// Does the plan scan?
    pub fn scans(&self) -> bool {
        self.accesses.iter().any(|access| matches!(access.operation, Operation::Scan))
    }
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .problem.text(.table))]
pub struct PlanError {
    /// The table.
    pub table: String,
    /// The problem.
    pub problem: PlanProblem,
    /// Why each table and index was rejected.
    pub rejected: Vec<RejectedPath>,
    /// An index that answers, as manifest text.
    pub suggestion: Option<String>,
    /// Other remedies, each as the rest of a sentence.
    instead: Vec<String>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanProblem {
    /// Only a scan could answer, and the request does not allow one.
    NeedsScan,
    /// The items can be found, but not in this order.
    NeedsSort,
    /// No table or index keeps the items in the caller's scope apart from others.
    NeedsScopedIndex,
    /// The index is still being filled and lacks items.
    Pending(Box<ReadFrom>, Box<Pending>),
}

impl PlanProblem {
    fn text(&self, table: &str) -> String {
        let what = match self {
            PlanProblem::NeedsScan => "answers this without a scan",
            PlanProblem::NeedsSort => "gives the requested order",
            PlanProblem::NeedsScopedIndex => "answers this from the items in the caller's scope alone",
            PlanProblem::Pending(path, pending) => {
                let index = path.index().map_or_else(String::new, |index| format!("index `{index}` of "));
                return format!("{index}table `{table}` {pending}");
            }
        };
        format!("no index of table `{table}` {what}")
    }
}

impl PlanError {
    /// The stable code, as docs/errors.md lists it.
    pub fn code(&self) -> &'static str {
        match self.problem {
            PlanProblem::NeedsScan => "needs-scan",
            PlanProblem::NeedsSort => "needs-sort",
            PlanProblem::NeedsScopedIndex => "needs-scoped-index",
            PlanProblem::Pending(..) => "index-pending",
        }
    }

    /// A suggestion.
    pub fn hint(&self) -> String {
        self.ways(true)
    }

    /// A suggestion for callers who cannot scan; `None`: the same as [`hint`](Self::hint).
    pub fn hint_without_scan(&self) -> Option<String> {
        // A scan reads the items of all callers, so it is never suggested to a caller with a scope.
        matches!(self.problem, PlanProblem::NeedsScan | PlanProblem::Pending(..)).then(|| self.ways(false))
    }

    fn ways(&self, allow_scan: bool) -> String {
        let allow = match self.problem {
            PlanProblem::NeedsSort => Some("allow sorting with `sortInMemory`"),
            PlanProblem::NeedsScan | PlanProblem::Pending(..) if allow_scan => {
                Some("allow a scan with `scan`")
            }
            _ => None,
        };
        let add = self.suggestion.as_ref().map(|_| "add an index that answers it");
        let ways = add.into_iter().chain(self.instead.iter().map(String::as_str)).chain(allow);
        let ways = ways.collect::<Vec<_>>().join(", or ");
        match &self.suggestion {
            Some(index) => format!("{ways}:\n\n{index}"),
            None if !ways.is_empty() => ways,
            None if self.problem == PlanProblem::NeedsScopedIndex => {
                "ask by equality for each attribute of a partition key that has the scope".to_owned()
            }
            None => "ask for an attribute of a partition key by equality".to_owned(),
        }
    }
}

/// Plans a request. `readiness`: the indexes that a retrofit still fills; none of them is read.
pub fn plan(request: &CheckedRequest<'_>, readiness: &Readiness) -> Result<QueryPlan, PlanError> {
    let choice = choose::choose(&PlanContext::of(request, readiness));
    let Some(best) = choice.best else { return Err(refusal(request, choice.rejected)) };
    Ok(QueryPlan {
        table: request.table.id.as_str().into(),
        table_name: request.table.name.as_str().into(),
        accesses: best.accesses,
        delivery: best.delivery,
        order: request.order.clone(),
        limit: request.limit,
        select: request.select.clone(),
        count: request.count,
        consistent: request.consistent,
        hides_cost: best.hides_cost,
        estimated_units: best.units.as_f64(),
        rejected: choice.rejected,
    })
}

fn refusal(request: &CheckedRequest<'_>, rejected: Vec<RejectedPath>) -> PlanError {
    let (problem, suggestion, instead) = match awaited(request, &rejected) {
        Some((read_from, pending)) => {
            let wait = match &*pending {
                Pending::Retrofit { retrofit, .. } => {
                    format!("ask again after `keyfold retrofit switch {retrofit}`")
                }
                Pending::Missing => "ask again when the index is active".to_owned(),
                Pending::Withheld => "ask by other attributes".to_owned(),
            };
            (PlanProblem::Pending(Box::new(read_from), pending), None, vec![wait])
        }
        None => {
            let Suggestions { index, instead } = suggest::suggest(request);
            let problem = if rejected.iter().any(|rejected| rejected.reason == RejectReason::Order) {
                PlanProblem::NeedsSort
            } else if !request.scope.is_empty() {
                PlanProblem::NeedsScopedIndex
            } else {
                PlanProblem::NeedsScan
            };
            (problem, index, instead)
        }
    };
    PlanError { table: request.table.id.clone(), problem, rejected, suggestion, instead }
}

/// The pending index, if the request could use it once it is complete. Then no new index is needed.
fn awaited(request: &CheckedRequest<'_>, rejected: &[RejectedPath]) -> Option<(ReadFrom, Box<Pending>)> {
    let (path, pending) = rejected.iter().find_map(|path| match &path.reason {
        RejectReason::Pending(pending) => Some((path, pending.clone())),
        _ => None,
    })?;
    let complete = choose::choose(&PlanContext::of(request, &Readiness::complete()));
    let read_from = ReadFrom::of(path.index.as_deref().and_then(|name| request.table.index(name)));
    complete.best.is_some().then_some((read_from, pending))
}

#[cfg(test)]
mod tests;
