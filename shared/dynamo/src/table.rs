//! Tables: created from the model, and compared with it.

mod add;
mod create;
mod describe;
mod diff;
mod plan;
mod schema;
mod stream;
mod tag;

pub use add::{
    AddIndexError, INDEX_ACTIVE_WAIT_MAX, IndexPhase, LiveIndex, LiveIndexes, WarmThroughput, add_indexes,
    live_indexes,
};
pub use create::{EnsureError, ensure_table};
pub use create::{TABLE_ACTIVE_WAIT_MAX, create_table, create_table_input};
pub use describe::{describe, table_id, table_names};
pub(crate) use describe::{description, expires};
pub use diff::{Difference, TableDiff};
pub use plan::{ApplyError, Mismatch, TablePlan, TableStep, plan_existing, plan_table, table_options};
pub use schema::KeyNames;
pub use schema::TableOptions;
pub use stream::enable_stream;
pub use stream::enable_ttl;
pub(crate) use tag::{set_tag, tag};
