//! The record of one batch for the log and the metrics: names and numbers, never a value.

use std::collections::BTreeMap;
use std::time::Duration;

use keyfold_core::retrofit::TaskResult;
use keyfold_dynamo::retrofit::{ConsumedTotals, Replicated};
use keyfold_edge::log::TARGET;
use keyfold_edge::metrics::{Metrics, milliseconds};
use keyfold_edge::{Record, log_line};
use serde_json::Value;

use crate::Refusal;

/// The metrics' namespace.
const NAMESPACE: &str = "Keyfold/Replicator";

/// One batch and its outcome.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// The invocation's id.
    pub request_id: String,
    /// The retrofit's name.
    pub retrofit: String,
    /// The code of the first error, or `ok`.
    pub code: &'static str,
    /// The batch as a whole was refused.
    pub refused: bool,
    /// The records that came.
    pub records: u64,
    /// Records that caused a write.
    pub written: u64,
    /// Records that are superseded, or of items that the retrofit does not take.
    pub unchanged: u64,
    /// Records overtaken by newer ones.
    pub superseded: u64,
    /// Records covered by a later record of the same item.
    pub covered: u64,
    /// Quarantined records.
    pub quarantined: u64,
    /// The reasons, with counts.
    pub reasons: BTreeMap<String, u64>,
    /// Records of a closed table, written too late.
    pub late: u64,
    /// Records to redeliver.
    pub failed: u64,
    /// Deletes of expired items.
    pub expired: u64,
    /// How long ago the last record's change happened.
    pub age: Option<Duration>,
    /// Write units of items.
    pub write_units: f64,
    /// Write units of the control table.
    pub control_units: f64,
    /// Retried requests.
    pub resent: u64,
    /// The duration.
    pub duration: Duration,
}

impl Report {
    pub(crate) fn refuse(&mut self, refusal: &Refusal) {
        self.code = refusal.code();
        self.refused = true;
        self.failed = self.records;
    }

    pub(crate) fn count(&mut self, done: &Replicated) {
        self.covered = done.covered as u64;
        self.failed = done.failed.len() as u64;
        for verdict in &done.settled {
            match verdict {
                TaskResult::Written => self.written += 1,
                TaskResult::Superseded => self.superseded += 1,
                TaskResult::Quarantined(reason) => {
                    self.quarantined += 1;
                    *self.reasons.entry(reason.clone()).or_default() += 1;
                }
                _ => self.unchanged += 1,
            }
        }
    }

    pub(crate) fn spend(&mut self, before: &ConsumedTotals, after: &ConsumedTotals) {
        self.write_units = after.write.units - before.write.units;
        self.control_units = after.control.units - before.control.units;
        self.resent = after.resent - before.resent;
    }

    /// The outcome as one of a few words, for a metric's dimension.
    pub fn outcome(&self) -> &'static str {
        match (self.refused, self.failed) {
            (true, _) => "refused",
            (false, 0) => "ok",
            (false, _) => "partly",
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of one batch are small")]
    fn metrics(&self) -> Vec<(&'static str, &'static str, f64)> {
        let mut metrics = vec![
            ("Latency", "Milliseconds", milliseconds(self.duration)),
            ("Records", "Count", self.records as f64),
            ("Written", "Count", self.written as f64),
            ("Unchanged", "Count", self.unchanged as f64),
            ("Superseded", "Count", self.superseded as f64),
            ("Covered", "Count", self.covered as f64),
            ("Quarantined", "Count", self.quarantined as f64),
            ("Late", "Count", self.late as f64),
            ("Failed", "Count", self.failed as f64),
            ("Expired", "Count", self.expired as f64),
            ("WriteUnits", "Count", self.write_units),
            ("ControlWriteUnits", "Count", self.control_units),
            ("Resent", "Count", self.resent as f64),
        ];
        metrics.extend(self.age.map(|age| ("IteratorAge", "Milliseconds", milliseconds(age))));
        metrics
    }
}

impl Record for Report {
    /// Also warns if records went into quarantine.
    fn write(&self) {
        log_line!(
            self.code != "ok",
            request_id = self.request_id,
            retrofit = self.retrofit,
            code = self.code,
            records = self.records,
            written = self.written,
            unchanged = self.unchanged,
            superseded = self.superseded,
            covered = self.covered,
            quarantined = self.quarantined,
            late = self.late,
            failed = self.failed,
            expired = self.expired,
            age_ms = self.age.map(milliseconds),
            write_units = self.write_units,
            control_units = self.control_units,
            resent = self.resent,
            duration_ms = milliseconds(self.duration),
            "batch"
        );
        for (reason, count) in &self.reasons {
            tracing::warn!(
                target: TARGET,
                request_id = self.request_id,
                retrofit = self.retrofit,
                reason,
                count,
                "records went into quarantine"
            );
        }
        let metrics = self.metrics();
        Metrics {
            namespace: NAMESPACE,
            dimensions: &[("Retrofit", &self.retrofit), ("Outcome", self.outcome())],
            metrics: &metrics,
            properties: &[
                ("RequestId", Value::from(self.request_id.as_str())),
                ("Code", Value::from(self.code)),
            ],
        }
        .write();
    }
}
