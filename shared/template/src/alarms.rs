//! Alarms. docs/operations.md says what each means.

use super::document::{Document, scalar};
use super::names::TableName;

const ALARM: &str = include_str!("parts/alarm.yaml");
const METRIC_FILTER: &str = include_str!("parts/metric-filter.yaml");
/// The most metrics in one alarm.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Create-alarm-on-metric-math-expression.html>
const METRICS_MAX: usize = 10;

/// An alarm, as it differs from the others.
pub(super) struct Alarm {
    pub(super) id: String,
    pub(super) description: String,
    pub(super) metric: String,
    pub(super) threshold: u64,
    /// Sends no message?
    pub(super) silent: bool,
}

/// Adds the alarm, and returns its logical id.
pub(super) fn add(document: &mut Document, alarm: &Alarm) -> String {
    let actions = if alarm.silent { "" } else { "AlarmActions: [!Ref AlarmTopic]" };
    document.part(
        ALARM,
        &[
            ("Alarm", &alarm.id),
            ("description", &alarm.description),
            ("metric", &alarm.metric),
            ("threshold", &alarm.threshold.to_string()),
            ("actions", actions),
        ],
    );
    format!("{}Alarm", alarm.id)
}

/// One metric of AWS or of ours. The dimensions are YAML.
pub(super) fn metric(
    namespace: &str,
    name: &str,
    dimensions: &str,
    statistic: &str,
    period: u32,
    periods: u32,
) -> String {
    format!(
        "Namespace: {namespace}\nMetricName: {name}\n{dimensions}Statistic: {statistic}\nPeriod: {period}\nEvaluationPeriods: {periods}\n"
    )
}

pub(super) fn of_function(name: &str, statistic: &str, period: u32, periods: u32, function: &str) -> String {
    let dimensions = format!("Dimensions: [{{ Name: FunctionName, Value: !Ref {function}Function }}]\n");
    metric("AWS/Lambda", name, &dimensions, statistic, period, periods)
}

/// A metric that a function writes to its log, as an alarm without dimensions can read it.
pub(super) fn of_log(
    document: &mut Document,
    filter: &str,
    function: &str,
    field: &str,
    namespace: &str,
    metric: &str,
) {
    let gaps = [
        ("Filter", filter),
        ("Function", function),
        ("field", field),
        ("namespace", namespace),
        ("metric", metric),
    ];
    document.part(METRIC_FILTER, &gaps);
}

/// A metric of a table and of all its global indexes, summed; in several alarms if there are more than one can hold.
pub(super) fn of_table(name: &str, table: &TableName<'_>) -> Vec<String> {
    let reference = table.reference();
    let global =
        table.table.indexes.iter().filter(|index| index.kind == keyfold_core::model::IndexKind::Global);
    let index = |index: &keyfold_core::model::Index| {
        format!(", {{ Name: GlobalSecondaryIndexName, Value: {} }}", scalar(&index.name))
    };
    let all: Vec<String> = [String::new()].into_iter().chain(global.map(index)).collect();
    let one = |(at, index): (usize, &String)| {
        format!(
            "  - Id: m{at}\n    ReturnData: false\n    MetricStat:\n      Stat: Sum\n      Period: 300\n      Metric:\n        \
             Namespace: AWS/DynamoDB\n        MetricName: {name}\n        \
             Dimensions: [{{ Name: TableName, Value: !Ref {reference} }}{index}]\n"
        )
    };
    let sum = |of: &[String]| {
        let metrics: String = of.iter().enumerate().map(one).collect();
        format!(
            "Metrics:\n  - {{ Id: all, Expression: SUM(METRICS()), Label: throttled writes }}\n{metrics}EvaluationPeriods: 1\n"
        )
    };
    all.chunks(METRICS_MAX).map(sum).collect()
}
