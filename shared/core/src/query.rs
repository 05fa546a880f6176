//! Queries: a request becomes a plan, and a plan is data.
//!
//! The path of a request: [`request`] (literal, as sent) -> [`check`](mod@check) (against the model) ->
//! [`plan`](mod@plan) (candidates, prices, the choice) -> [`explain`] (for people) and [`expression`] (for DynamoDB).
//! Nothing here sends anything.

pub mod advise;
pub mod check;
pub mod explain;
pub mod expression;
pub mod limits;
pub mod order;
pub mod own;
pub mod plan;
pub mod question;
pub mod readiness;
pub mod request;

pub use crate::condition::{Comparison, Condition, Path};
pub use check::{CheckedRequest, RequestError, check};
pub use plan::{PlanError, QueryPlan, plan};
pub use readiness::Readiness;
pub use request::QueryRequest;
