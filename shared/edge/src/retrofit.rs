//! The common parts of a retrofit's functions: settings, opening the retrofit, the start and the answer of a slice,
//! failures.
//!
//! A function creates [`Retrofits`] once. For each event it opens the retrofit, which checks the control table and both
//! tables; nothing is written if a check fails. Errors are [`Failure`]s, with names that a state machine can match.

mod failure;
mod open;
mod operation;
mod record;
mod set_aside;
mod slice;

pub use failure::Failure;
pub use open::{RetrofitSettings, RetrofitStartError, Retrofits, serve};
pub use operation::{How, Operation, Word};
pub use record::SliceRecord;
pub use set_aside::{SetAsideError, set_aside_changes};
pub use slice::{ANSWER_MARGIN, PAGE_MARGIN, SliceEvent, WORKER_BYTES_MAX, answer};
