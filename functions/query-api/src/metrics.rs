//! CloudWatch's embedded metric format: one JSON line for each request on standard output, from which CloudWatch makes
//! metrics without a call.
//!
//! It is written by hand: four metrics with two dimensions need no recorder, no registry and no flush at the end of an
//! invocation, which is what the crates for it bring.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::Record;

/// The metrics' namespace.
pub const NAMESPACE: &str = "Keyfold/QueryApi";

/// Writes the metrics of one request.
pub fn write(record: &Record) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let line = line(record, now.as_millis());
    // Nobody is left to tell if standard output is gone.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// The table is one of the manifest's or `none`, so that no caller can make up dimensions.
fn line(record: &Record, timestamp_ms: u128) -> Value {
    json!({
        "_aws": {
            "Timestamp": u64::try_from(timestamp_ms).unwrap_or(u64::MAX),
            "CloudWatchMetrics": [{
                "Namespace": NAMESPACE,
                "Dimensions": [["Table", "Outcome"]],
                "Metrics": [
                    { "Name": "Latency", "Unit": "Milliseconds" },
                    { "Name": "ConsumedReadUnits", "Unit": "Count" },
                    { "Name": "ItemsRead", "Unit": "Count" },
                    { "Name": "ItemsReturned", "Unit": "Count" },
                ],
            }],
        },
        "Table": record.table.as_deref().unwrap_or("none"),
        "Outcome": record.outcome(),
        "Latency": record.duration_ms(),
        "ConsumedReadUnits": record.consumed_read_units,
        "ItemsRead": record.items_read,
        "ItemsReturned": record.items_returned,
        "RequestId": record.request_id,
        "Question": record.question,
        "Code": record.code,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_and_dimension_that_is_declared_has_a_value() {
        let line = line(&Record { status: 429, ..Record::default() }, 1);
        let declared = &line["_aws"]["CloudWatchMetrics"][0];
        for metric in declared["Metrics"].as_array().unwrap() {
            assert!(line[metric["Name"].as_str().unwrap()].is_number(), "{metric}");
        }
        for dimension in declared["Dimensions"][0].as_array().unwrap() {
            assert!(line[dimension.as_str().unwrap()].is_string(), "{dimension}");
        }
        assert_eq!(line["Outcome"], "throttled");
    }
}
