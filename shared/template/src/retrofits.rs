//! Retrofits: each has its replicator, backfiller, verifier, operator, mapping, failure bucket, state machine, alarms and dashboard.

use keyfold_core::model::{IndexKind, Retrofit};
use keyfold_core::retrofit::Mapping;

use super::alarms::{self, Alarm, LogMetric, Severity};
use super::document::Document;
use super::functions::{self, Function};
use super::names::{GenerateError, Names, logical_id};
use super::rights::{Worker, of_worker};

const RETROFITS: &str = include_str!("parts/retrofits.yaml");
const RETROFIT: &str = include_str!("parts/retrofit.yaml");
const WAY_BACK: &str = include_str!("parts/retrofit-back.yaml");
const KEPT: &str = include_str!("parts/retrofit-kept.yaml");

const SLICES: &str = "\
MemorySize: 1024
Timeout: 900
ReservedConcurrentExecutions: !If [LimitsSlices, !Ref SliceConcurrency, !Ref \"AWS::NoValue\"]
";

/// Function, what it is for, what is its own, what its environment says besides the control table.
const WORKERS: [(Worker, &str, &str, &str); 4] = [
    (
        Worker::Replicator,
        "replicator",
        "Carries over changes of a retrofit's source to its target",
        "\
MemorySize: 512
Timeout: 120
ReservedConcurrentExecutions: !If [ReservesReplicator, !Ref ReplicatorConcurrency, !Ref \"AWS::NoValue\"]
",
    ),
    (Worker::Backfiller, "backfiller", "Carries over one slice of a retrofit's source", SLICES),
    (Worker::Verifier, "verifier", "Compares one slice of a retrofit's two sides", SLICES),
    (
        Worker::Operator,
        "operator",
        "Tidies, switches and finishes a retrofit",
        "MemorySize: 1024\nTimeout: 900\n",
    ),
];

/// Alarm on the throttled writes of the target, why, metric, threshold.
const THROTTLES: [(&str, &str, &str, u64); 4] = [
    (
        "HotPartition",
        "single partitions of the target or its indexes are throttled",
        "KeyRangeThroughput",
        1000,
    ),
    ("AccountLimit", "the target are throttled by the account's limit", "AccountLimit", 1),
    (
        "OnDemandMaximum",
        "the target are throttled by its own maximum of on-demand throughput",
        "MaxOnDemandThroughput",
        1,
    ),
    (
        "ProvisionedCapacity",
        "the target are throttled by its provisioned capacity",
        "ProvisionedThroughput",
        100,
    ),
];

pub(super) fn add(document: &mut Document, names: &Names<'_>) -> Result<(), GenerateError> {
    if names.retrofits().next().is_none() {
        return Ok(());
    }
    document.part(RETROFITS, &[]);
    names.retrofits().try_for_each(|retrofit| one(document, names, retrofit))
}

fn one(document: &mut Document, names: &Names<'_>, retrofit: &Retrofit) -> Result<(), GenerateError> {
    let mapping = Mapping::of(names.model, &retrofit.name)?;
    let protocol = mapping.protocol();
    let (source, target) = (names.table(&retrofit.from), names.table(&retrofit.to));
    let (id, name) = (logical_id(&retrofit.name), retrofit.name.as_str());
    document.heading(&format!("The retrofit `{name}`: {}.", protocol.name()));
    let has_way_back = mapping.reverse().is_ok();
    let mut shown = alarms(document, names, retrofit, &id, has_way_back);
    for (worker, binary, description, properties) in WORKERS {
        let mut environment = "KEYFOLD_CONTROL_TABLE: !Ref ControlTable\n".to_owned();
        if worker == Worker::Replicator {
            environment.insert_str(0, &format!("KEYFOLD_RETROFIT: {name}\n"));
        }
        let function = Function {
            id: id.clone() + &logical_id(binary),
            binary,
            log: format!("{name}-{binary}"),
            description,
            properties,
            environment: &environment,
            rights: of_worker(worker, &mapping, &id, &source, &target),
            // The mapping repeats a batch that fails, and the alarms of the stream say when that takes too long. The state machine repeats
            // a slice; RetrofitFailed says when it gives up.
            severity: if worker == Worker::Replicator { Severity::NextDay } else { Severity::Quiet },
        };
        shown.extend(functions::add(document, &function));
    }
    let shown: Vec<String> = shown.into_iter().map(|alarm| format!("\"${{{alarm}.Arn}}\"")).collect();
    let shown: Vec<String> = shown.chunks(4).map(|alarms| alarms.join(", ")).collect();
    let global = target.table.indexes.iter().filter(|index| index.kind == IndexKind::Global);
    let units = |index: &keyfold_core::model::Index| {
        format!(
            "[\"AWS/DynamoDB\", \"ConsumedWriteCapacityUnits\", \"TableName\", \"${{{}}}\", \"GlobalSecondaryIndexName\", \"{}\"],\n",
            target.reference(),
            index.name
        )
    };
    document.part(
        RETROFIT,
        &[
            ("Retrofit", &id),
            ("retrofit", name),
            ("stream", &source.stream()),
            ("source", &source.reference()),
            ("target", &target.reference()),
            ("alarms", &shown.join(",\n")),
            ("index-units", &global.map(units).collect::<String>()),
        ],
    );
    if has_way_back {
        document.part(WAY_BACK, &[("Retrofit", &id), ("retrofit", name), ("stream", &target.stream())]);
    }
    if retrofit.keep_folded {
        document.part(KEPT, &[("Retrofit", &id), ("retrofit", name)]);
    }
    Ok(())
}

/// The metrics of a retrofit's logs: filter, function, field, metric.
const LOG_METRICS: [(&str, &str, &str, &str); 4] = [
    ("ReplicatorQuarantine", "Replicator", "Quarantined", "Quarantined"),
    ("BackfillerQuarantine", "Backfiller", "ItemsQuarantined", "Quarantined"),
    ("VerifierDrift", "Verifier", "ItemsDiffering", "Differences"),
    // Only with a way back: the last one.
    ("ReplicatorLate", "Replicator", "Late", "Late"),
];

/// The alarms of a retrofit besides those of its functions. Those that exist on a condition are not returned: a dashboard cannot name them.
fn alarms(
    document: &mut Document,
    names: &Names<'_>,
    retrofit: &Retrofit,
    id: &str,
    has_way_back: bool,
) -> Vec<String> {
    let namespace = format!("Keyfold/${{AWS::StackName}}/{}", retrofit.name);
    let count = if has_way_back { LOG_METRICS.len() } else { LOG_METRICS.len() - 1 };
    for (filter, function, field, metric) in &LOG_METRICS[..count] {
        let of = LogMetric {
            filter: &format!("{id}{filter}"),
            function: &format!("{id}{function}"),
            pattern: &format!("{{ $.{field} > 0 }}"),
            value: &format!("$.{field}"),
            namespace: &namespace,
            metric,
        };
        alarms::of_log(document, &of);
    }
    let mut all = of_stream(id, &names.table(&retrofit.from).reference(), has_way_back);
    all.extend(of_items(id, &namespace));
    if has_way_back {
        all.extend(of_way_back(id, &namespace, &names.table(&retrofit.to).reference()));
    }
    for (name, why, metric, threshold) in THROTTLES {
        let metrics = alarms::of_table(&format!("Write{metric}ThrottleEvents"), &names.table(&retrofit.to));
        for (at, metric) in metrics.into_iter().enumerate() {
            let number = if at == 0 { String::new() } else { (at + 1).to_string() };
            let why = format!("Writes to {why}");
            all.push(Alarm::new(
                (id, &format!("{name}{number}")),
                Severity::NextDay,
                &why,
                metric,
                threshold,
            ));
        }
    }
    let added = all.iter().map(|alarm| (alarm.condition.is_none(), alarms::add(document, alarm)));
    added.filter_map(|(always, alarm)| always.then_some(alarm)).collect()
}

fn of_mapping(metric: &str, mapping: &str) -> String {
    let mapping = format!("Dimensions: [{{ Name: EventSourceMappingUUID, Value: !Ref {mapping} }}]\n");
    alarms::metric("AWS/Lambda", metric, &mapping, "Sum", 300, 1)
}

fn of_log(namespace: &str, metric: &str) -> String {
    alarms::metric(&format!("!Sub \"{namespace}\""), metric, "", "Sum", 300, 1)
}

/// The source's stream: is it followed, how far behind, and what was given up?
fn of_stream(id: &str, source: &str, has_way_back: bool) -> Vec<Alarm> {
    let (replicator, mapping) = (format!("{id}Replicator"), format!("{id}ReplicatorMapping"));
    let age = |period, periods| alarms::of_function("IteratorAge", "Maximum", period, periods, &replicator);
    let alarm =
        |name, severity, why, metric, threshold| Alarm::new((id, name), severity, why, metric, threshold);
    let behind = "The replicator is six hours behind; the stream keeps records for 24 hours";
    vec![
        // A mapping that stops sends no data: that must not end the alarm. Without a mapping that is meant to run, there is no alarm.
        Alarm { keeps_state: true, ..alarm("IteratorAge", Severity::Now, behind, age(300, 1), 21_600_000) }
            .only_if(format!("{id}{}", if has_way_back { "Follows" } else { "FollowsStream" })),
        alarm(
            "Stalled",
            Severity::Now,
            "The source is written, and for 15 minutes the replicator got no record of it",
            alarms::standing_still(source, &mapping),
            1,
        )
        .only_if(format!("{id}FollowsStream")),
        // The state machine waits until it is OK before it compares both sides.
        alarm(
            "Lag",
            Severity::Quiet,
            "The replicator is more than a minute behind the stream",
            age(60, 3) + "DatapointsToAlarm: 1\n",
            60_000,
        ),
        alarm(
            "Discarded",
            Severity::Now,
            "Records could not be replicated and are in the failure bucket",
            of_mapping("OnFailureDestinationDeliveredEventCount", &mapping),
            1,
        ),
        alarm(
            "Dropped",
            Severity::Now,
            "Records were dropped without reaching the failure bucket",
            of_mapping("DroppedEventCount", &mapping),
            1,
        ),
        alarm(
            "Unnoted",
            Severity::Now,
            "A batch is in the failure bucket, and the quarantine does not know it",
            alarms::messages(&format!("{id}UnnotedBatches")),
            1,
        ),
    ]
}

/// Items that differ, or could not be carried over, and runs that failed.
fn of_items(id: &str, namespace: &str) -> [Alarm; 3] {
    let machine = format!("Dimensions: [{{ Name: StateMachineArn, Value: !Ref {id}StateMachine }}]\n");
    [
        (
            "Quarantine",
            Severity::NextDay,
            "Items are in quarantine, which blocks the switch",
            of_log(namespace, "Quarantined"),
        ),
        (
            "Drift",
            Severity::NextDay,
            "The verifier found differences. Before the switch, repair; after it, a repair would undo what the target's writers did",
            of_log(namespace, "Differences"),
        ),
        (
            "RetrofitFailed",
            Severity::NextDay,
            "A run of the retrofit's state machine failed",
            alarms::metric("AWS/States", "ExecutionsFailed", &machine, "Sum", 300, 1),
        ),
    ]
    .map(|(name, severity, why, metric)| Alarm::new((id, name), severity, why, metric, 1))
}

/// The target's stream, after a switch.
fn of_way_back(id: &str, namespace: &str, target: &str) -> [Alarm; 4] {
    let mapping = format!("{id}BackMapping");
    let alarm = |name, why, metric| Alarm::new((id, name), Severity::Now, why, metric, 1);
    let follows = |alarm: Alarm| alarm.only_if(format!("{id}FollowsBack"));
    [
        alarm(
            "Late",
            "A writer still writes to the closed table; its changes are noted with both images",
            of_log(namespace, "Late"),
        ),
        follows(alarm(
            "BackStalled",
            "The target is written, and for 15 minutes the replicator got no record of it",
            alarms::standing_still(target, &mapping),
        )),
        follows(alarm(
            "BackDiscarded",
            "Records of the target could not be carried back to the source and are in the failure bucket",
            of_mapping("OnFailureDestinationDeliveredEventCount", &mapping),
        )),
        follows(alarm(
            "BackDropped",
            "Records of the target were dropped without reaching the failure bucket",
            of_mapping("DroppedEventCount", &mapping),
        )),
    ]
}
