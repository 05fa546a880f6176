//! For tests only: checks of Keyfold's pure code without a DynamoDB, and of these models against one.
//!
//! - [`ModelTable`] is a DynamoDB table in memory, with local indexes and lagging global ones;
//! - [`generate`] makes models, items and requests from a seed;
//! - [`naive`] answers a request by checking every item: the oracle of the planner;
//! - [`run`](mod@run) executes a plan as the products do, with core's own execution;
//! - [`two_worlds`] checks that a tenant learns nothing about another one;
//! - [`write_worlds`] checks the same for writes;
//! - [`operation`] has operations on a table and their results, to compare a real endpoint with the model table;
//! - [`generated`] plays retrofits of generated tables, in both directions, before a judge that knows only the plan;
//! - [`simulate`] plays histories of the retrofit, with all faults;
//! - [`case`](mod@case) combines them: one seed, one case, one verdict.
//!
//! No production crate depends on this one.

pub mod case;
pub mod designs;
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
