//! The verifier: a retrofit's two sides are compared item by item, one slice of one segment of one side for each
//! invocation.
//!
//! [`handle`] takes an event that names the side and the segment and, from the second slice on, the checkpoint of the
//! answer before. What differs is looked at again, strongly consistent, until it stands still; with `repair` it is made
//! what the source says. A failed read fails the slice: what was not read is not clean. Classes are decided by
//! `keyfold-core`; `keyfold-dynamo` reads; `keyfold-edge` opens the retrofit.

mod event;
mod handler;

pub use event::{Side, VerifyEvent};
pub use handler::handle;
