//! From a checked request to a plan: what is read, from where, in which order, at what price.
//!
//! A plan never loses an item: an index is used only if every matching item is in it, what a key answers only in part is
//! checked again on the items, and "key conditions AND filter AND recheck" says the same as the request. The choice
//! among correct plans is by price, and always the same for the same request.

mod access;
mod build;
mod choose;
mod delivery;
mod estimate;
mod facts;
mod ground;
mod keyspace;
mod merge;
mod partition;
mod reject;
mod scope;
mod suggest;

pub use access::{Access, Hydration, KeyEqual, Operation, SortCondition, SortTest, Source};
pub use delivery::Delivery;
pub use reject::{Reason, Rejected};

use crate::model::OrderBy;
use crate::query::check::CheckedRequest;

/// What will be done for a request.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPlan {
    /// The table's id in the manifest.
    pub table: String,
    /// The table's name in DynamoDB.
    pub table_name: String,
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
    /// The read units that it will take, as a guess from what the manifest expects.
    pub estimated_units: f64,
    /// What else was considered, and why not.
    pub rejected: Vec<Rejected>,
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
        /// Why each place was turned down.
        rejected: Vec<Rejected>,
        /// An index that would answer, as manifest text.
        suggestion: Option<String>,
    },
    /// The items can be found, but not in this order.
    #[error("no index of table `{table}` gives the order asked for")]
    Unordered {
        /// The table.
        table: String,
        /// Why each place was turned down.
        rejected: Vec<Rejected>,
        /// An index that would answer, as manifest text.
        suggestion: Option<String>,
    },
}

impl PlanError {
    /// The stable code, as docs/errors.md lists it.
    pub fn code(&self) -> &'static str {
        match self {
            PlanError::Unserved { .. } => "needs-scan",
            PlanError::Unordered { .. } => "needs-sort",
        }
    }

    /// What the asker can do.
    pub fn hint(&self) -> String {
        let (PlanError::Unserved { suggestion, .. } | PlanError::Unordered { suggestion, .. }) = self;
        let instead = match self {
            PlanError::Unserved { .. } => "allow a scan with `scan`",
            PlanError::Unordered { .. } => "allow sorting with `sortInMemory`",
        };
        match suggestion {
            Some(index) => format!("add an index that answers it, or {instead}:\n\n{index}"),
            None => instead.to_owned(),
        }
    }

    /// Why each place was turned down.
    pub fn rejected(&self) -> &[Rejected] {
        let (PlanError::Unserved { rejected, .. } | PlanError::Unordered { rejected, .. }) = self;
        rejected
    }
}

/// Plans a request.
pub fn plan(request: &CheckedRequest<'_>) -> Result<QueryPlan, PlanError> {
    let outcome = choose::choose(request);
    let Some(best) = outcome.best else { return Err(refusal(request, outcome.rejected)) };
    Ok(QueryPlan {
        table: request.table.id.clone(),
        table_name: request.table.name.clone(),
        accesses: best.accesses,
        delivery: best.delivery,
        order: request.order.clone(),
        limit: request.limit,
        select: request.select.clone(),
        count: request.count,
        consistent: request.consistent,
        estimated_units: best.units,
        rejected: outcome.rejected,
    })
}

fn refusal(request: &CheckedRequest<'_>, rejected: Vec<Rejected>) -> PlanError {
    let (table, suggestion) = (request.table.id.clone(), suggest::suggest(request));
    if rejected.iter().any(|rejected| rejected.reason == Reason::Order) {
        PlanError::Unordered { table, rejected, suggestion }
    } else {
        PlanError::Unserved { table, rejected, suggestion }
    }
}

#[cfg(test)]
mod tests;
