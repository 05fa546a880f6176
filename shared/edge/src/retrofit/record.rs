//! The record of one slice for the log and the metrics: names and numbers, never a value.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use keyfold_core::retrofit::Checkpoint;
use keyfold_dynamo::retrofit::RequestSender;
use serde_json::Value;

use super::Failure;
use crate::metrics::{Metrics, milliseconds};
use crate::{Handled, Record, log_line};

/// The retrofit's name if the manifest lacks it: the values of a dimension must come from a small fixed set.
const UNKNOWN: &str = "unknown";

/// One invocation and its outcome.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SliceRecord {
    /// The metrics' namespace.
    pub namespace: &'static str,
    /// The invocation's id.
    pub request_id: String,
    /// The retrofit, if it is in the manifest.
    pub retrofit: Option<String>,
    /// The kind of scan.
    pub pass: &'static str,
    /// The segment, as `0/8`.
    pub segment: String,
    /// The code of the failure or the delay, or `ok`.
    pub code: &'static str,
    /// Did the invocation fail?
    pub failed: bool,
    /// Is the segment complete?
    pub done: bool,
    /// The number of this invocation's items by outcome.
    pub counts: BTreeMap<String, u64>,
    /// Read units.
    pub read_units: f64,
    /// Write units of items.
    pub write_units: f64,
    /// Write units of the control table.
    pub control_units: f64,
    /// Retried requests.
    pub resent: u64,
    /// Requests that were throttled.
    pub throttles: u64,
    /// Capacity units in a second, at the end.
    pub rate: f64,
    /// The duration.
    pub duration: Duration,
}

impl SliceRecord {
    /// The record of a new invocation.
    pub fn started(namespace: &'static str, request_id: &str) -> SliceRecord {
        SliceRecord { namespace, request_id: request_id.to_owned(), code: "ok", ..SliceRecord::default() }
    }

    /// Records the progress of a slice between two checkpoints.
    pub fn slice(&mut self, sender: &RequestSender, from: &Checkpoint, to: &Checkpoint) {
        let spent = sender.spent();
        self.done = to.is_done();
        let new = |(name, count): (&String, &u64)| (name.clone(), count.saturating_sub(from.count(name)));
        self.counts = to.counts().iter().map(new).filter(|(_, count)| *count > 0).collect();
        (self.read_units, self.write_units) = (spent.read.units, spent.write.units);
        (self.control_units, self.resent) = (spent.control.units, spent.resent);
        (self.throttles, self.rate) = (spent.throttles, sender.units_per_second().unwrap_or_default());
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of one invocation are small")]
    fn metrics(&self) -> [(&'static str, &'static str, f64); 9] {
        let count = |name: &str| self.counts.get(name).copied().unwrap_or(0) as f64;
        let differing: u64 = ["missing", "extra", "different", "collision"]
            .iter()
            .filter_map(|name| self.counts.get(*name))
            .sum();
        [
            ("Latency", "Milliseconds", milliseconds(self.duration)),
            ("Items", "Count", count("items")),
            ("ItemsWritten", "Count", count("written") + count("repaired")),
            ("ItemsQuarantined", "Count", count("quarantined")),
            ("ItemsDiffering", "Count", differing as f64),
            ("ReadUnits", "Count", self.read_units),
            ("WriteUnits", "Count", self.write_units),
            ("Throttles", "Count", self.throttles as f64),
            ("UnitsPerSecond", "Count/Second", self.rate),
        ]
    }
}

impl Record for SliceRecord {
    fn write(&self) {
        log_line!(
            self.failed,
            request_id = self.request_id,
            retrofit = self.retrofit.as_deref().unwrap_or(UNKNOWN),
            pass = self.pass,
            segment = self.segment,
            code = self.code,
            done = self.done,
            items = self.counts.get("items").copied().unwrap_or(0),
            written = self.counts.get("written").copied().unwrap_or(0),
            read_units = self.read_units,
            write_units = self.write_units,
            control_units = self.control_units,
            resent = self.resent,
            throttles = self.throttles,
            units_per_second = self.rate,
            duration_ms = milliseconds(self.duration),
            "slice"
        );
        let retrofit = self.retrofit.as_deref().unwrap_or(UNKNOWN);
        let outcome = if self.failed { "failed" } else { "ok" };
        Metrics {
            namespace: self.namespace,
            dimensions: &[("Retrofit", retrofit), ("Outcome", outcome)],
            metrics: &self.metrics(),
            properties: &[
                ("RequestId", Value::from(self.request_id.as_str())),
                ("Code", Value::from(self.code)),
                ("Segment", Value::from(self.segment.as_str())),
            ],
        }
        .write();
    }
}

impl Handled<SliceRecord> {
    /// Runs a function for an invocation, and records its outcome.
    pub async fn by(
        namespace: &'static str,
        request_id: &str,
        respond: impl AsyncFnOnce(&mut SliceRecord) -> Result<Value, Failure>,
    ) -> Handled<SliceRecord> {
        let started = Instant::now();
        let mut record = SliceRecord::started(namespace, request_id);
        let answer = respond(&mut record).await;
        if let Err(failure) = &answer {
            (record.code, record.failed) = (failure.code, true);
        }
        record.duration = started.elapsed();
        Handled { answer: answer.map_err(Failure::into), record }
    }
}
