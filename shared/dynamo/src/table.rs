//! Tables: made from the model, and compared with it.

mod create;
mod describe;
mod diff;
mod ensure;
mod options;
mod schema;
mod stream;

pub use create::{TABLE_ACTIVE_WAIT_MAX, create_table, create_table_input};
pub use describe::describe;
pub(crate) use describe::{description, expires};
pub use diff::{Difference, TableDiff};
pub use ensure::{EnsureError, ensure_table};
pub use options::TableOptions;
pub use schema::KeyNames;
pub use stream::enable_stream;
