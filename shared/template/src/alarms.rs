//! Alarms. docs/runbooks.md says what each means.

use super::document::{Document, scalar};
use super::names::TableName;

const ALARM: &str = include_str!("parts/alarm.yaml");
const METRIC_FILTER: &str = include_str!("parts/metric-filter.yaml");
/// The most metrics in one alarm.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Create-alarm-on-metric-math-expression.html>
const METRICS_MAX: usize = 10;
const TELLS: &str = "AlarmActions: [!Ref AlarmTopic]\nOKActions: !If [TellsRecovery, [!Ref AlarmTopic], !Ref \"AWS::NoValue\"]";

/// How urgent an alarm is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Now,
    NextDay,
    /// Sends no message: the state machine retries, or waits.
    Quiet,
}

/// An alarm, as it differs from the others.
#[derive(Debug, Clone)]
pub(super) struct Alarm {
    /// Whose it is, the beginning of its logical id: a retrofit, or a function.
    pub(super) owner: String,
    /// The rest of its id, and its heading in docs/runbooks.md.
    pub(super) name: String,
    pub(super) description: String,
    pub(super) metric: String,
    pub(super) threshold: u64,
    pub(super) severity: Severity,
    /// The condition of the template under which there is the alarm.
    pub(super) condition: Option<String>,
    /// Without data, the alarm stays as it is. Otherwise it ends.
    pub(super) keeps_state: bool,
}

impl Alarm {
    pub(super) fn new(
        (owner, name): (&str, &str),
        severity: Severity,
        description: &str,
        metric: String,
        threshold: u64,
    ) -> Alarm {
        let (owner, name, description) = (owner.to_owned(), name.to_owned(), description.to_owned());
        Alarm { owner, name, description, metric, threshold, severity, condition: None, keeps_state: false }
    }

    pub(super) fn only_if(self, condition: String) -> Alarm {
        Alarm { condition: Some(condition), ..self }
    }
}

/// Adds the alarm, and returns its logical id. A table with more metrics than one alarm holds has several: `HotPartition2`.
pub(super) fn add(document: &mut Document, alarm: &Alarm) -> String {
    let (severity, actions) = match alarm.severity {
        Severity::Now => ("Severity 1, act now.", TELLS),
        Severity::NextDay => ("Severity 2, act on the next working day.", TELLS),
        Severity::Quiet => ("Severity 3, nothing to do.", ""),
    };
    let condition = alarm.condition.as_ref().map(|name| format!("Condition: {name}"));
    let id = format!("{}{}", alarm.owner, alarm.name);
    document.part(
        ALARM,
        &[
            ("Alarm", &id),
            ("condition", &condition.unwrap_or_default()),
            ("severity", severity),
            ("description", &alarm.description),
            ("anchor", &alarm.name.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase()),
            ("metric", &alarm.metric),
            ("threshold", &alarm.threshold.to_string()),
            ("missing", if alarm.keeps_state { "ignore" } else { "notBreaching" }),
            ("actions", actions),
        ],
    );
    format!("{id}Alarm")
}

/// One metric, of AWS or of Keyfold. The dimensions are YAML.
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
pub(super) struct LogMetric<'l> {
    pub(super) filter: &'l str,
    pub(super) function: &'l str,
    /// The lines that count.
    pub(super) pattern: &'l str,
    /// The value of each such line: a member of it, or a number.
    pub(super) value: &'l str,
    pub(super) namespace: &'l str,
    pub(super) metric: &'l str,
}

pub(super) fn of_log(document: &mut Document, of: &LogMetric<'_>) {
    let gaps = [
        ("Filter", of.filter),
        ("Function", of.function),
        ("pattern", of.pattern),
        ("value", of.value),
        ("namespace", of.namespace),
        ("metric", of.metric),
    ];
    document.part(METRIC_FILTER, &gaps);
}

/// 1 while a table is written and its stream's mapping takes no record. Writes that change nothing have no record, so it has to last.
pub(super) fn standing_still(table: &str, mapping: &str) -> String {
    format!(
        "Metrics:
  - {{ Id: stalled, Expression: \"IF(FILL(written, 0) > 0 AND FILL(polled, 0) == 0, 1, 0)\", Label: written and not followed }}
  - Id: written
    ReturnData: false
    MetricStat:
      Stat: Sum
      Period: 300
      Metric:
        Namespace: AWS/DynamoDB
        MetricName: ConsumedWriteCapacityUnits
        Dimensions: [{{ Name: TableName, Value: !Ref {table} }}]
  - Id: polled
    ReturnData: false
    MetricStat:
      Stat: Sum
      Period: 300
      Metric:
        Namespace: AWS/Lambda
        MetricName: PolledEventCount
        Dimensions: [{{ Name: EventSourceMappingUUID, Value: !Ref {mapping} }}]
EvaluationPeriods: 3
"
    )
}

/// How many messages a queue has, those included that a function has taken. The age of the oldest says less: SQS leaves a message out
/// of it that was taken three times.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html>
pub(super) fn messages(queue: &str) -> String {
    let one = |id: &str, metric: &str| {
        format!(
            "  - Id: {id}
    ReturnData: false
    MetricStat:
      Stat: Maximum
      Period: 300
      Metric:
        Namespace: AWS/SQS
        MetricName: {metric}
        Dimensions: [{{ Name: QueueName, Value: !GetAtt {queue}.QueueName }}]
"
        )
    };
    format!(
        "Metrics:
  - {{ Id: messages, Expression: \"FILL(waiting, 0) + FILL(taken, 0)\", Label: messages }}
{}{}EvaluationPeriods: 2
",
        one("waiting", "ApproximateNumberOfMessagesVisible"),
        one("taken", "ApproximateNumberOfMessagesNotVisible")
    )
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
