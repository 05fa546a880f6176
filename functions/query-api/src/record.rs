//! The log line and the metrics of one request: names and numbers, never a value.

use std::time::Duration;

use keyfold_edge::metrics::{Metrics, milliseconds};
use keyfold_edge::{INDEX_PENDING, log_line};
use serde_json::json;

/// The metrics' namespace.
const NAMESPACE: &str = "Keyfold/QueryApi";

/// One request and its outcome.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    /// The request's id: the API's own if there is one, otherwise the invocation's.
    pub request_id: String,
    /// `query`, `explain`, `question`, `put`, `update`, `delete`, `openapi`, `health`; `none` for an unknown path.
    pub route: &'static str,
    /// The table's id in the manifest, once it is known to exist.
    pub table: Option<String>,
    /// The named question, once it is known to exist.
    pub question: Option<String>,
    /// The sources of the plan's reads: `table`, `index byDate`, without duplicates.
    pub sources: Vec<String>,
    /// The number of the plan's reads.
    pub reads: usize,
    /// The caller, from the authorizer.
    pub principal: Option<String>,
    /// The HTTP status.
    pub status: u16,
    /// The problem's code, or `ok`.
    pub code: &'static str,
    /// The read units that were consumed.
    pub consumed_read_units: f64,
    /// The units that a write consumed, with the read that it needed.
    pub consumed_write_units: f64,
    /// The items that DynamoDB read.
    pub items_read: u64,
    /// The items of the answer.
    pub items_returned: u64,
    /// The requests that DynamoDB got.
    pub requests: u64,
    /// The duration.
    pub duration: Duration,
}

impl Record {
    /// The outcome as one of a few words, for a metric's dimension.
    pub fn outcome(&self) -> &'static str {
        match self.status {
            0..=399 => "ok",
            _ if matches!(self.code, INDEX_PENDING | "table-pending") => "pending",
            422 => "refused",
            429 => "throttled",
            400..=499 => "client-error",
            _ => "server-error",
        }
    }
}

impl keyfold_edge::Record for Record {
    fn write(&self) {
        log_line!(
            self.status >= 500,
            request_id = self.request_id,
            route = self.route,
            principal = self.principal,
            table = self.table,
            question = self.question,
            sources = self.sources.join(", "),
            reads = self.reads,
            status = self.status,
            code = self.code,
            consumed_read_units = self.consumed_read_units,
            consumed_write_units = self.consumed_write_units,
            items_read = self.items_read,
            items_returned = self.items_returned,
            requests = self.requests,
            duration_ms = milliseconds(self.duration),
            "request"
        );
        #[expect(clippy::cast_precision_loss, reason = "counts of one request are small")]
        let (read, returned) = (self.items_read as f64, self.items_returned as f64);
        Metrics {
            namespace: NAMESPACE,
            // Only tables of the manifest: a caller must not be able to create dimensions.
            dimensions: &[("Table", self.table.as_deref().unwrap_or("none")), ("Outcome", self.outcome())],
            metrics: &[
                ("Latency", "Milliseconds", milliseconds(self.duration)),
                ("ConsumedReadUnits", "Count", self.consumed_read_units),
                ("ConsumedWriteUnits", "Count", self.consumed_write_units),
                ("ItemsRead", "Count", read),
                ("ItemsReturned", "Count", returned),
            ],
            properties: &[
                ("RequestId", json!(self.request_id)),
                ("Question", json!(self.question)),
                ("Code", json!(self.code)),
            ],
        }
        .write();
    }
}
