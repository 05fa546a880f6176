"""Which alarms go off in which situation. moto keeps alarms and computes none: this does, for the metrics and expressions that the template has.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
"""

import re

PERIODS = 3


class Metrics:
    """What CloudWatch has: by metric and the end of a dimension's value, a datapoint for each of the last periods."""

    def __init__(self, **series):
        self.series = series

    def of(self, metric, dimensions, period):
        for wanted, points in self.series.items():
            name, _, owner = wanted.partition("__")
            if name == metric and (not owner or any(owner in one["Value"] for one in dimensions)):
                return points[period]
        return None


def datapoint(alarm, metrics, period):
    if not alarm.get("Metrics"):
        return metrics.of(alarm["MetricName"], alarm.get("Dimensions", []), period)
    found = {}
    for query in alarm["Metrics"]:
        if "MetricStat" in query:
            metric = query["MetricStat"]["Metric"]
            found[query["Id"]] = metrics.of(metric["MetricName"], metric["Dimensions"], period)
    (expression,) = [query["Expression"] for query in alarm["Metrics"] if "Expression" in query]
    there = [value for value in found.values() if value is not None]
    if expression == "SUM(METRICS())":
        return sum(there) if there else None
    if not there:
        return None
    known = {"IF": lambda condition, then, otherwise: then if condition else otherwise, "FILL": lambda value, fill: fill if value is None else value}
    return eval(re.sub(r"\bAND\b", "and", expression), {"__builtins__": {}}, {**known, **found})


def state(alarm, metrics, before="OK"):
    count = alarm["EvaluationPeriods"]
    points = [datapoint(alarm, metrics, period) for period in range(PERIODS - count, PERIODS)]
    assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold", alarm
    if all(point is None for point in points):
        return {"ignore": before, "notBreaching": "OK"}[alarm["TreatMissingData"]]
    breaching = sum(point is not None and point >= alarm["Threshold"] for point in points)
    return "ALARM" if breaching >= alarm.get("DatapointsToAlarm", count) else "OK"


