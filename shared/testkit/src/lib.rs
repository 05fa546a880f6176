//! For tests only: what checks Keyfold's pure code without a DynamoDB, and what checks itself against one.
//!
//! - [`ModelTable`] is a DynamoDB table in memory, with local indexes and lagging global ones;
//! - [`generate`] makes models, items and requests from a seed;
//! - [`naive`] answers a request by looking at every item: the oracle of the planner;
//! - [`evaluate`] carries out a plan over the model table, page by page;
//! - [`run`](mod@run) carries out a plan as the products do, with core's own execution;
//! - [`two_worlds`] shows what a tenant can tell of another: nothing;
//! - [`write_worlds`] are two worlds and requests to write that must not tell them apart;
//! - [`operation`] are operations on a table and what comes of them, to compare a real endpoint with the model table;
//! - [`generated`] plays retrofits of generated tables, there and back, before a judge that knows only the plan;
//! - [`simulate`] plays histories of the retrofit, with everything that can go wrong;
//! - [`case`](mod@case) puts them together: one seed, one case, one verdict.
//!
//! No production crate depends on this one.

pub mod case;
pub mod evaluate;
pub mod generate;
pub mod generated;
pub mod naive;
pub mod operation;
pub mod run;
pub mod simulate;
pub mod table;
pub mod two_worlds;
pub mod write_worlds;

pub use table::{ModelTable, TableError};
