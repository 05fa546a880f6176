//! The operator: drives a retrofit's operation (`keyfold_core::retrofit::operate`) until it is over, or until the invocation's time is
//! nearly up.
//!
//! [`handle`] takes an event that names the retrofit, the command and its options. The answer says whether the operation is over, and how
//! it ended. Nothing is carried from one invocation to the next: everything needed is in the retrofit's row, so the same event goes on,
//! also after an invocation that was killed.

mod event;
mod handler;

pub use event::OperatorEvent;
pub use handler::handle;
