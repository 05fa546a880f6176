//! What is told of one request afterwards, to the log and to the metrics: names and numbers, never a value.

use std::time::Duration;

/// One request and its outcome.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    /// The request's id: the API's own if it gave one, else the invocation's.
    pub request_id: String,
    /// `query`, `explain`, `question`, `openapi`, `health`; `none` where there was no such path.
    pub route: &'static str,
    /// The table's id in the manifest, once it is known to be there.
    pub table: Option<String>,
    /// The named question, once it is known to be there.
    pub question: Option<String>,
    /// Where the plan reads: `table`, `index byDate`, each once.
    pub sources: Vec<String>,
    /// How many reads the plan has.
    pub reads: usize,
    /// The HTTP status.
    pub status: u16,
    /// The problem's code, or `ok`.
    pub code: &'static str,
    /// The read units that were consumed.
    pub consumed_read_units: f64,
    /// The items that DynamoDB read.
    pub items_read: u64,
    /// The items of the answer.
    pub items_returned: u64,
    /// The requests that DynamoDB got.
    pub requests: u64,
    /// How long it took.
    pub duration: Duration,
}

impl Record {
    /// The outcome as one of few words, for a metric's dimension.
    pub fn outcome(&self) -> &'static str {
        match self.status {
            0..=399 => "ok",
            422 => "refused",
            429 => "throttled",
            400..=499 => "client-error",
            _ => "server-error",
        }
    }

    /// How long it took, in milliseconds.
    pub fn duration_ms(&self) -> f64 {
        self.duration.as_secs_f64() * 1000.0
    }
}