# The situation, its metrics, the alarms that send a message, and those that are on the dashboard alone.
SITUATIONS = [
    ("nothing happens", {}, set(), set()),
    ("all is well", dict(ConsumedWriteCapacityUnits=[9, 9, 9], PolledEventCount=[9, 9, 9], IteratorAge=[500, 500, 500], Errors=[0, 0, 0]), set(), set()),
    ("the source is written, and its mapping stands still", dict(ConsumedWriteCapacityUnits__ResourceAccessAudit=[9, 9, 9], PolledEventCount=[None, 0, 0]),
     {"AuditV2Stalled", "AuditV2BackStalled"}, set()),
    ("the replicator is seven hours behind", dict(IteratorAge=[25_200_000] * 3), {"AuditV2IteratorAge"}, {"AuditV2Lag"}),
    ("the replicator is two minutes behind", dict(IteratorAge=[0, 0, 120_000]), set(), {"AuditV2Lag"}),
    ("a batch is given up", dict(OnFailureDestinationDeliveredEventCount=[0, 0, 1]), {"AuditV2Discarded", "AuditV2BackDiscarded"}, set()),
    ("a batch is dropped", dict(DroppedEventCount=[0, 0, 1]), {"AuditV2Dropped", "AuditV2BackDropped"}, set()),
    # Taken and refused all the time: the metric of the oldest message no longer has its age.
    ("a notice waits, and is refused", dict(ApproximateNumberOfMessagesVisible__Unnoted=[0, 0, 1], ApproximateNumberOfMessagesNotVisible__Unnoted=[1, 1, 0]),
     {"AuditV2Unnoted"}, set()),
    ("a notice is taken at once", dict(ApproximateNumberOfMessagesVisible__Unnoted=[0, 0, 1], ApproximateNumberOfMessagesNotVisible__Unnoted=[0, 0, 0]), set(), set()),
    ("one slice fails, and is repeated", dict(Errors__Backfiller=[0, 0, 1]), set(), {"AuditV2BackfillerErrors"}),
    ("the operator fails once, and goes on", dict(Errors__Operator=[0, 0, 1]), set(), {"AuditV2OperatorErrors"}),
    ("a run fails", dict(ExecutionsFailed=[0, 0, 1]), {"AuditV2RetrofitFailed"}, set()),
    ("a batch of the replicator fails once", dict(Errors__Replicator=[0, 0, 1]), set(), set()),
    ("the replicator fails for 15 minutes", dict(Errors__Replicator=[1, 1, 1]), {"AuditV2ReplicatorErrors"}, set()),
    ("rights are denied in the API", dict(QueryApiFailures=[0, 0, 1], **{"5xx": [0, 0, 1]}), {"QueryApiFailing"}, set()),
    ("the API cannot call its function", {"5xx": [1, 1, 1]}, {"ApiServerErrors"}, set()),
    ("requests reach the limit of the API once", dict(Throttles__QueryApi=[0, 0, 9]), set(), set()),
    ("the audit writer is throttled", dict(Throttles__AuditWriter=[0, 0, 9]), {"AuditWriterThrottles"}, set()),
    ("an audit event waits", dict(ApproximateAgeOfOldestMessage=[900, 1200, 1500]), {"QueueAge"}, set()),
    ("an audit event is given up", dict(ApproximateNumberOfMessagesVisible__DeadLetters=[0, 0, 1]), {"DeadLetters"}, set()),
    ("an asynchronous call is given up", dict(ApproximateNumberOfMessagesVisible__FailedCalls=[0, 0, 1]), {"FailedCalls"}, set()),
    ("items are set aside", dict(Quarantined=[0, 0, 2]), {"AuditV2Quarantine"}, set()),
    ("the sides differ", dict(Differences=[0, 0, 2]), {"AuditV2Drift"}, set()),
    ("a writer comes late", dict(Late=[0, 0, 1]), {"AuditV2Late"}, set()),
    ("an index's partition is hot", dict(WriteKeyRangeThroughputThrottleEvents__byAction=[0, 0, 1000]), {"AuditV2HotPartition"}, set()),
    ("the account's limit is reached", dict(WriteAccountLimitThrottleEvents=[0, 0, 1]), {"AuditV2AccountLimit"}, set()),
    ("the table's own limit is reached", dict(WriteMaxOnDemandThroughputThrottleEvents=[0, 0, 1]), {"AuditV2OnDemandMaximum"}, set()),
    ("the provisioned capacity is used up", dict(WriteProvisionedThroughputThrottleEvents=[0, 0, 100]), {"AuditV2ProvisionedCapacity"}, set()),
    ("the replicator is throttled for 15 minutes", dict(Throttles__Replicator=[1, 1, 1]), {"AuditV2ReplicatorThrottles"}, set()),
    ("a comparison fails, and is repeated", dict(Errors__Verifier=[0, 0, 1]), set(), {"AuditV2VerifierErrors"}),
    ("the audit writer does not start", dict(Errors__AuditWriter=[0, 0, 1]), {"AuditWriterErrors"}, set()),
    ("the audit writer finds no table", dict(AuditWriterFailures=[0, 0, 1]), {"AuditWriterFailing"}, set()),
    ("the query API does not start", dict(Errors__QueryApi=[0, 0, 1]), {"QueryApiErrors"}, set()),
    ("requests reach the limit of the API for 15 minutes", dict(Throttles__QueryApi=[9, 9, 9]), {"QueryApiThrottles"}, set()),
    ("a collection is nearly full", dict(LargeItemCollections=[0, 0, 1]), {"CollectionSize"}, set()),
]


def check(aws):
    """The alarms of the sample's stack, with both streams followed."""
    pages = aws("cloudwatch").get_paginator("describe_alarms").paginate()
    alarms = {re.search(r"keyfold-(\w+)Alarm-", alarm["AlarmName"])[1]: alarm for page in pages for alarm in page["MetricAlarms"]}
    seen = set()
    for what, series, sends, shows in SITUATIONS:
        on = {name for name, alarm in alarms.items() if state(alarm, Metrics(**series)) == "ALARM"}
        silent = {name for name in on if not alarms[name]["AlarmActions"]}
        assert (on - silent, silent) == (sends, shows), f"{what}: {sorted(on - silent)} send a message, {sorted(silent)} do not"
        seen |= on
    # A mapping that stops sends no data: the alarm stays on.
    assert state(alarms["AuditV2IteratorAge"], Metrics(), before="ALARM") == "ALARM"
    assert seen == set(alarms), f"no situation for {alarms.keys() - seen}"
    print(f"{len(SITUATIONS)} situations: each of {len(alarms)} alarms goes off when it should, and no other")
