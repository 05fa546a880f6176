//! The verifier: compares a retrofit's two sides item by item, one slice of one segment of one side in each invocation.
//!
//! [`handle`] takes an event that names the side and the segment and, from the second slice on, the checkpoint of the
//! previous answer. Differences are read again, strongly consistently, until they are stable; with `repair` the target
//! is corrected. A failed read fails the slice, because unread items are not known to be equal. `keyfold-core`
//! classifies the differences; `keyfold-dynamo` reads; `keyfold-edge` opens the retrofit.

mod event;
mod handler;

pub use event::{Side, VerifyEvent};
pub use handler::handle;
