//! Carries a retrofit's tasks out. Nothing is decided here: `keyfold_core::retrofit` says what to send, and this module
//! sends it, reports the outcome, and repeats what can succeed.
//!
//! Start with [`RequestSender`]; then [`backfill_slice`], [`replicate`], [`verify_slice`], [`finalise_slice`] and [`RetrofitState`]'s row
//! by [`RequestSender::head`].

mod backfill;
mod clock;
mod concurrent;
mod control;
mod estimate;
mod finalise;
mod inserts;
mod late;
mod lookup;
mod metering;
mod operator;
mod options;
mod pace;
mod pass;
mod preflight;
mod readiness;
mod replicate;
mod reverse;
mod sender;
mod status;
mod stop;
mod survey;
mod switch;
mod transact;
mod verify;
mod worker_lease;

pub use backfill::{SliceEnd, Watch, backfill_slice};
pub use finalise::finalise_slice;
pub use keyfold_core::retrofit::control::RetrofitState;
pub use late::examine_late;
pub use operator::{Operator, limits};
pub use options::{
    IN_FLIGHT_DEFAULT, LAG_SECONDS_DEFAULT, PAGE_ITEMS_DEFAULT, SliceOptions, lag_seconds, rate,
};
pub use pass::{PassEnd, PassOptions, PassWatch};
pub use readiness::{KnownReadiness, READINESS_TIME};
pub use replicate::{ReplicateOptions, Replicated, replicate};
pub use sender::{ConsumedTotals, RequestSender, RetrofitError};
pub use status::{CONTROL_TABLE_DEFAULT, Status};
pub use verify::{RetrofitDifference, VerifySlice, verify_slice};
pub use worker_lease::LEASE_TIME;
