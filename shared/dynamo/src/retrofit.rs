//! Carries a retrofit's tasks out. Nothing is decided here: `keyfold_core::retrofit` says what to send, and this module
//! sends it, tells what came of it, and sends again what can pass.
//!
//! Start with [`Carrier`]; then [`backfill_slice`], [`replicate`], [`verify_slice`], [`finalise_slice`] and [`Head`]'s row
//! by [`Carrier::head`].

mod backfill;
mod carrier;
mod control;
mod estimate;
mod finalise;
mod hold;
mod inserts;
mod lookup;
mod many;
mod options;
mod pace;
mod preflight;
mod readiness;
mod replicate;
mod statement;
mod status;
mod transact;
mod verify;
mod write;

pub use backfill::{SliceEnd, Watch, backfill_slice};
pub use carrier::{Carrier, RetrofitError, Spent};
pub use finalise::finalise_slice;
pub use hold::LEASE_TIME;
pub use keyfold_core::retrofit::control::Head;
pub use many::STATEMENTS_MAX;
pub use options::{IN_FLIGHT_DEFAULT, PAGE_ITEMS_DEFAULT, SliceOptions};
pub use readiness::{KnownReadiness, READINESS_TIME};
pub use replicate::{ReplicateOptions, Replicated, replicate};
pub use status::{CONTROL_TABLE_DEFAULT, Status};
pub use verify::{Difference as RetrofitDifference, VerifySlice, verify_slice};
