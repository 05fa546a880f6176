//! Carries out a query plan: reads, merges, re-checks, fills in, counts, and says where the next page begins.
//!
//! Nothing is decided here that the plan could decide. Start with [`run()`]. Every access of the plan is a lane: what
//! it has read and not yet given out, and how far it has come. How the lanes become one answer is the delivery:
//! `sequential`, `merged`, `sorted`, or `counted`. The future reads nothing by itself: dropped, it stops.

mod answer;
mod budget;
mod counted;
mod error;
mod hydrate;
mod key_value;
mod lane;
mod merged;
mod own;
mod position;
mod pump;
mod reader;
mod seen;
mod sequential;
mod shape;
mod sorted;

use aws_sdk_dynamodb::Client;
use keyfold_core::model::Table;
use keyfold_core::query::QueryPlan;
use keyfold_core::query::plan::Delivery;

use answer::Run;
use pump::Pump;

pub use answer::Answer;
pub use budget::REQUESTS_MAX;
pub use error::QueryError;
pub use position::Position;
pub use reader::READ_ATTEMPTS_MAX;

#[cfg(test)]
pub(crate) use position::position_of;

/// How many reads a query has under way at once, if the caller does not say.
pub const CONCURRENCY_DEFAULT: usize = 8;

/// The bounds of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// The most reads under way at once; at least one.
    pub concurrency_max: usize,
    /// The most read units that this run may consume. What a read will cost is estimated from the items before it, so
    /// the last read can go over it by as much as its items are larger.
    pub read_units_max: Option<f64>,
    /// The most items that one call reads; at most [`PAGE_ITEMS_MAX`](crate::PAGE_ITEMS_MAX).
    pub page_items_max: u32,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            concurrency_max: CONCURRENCY_DEFAULT,
            read_units_max: None,
            page_items_max: crate::PAGE_ITEMS_MAX,
        }
    }
}

/// Answers a plan: the first page, or the one that begins at `from`. The pages, one after the other, are the whole
/// answer: nothing twice, nothing lost.
///
/// `plan` is a plan for `table`, and `from` comes from an answer to the same plan.
pub async fn run(
    client: &Client,
    table: &Table,
    plan: &QueryPlan,
    from: Option<&Position>,
    options: &RunOptions,
) -> Result<Answer, QueryError> {
    let is_sorted = matches!(plan.delivery, Delivery::SortedInMemory { .. }) && !plan.count;
    let start = position::start(plan, from, is_sorted)?;
    let pump = Pump::new(client, table, plan, &start.lanes, options)?;
    let run = Run { table, plan, pump, start };
    match plan.delivery {
        _ if plan.count => counted::run(run).await,
        Delivery::Sequential => sequential::run(run).await,
        Delivery::Merged => merged::run(run).await,
        Delivery::SortedInMemory { items_max } => sorted::run(run, items_max).await,
    }
}
