//! What the functions of a retrofit share: their settings, how a retrofit is opened, how a slice begins and is answered,
//! and how it fails.
//!
//! A function starts [`Retrofits`] once. For each event it opens the retrofit, which checks the control table and both
//! tables; nothing is written if anything is not as it should be. Errors are [`Failure`]s, with names that a state machine
//! can match.

mod failure;
mod open;
mod record;
mod slice;

pub use failure::Failure;
pub use open::{RetrofitSettings, RetrofitStartError, Retrofits, serve};
pub use record::SliceRecord;
pub use slice::{ANSWER_MARGIN, PAGE_MARGIN, SliceEvent, WORKER_BYTES_MAX, answer};
