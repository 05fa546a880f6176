//! From a checked request to a plan: what is read, from where, in which order, at what price.
//!
//! A request passes through these types, in this order:
//!
//! 1. `PlanContext` (`context`): the request, the access paths of its table, what is certain of each entity;
//! 2. `Conjunction` (`clauses`, `conjunction`, `by_entity`): what all clauses together say of each attribute;
//! 3. `AccessPath` (`path`, `keyspace`): the table or one index, with the key that the items of an entity have in it;
//! 4. `PathPlanner` (`planner`, `expansion`): the `PlannedRead`s by which one path answers one conjunction;
//! 5. `Candidate` (`candidate`, `join`, `delivery`, `estimate`): reads that answer everything, in order, with their price;
//! 6. `ChosenPlan` (`choose`): the cheapest of them. Every other path has a `RejectReason`.
//!
//! A plan never loses an item: an index is used only if every matching item is in it, what a key answers only in part is
//! checked again on the items, and "key conditions AND filter AND recheck" says the same as the request. The choice
//! among correct plans is by price, and always the same for the same request.

mod access;
mod by_entity;
mod candidate;
mod certainty;
mod choose;
mod clauses;
mod conjunction;
mod context;
mod delivery;
mod entity;
mod estimate;
mod expansion;
mod few;
mod join;
mod keyspace;
mod partition;
mod path;
mod planned_read;
mod planner;
mod reject;
mod suggest;

pub use access::{Access, Hydration, KeyEqual, Operation, ReadFrom, SortCondition, SortTest};
pub use delivery::Delivery;
pub use reject::{RejectReason, RejectedPath};

use smol_str::SmolStr;

use self::context::PlanContext;
use self::suggest::Suggestions;
use crate::model::OrderBy;
use crate::query::check::CheckedRequest;
use crate::query::readiness::{Pending, Readiness};

/// What will be done for a request.
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
    /// The most items of the answer.
    pub limit: u32,
    /// The attributes of the answer; all if absent.
    pub select: Option<Vec<String>>,
    /// Only the number of items.
    pub count: bool,
    /// Strongly consistent reads.
    pub consistent: bool,
    /// Could the one item that is read be outside the caller's scope? Then what it cost is shown as if there were none.
    pub hides_cost: bool,
    /// The read units that it will take, as a guess from what the manifest expects.
    pub estimated_units: f64,
    /// What else was considered, and why not.
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
pub enum PlanError {
    /// Only a scan could answer, and the request does not allow one.
    #[error("no index of table `{table}` answers this without a scan")]
    Unserved {
        /// The table.
        table: String,
        /// Why each table and index was rejected.
        rejected: Vec<RejectedPath>,
        /// An index that answers, as manifest text.
        suggestion: Option<String>,
        /// What else helps, each as the rest of a sentence.
        instead: Vec<String>,
    },
    /// The items can be found, but not in this order.
    #[error("no index of table `{table}` gives the requested order")]
    Unordered {
        /// The table.
        table: String,
        /// Why each table and index was rejected.
        rejected: Vec<RejectedPath>,
        /// An index that answers, as manifest text.
        suggestion: Option<String>,
        /// What else helps, each as the rest of a sentence.
        instead: Vec<String>,
    },
    /// No table or index keeps the items in the caller's scope apart from others.
    #[error("no index of table `{table}` answers this from the items in the caller's scope alone")]
    Unscoped {
        /// The table.
        table: String,
        /// Why each table and index was rejected.
        rejected: Vec<RejectedPath>,
        /// An index that answers, as manifest text.
        suggestion: Option<String>,
        /// What else helps, each as the rest of a sentence.
        instead: Vec<String>,
    },
    /// What answers it is still being filled, and hides the items that are not in it yet.
    #[error("{} {pending}", read_from.index().map_or_else(|| format!("table `{table}`"), |index| format!("index `{index}` of table `{table}`")))]
    Pending {
        /// The table.
        table: String,
        /// The table or index that is being filled.
        read_from: ReadFrom,
        /// How far that is.
        pending: Box<Pending>,
        /// Why each table and index was rejected.
        rejected: Vec<RejectedPath>,
    },
}

