//! The record of one invocation for the log and the metrics: names and numbers, never a value.

use std::time::Duration;

use keyfold_edge::log::TARGET;
use keyfold_edge::metrics::{Metrics, milliseconds};
use keyfold_edge::{Problem, log_line};
use serde_json::Value;

/// The metrics' namespace.
const NAMESPACE: &str = "Keyfold/AuditWriter";

/// One invocation and its outcome.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    /// The request's id: the API's own if there is one, otherwise the invocation's.
    pub request_id: String,
    /// `http`, `sqs`, `direct`.
    pub source: &'static str,
    /// The sender, from the authorizer of an HTTP request.
    pub principal: Option<String>,
    /// The table's id in the manifest.
    pub table: String,
    /// The HTTP status, or its equivalent.
    pub status: u16,
    /// The code of the problem, or `ok`.
    pub code: &'static str,
    /// The audit events that were read.
    pub events: u64,
    /// Those that are new items.
    pub written: u64,
    /// Existing items.
    pub repeated: u64,
    /// Those that were not written.
    pub failed: u64,
    /// The consumed units.
    pub consumed_units: f64,
    /// The requests that DynamoDB got.
    pub requests: u64,
    /// The number of retried items, counted each time.
    pub resent: u64,
    /// The size of the largest item collection that was written to, in GB, as DynamoDB estimates it.
    pub collection_gb_max: f64,
    /// The number of item collections above the manifest's warning size.
    pub large_collections: u64,
    /// The duration.
    pub duration: Duration,
}

impl Record {
    pub(crate) fn refuse(&mut self, problem: &Problem) {
        self.status = problem.status;
        self.code = problem.code;
    }

    /// The outcome as one of a few words, for a metric's dimension.
    pub fn outcome(&self) -> &'static str {
        match self.status {
            0..=399 => "ok",
            409 => "conflict",
            429 => "throttled",
            400..=499 => "client-error",
            _ => "server-error",
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of one invocation are small")]
    fn metrics(&self) -> [(&'static str, &'static str, f64); 9] {
        [
            ("Latency", "Milliseconds", milliseconds(self.duration)),
            ("EventsWritten", "Count", self.written as f64),
            ("EventsRepeated", "Count", self.repeated as f64),
            ("EventsFailed", "Count", self.failed as f64),
            ("ConsumedUnits", "Count", self.consumed_units),
            ("Requests", "Count", self.requests as f64),
            ("ItemsResent", "Count", self.resent as f64),
            ("LargestItemCollection", "Gigabytes", self.collection_gb_max),
            ("LargeItemCollections", "Count", self.large_collections as f64),
        ]
    }
}

impl keyfold_edge::Record for Record {
    /// Also warns if an item collection is near its limit.
    fn write(&self) {
        log_line!(
            self.status >= 500,
            request_id = self.request_id,
            source = self.source,
            principal = self.principal,
            table = self.table,
            status = self.status,
            code = self.code,
            events = self.events,
            written = self.written,
            repeated = self.repeated,
            failed = self.failed,
            consumed_units = self.consumed_units,
            requests = self.requests,
            resent = self.resent,
            duration_ms = milliseconds(self.duration),
            "invocation"
        );
        if self.large_collections > 0 {
            tracing::warn!(
                target: TARGET,
                request_id = self.request_id,
                table = self.table,
                collections = self.large_collections,
                gb_max = self.collection_gb_max,
                "item collections are near their limit of 10 GB"
            );
        }
        let metrics = self.metrics();
        Metrics {
            namespace: NAMESPACE,
            dimensions: &[("Table", &self.table), ("Source", self.source), ("Outcome", self.outcome())],
            metrics: &metrics,
            properties: &[
                ("RequestId", Value::from(self.request_id.as_str())),
                ("Code", Value::from(self.code)),
            ],
        }
        .write();
    }
}
