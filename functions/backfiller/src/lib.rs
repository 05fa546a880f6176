//! The backfiller: the items that a retrofit's source already holds are carried over, one slice of one segment for each
//! invocation.
//!
//! [`handle`] takes an event that names the segment and, from the second slice on, the checkpoint of the answer before.
//! It ends before the invocation does, and its checkpoint is never ahead of what was written. What is written, and on
//! what condition, is decided by `keyfold-core`; `keyfold-dynamo` sends it; `keyfold-edge` opens the retrofit.

mod event;
mod handler;

pub use event::BackfillEvent;
pub use handler::handle;
