//! CloudWatch's embedded metric format: one JSON line on standard output, from which CloudWatch derives metrics without
//! an API call.
//!
//! It is written by hand, because a few metrics with fixed dimensions need no recorder, no registry and no flush.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::Environment;

/// The stack of this process; unset outside a stack. It is the first dimension of all metrics: two stacks do not share a graph.
const STACK: &str = "KEYFOLD_STACK";

/// One line of metrics.
#[derive(Debug, Clone)]
pub struct Metrics<'a> {
    /// Their namespace.
    pub namespace: &'a str,
    /// Dimensions: names and values. Values must come from a small fixed set.
    pub dimensions: &'a [(&'a str, &'a str)],
    /// Names, units and values.
    pub metrics: &'a [(&'a str, &'a str, f64)],
    /// Members of the line that are not metrics.
    pub properties: &'a [(&'a str, Value)],
}

/// A duration in milliseconds, as metrics and log lines show it.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

impl Metrics<'_> {
    /// Writes the line.
    pub fn write(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        // If standard output is closed, the error cannot be reported.
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        let stack = Environment::of_process().get(STACK);
        let _ = writeln!(std::io::stdout().lock(), "{}", self.line(now, stack.as_deref()));
    }

    fn line(&self, timestamp_ms: u64, stack: Option<&str>) -> Value {
        let dimensions = stack.map(|stack| ("Stack", stack));
        let dimensions: Vec<_> = dimensions.into_iter().chain(self.dimensions.iter().copied()).collect();
        let names: Vec<_> = dimensions.iter().map(|(name, _)| *name).collect();
        let declared = |(name, unit, _): &(&str, &str, f64)| json!({ "Name": name, "Unit": unit });
        let declared: Vec<_> = self.metrics.iter().map(declared).collect();
        let directive = json!({ "Namespace": self.namespace, "Dimensions": [names], "Metrics": declared });
        let mut line = Map::new();
        line.insert(
            "_aws".to_owned(),
            json!({ "Timestamp": timestamp_ms, "CloudWatchMetrics": [directive] }),
        );
        let dimensions = dimensions.iter().map(|(name, value)| (*name, Value::from(*value)));
        let metrics = self.metrics.iter().map(|(name, _, value)| (*name, Value::from(*value)));
        let properties = self.properties.iter().map(|(name, value)| (*name, value.clone()));
        let all = dimensions.chain(metrics).chain(properties);
        line.extend(all.map(|(name, value)| (name.to_owned(), value)));
        Value::Object(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_and_dimension_that_is_declared_has_a_value() {
        let line = Metrics {
            namespace: "Keyfold/Test",
            dimensions: &[("Table", "audit")],
            metrics: &[("Latency", "Milliseconds", 1.5), ("Events", "Count", 2.0)],
            properties: &[("RequestId", Value::from("x"))],
        }
        .line(7, Some("dev"));
        let declared = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(declared["Metrics"].as_array().unwrap().len(), 2);
        for metric in declared["Metrics"].as_array().unwrap() {
            assert!(line[metric["Name"].as_str().unwrap()].is_number(), "{metric}");
        }
        for dimension in declared["Dimensions"][0].as_array().unwrap() {
            assert!(line[dimension.as_str().unwrap()].is_string(), "{dimension}");
        }
        assert_eq!((&line["_aws"]["Timestamp"], &line["RequestId"]), (&json!(7), &json!("x")));
        assert_eq!((&declared["Dimensions"][0][0], &line["Stack"]), (&json!("Stack"), &json!("dev")));
    }
}
