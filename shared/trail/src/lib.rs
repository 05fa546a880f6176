//! Verification of the audit trail: reads journal and table, and reports changed, removed, inserted and back-dated
//! events.
//!
//! `keyfold_core::audit` defines digests, chains and findings; `keyfold-dynamo` reads. This crate moves the data: the
//! journal is read by day, the table by a scan, and both are written to disk by event id. Then one range of ids after
//! another is judged, so that memory does not grow with the trail. Start with [`verify`] and [`anchor`].

mod anchors;
mod error;
mod journal;
mod pace;
mod sort;
mod table;
mod verify;

pub use anchors::{AnchorFolder, anchor, last_whole_day, read_anchors, write_anchor};
pub use error::TrailError;
pub use table::{Carried, CarriedError, Trail};
pub use verify::{FINDINGS_SHOWN_MAX, Report, VerifyOptions, verify};

/// The current time, in the form of journals and anchors.
pub fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let milliseconds = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    // A fixed number of digits: file names and texts sort by time.
    format!("{:.3}", jiff::Timestamp::from_millisecond(milliseconds).unwrap_or(jiff::Timestamp::MAX))
}