impl PlanError {
    /// The stable code, as docs/errors.md lists it.
    pub fn code(&self) -> &'static str {
        match self {
            PlanError::Unserved { .. } => "needs-scan",
            PlanError::Unordered { .. } => "needs-sort",
            PlanError::Unscoped { .. } => "needs-scoped-index",
            PlanError::Pending { .. } => "index-pending",
        }
    }

    /// What the asker can do.
    pub fn hint(&self) -> String {
        let allow = match self {
            PlanError::Unordered { .. } => Some("allow sorting with `sortInMemory`"),
            PlanError::Unserved { .. } | PlanError::Pending { .. } => Some("allow a scan with `scan`"),
            // A scan reads the items of everybody.
            PlanError::Unscoped { .. } => None,
        };
        let ways = self.ways(allow);
        if ways.is_empty() {
            "ask by equality for each attribute of a partition key that has the scope".to_owned()
        } else {
            ways
        }
    }

    /// What the asker can do where scans are not to be had. Empty if there is nothing.
    pub fn hint_without_scan(&self) -> String {
        match self {
            PlanError::Unordered { .. } => self.hint(),
            PlanError::Unserved { .. } | PlanError::Unscoped { .. } | PlanError::Pending { .. } => {
                self.ways(None)
            }
        }
    }

    fn ways(&self, allow: Option<&str>) -> String {
        let cut_over;
        let (suggestion, instead) = match self {
            PlanError::Unserved { suggestion, instead, .. }
            | PlanError::Unordered { suggestion, instead, .. }
            | PlanError::Unscoped { suggestion, instead, .. } => (suggestion.as_ref(), instead.as_slice()),
            PlanError::Pending { pending, .. } => {
                cut_over = [match &**pending {
                    Pending::Retrofit { retrofit, .. } => {
                        format!("ask again when retrofit `{retrofit}` is cut over")
                    }
                    Pending::Missing => "ask again when the index is active".to_owned(),
                }];
                (None, cut_over.as_slice())
            }
        };
        let add = suggestion.map(|_| "add an index that answers it");
        let ways: Vec<&str> =
            add.into_iter().chain(instead.iter().map(String::as_str)).chain(allow).collect();
        let ways = ways.join(", or ");
        match suggestion {
            Some(index) => format!("{ways}:\n\n{index}"),
            None => ways,
        }
    }

    /// Why each table and index was rejected.
    pub fn rejected(&self) -> &[RejectedPath] {
        let (PlanError::Unserved { rejected, .. }
        | PlanError::Unordered { rejected, .. }
        | PlanError::Unscoped { rejected, .. }
        | PlanError::Pending { rejected, .. }) = self;
        rejected
    }

    /// An index that answers, as manifest text.
    pub fn suggestion(&self) -> Option<&str> {
        match self {
            PlanError::Unserved { suggestion, .. }
            | PlanError::Unordered { suggestion, .. }
            | PlanError::Unscoped { suggestion, .. } => suggestion.as_deref(),
            PlanError::Pending { .. } => None,
        }
    }
}

/// Plans a request. `readiness`: which indexes a retrofit still fills; none of them is read.
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
    let table = request.table.id.clone();
    if let Some((read_from, pending)) = awaited(request, &rejected) {
        return PlanError::Pending { table, read_from, pending, rejected };
    }
    let Suggestions { index: suggestion, instead } = suggest::suggest(request);
    if rejected.iter().any(|rejected| rejected.reason == RejectReason::Order) {
        PlanError::Unordered { table, rejected, suggestion, instead }
    } else if !request.scope.is_empty() {
        PlanError::Unscoped { table, rejected, suggestion, instead }
    } else {
        PlanError::Unserved { table, rejected, suggestion, instead }
    }
}

/// What is pending, if the request would be answered once nothing is: then a new index is no remedy, but time is.
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
