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
mod lane_reader;
mod merged;
mod options;
mod own;
mod position;
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
use lane_reader::LaneReader;

pub use answer::Answer;
pub use budget::REQUESTS_MAX;
pub use error::QueryError;
pub use options::{CONCURRENCY_DEFAULT, RunOptions};
pub use position::Position;
pub use reader::READ_ATTEMPTS_MAX;

#[cfg(test)]
pub(crate) use position::position_of;

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
    let lane_reader = LaneReader::new(client, table, plan, &start.lanes, options)?;
    let run = Run { table, plan, lane_reader, start };
    match plan.delivery {
        _ if plan.count => counted::run(run).await,
        Delivery::Sequential => sequential::run(run).await,
        Delivery::Merged => merged::run(run).await,
        Delivery::SortedInMemory { items_max } => sorted::run(run, items_max).await,
    }
}
