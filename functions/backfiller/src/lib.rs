//! The backfiller: copies the existing items of a retrofit's source, one slice of one segment in each invocation.
//!
//! [`handle`] takes an event that names the segment and, from the second slice on, the checkpoint of the previous
//! answer. It ends before Lambda's timeout, and its checkpoint is never ahead of the writes. `keyfold-core` decides the
//! writes and their conditions; `keyfold-dynamo` sends them; `keyfold-edge` opens the retrofit.

mod event;
mod handler;

pub use event::BackfillEvent;
pub use handler::handle;
