//! How much is taken, and how long it may take.

use std::time::Duration;

/// The most items that can be under way at once.
pub const CONCURRENCY_MAX: usize = 256;
/// How long before Lambda ends the invocation work stops, so that there is an answer that names what was not done.
pub const DEADLINE_MARGIN: Duration = Duration::from_millis(500);
/// The longest name of a record that is kept as it is.
pub(crate) const NAME_CHARS_MAX: usize = 100;
/// How often a process says how far behind it is. Each time costs a write unit of the control table.
pub(crate) const LAG_PERIOD: Duration = Duration::from_secs(5);
