//! The audit trail, proved: reads journal and table, and says what was changed, removed, inserted or back-dated.
//!
//! What a digest, a chain and a finding are is said by `keyfold_core::audit`; `keyfold-dynamo` reads. Here is the way of the data:
//! the journal is read by days, the table by a scan, and both are laid on disk by the events' ids. Then one part of the ids after
//! the other is judged, so that memory does not grow with the trail. Start with [`verify`] and [`anchor`].

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

/// The time now, as journals and anchors write it.
pub fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let milliseconds = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    // Always so many digits: names of files and texts are in the order of their times.
    format!("{:.3}", jiff::Timestamp::from_millisecond(milliseconds).unwrap_or(jiff::Timestamp::MAX))
}
