//! The limits of a server.

/// The limits of a server. Units are DynamoDB's read units.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Maximum units of one call. A call can exceed it by one page.
    pub call_units_max: f64,
    /// Maximum units of one run of the server.
    pub session_units_max: f64,
    /// Maximum units of a day, in UTC, over all servers with the same state folder.
    pub day_units_max: f64,
    /// Maximum items in one answer.
    pub items_max: u32,
    /// Maximum bytes of one answer, as JSON.
    pub bytes_max: usize,
    /// May a request allow a scan?
    pub allow_scans: bool,
}

/// The default number of items in an answer, unless [`Limits::items_max`] is smaller.
pub(crate) const ITEMS_DEFAULT: u32 = 20;

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            call_units_max: 100.0,
            session_units_max: 2_000.0,
            day_units_max: 20_000.0,
            items_max: 100,
            bytes_max: 64 * 1024,
            allow_scans: false,
        }
    }
}
