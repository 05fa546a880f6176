//! Retrofits: each has its replicator, backfiller, verifier, mapping, failure bucket, state machine, alarms and dashboard.

use keyfold_core::model::{IndexKind, Retrofit};
use keyfold_core::retrofit::Mapping;

use super::alarms::{self, Alarm};
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
const WORKERS: [(Worker, &str, &str, &str); 3] = [
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
        };
        shown.push(functions::add(document, &function));
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

/// The alarms of a retrofit besides those of its functions.
fn alarms(
    document: &mut Document,
    names: &Names<'_>,
    retrofit: &Retrofit,
    id: &str,
    has_way_back: bool,
) -> Vec<String> {
    let replicator = format!("{id}Replicator");
    let namespace = format!("Keyfold/${{AWS::StackName}}/{}", retrofit.name);
    let mapping =
        format!("Dimensions: [{{ Name: EventSourceMappingUUID, Value: !Ref {id}ReplicatorMapping }}]\n");
    let machine = format!("Dimensions: [{{ Name: StateMachineArn, Value: !Ref {id}StateMachine }}]\n");
    let of_mapping = |metric| alarms::metric("AWS/Lambda", metric, &mapping, "Sum", 300, 1);
    let of_log = |metric| alarms::metric(&format!("!Sub \"{namespace}\""), metric, "", "Sum", 300, 1);
    let late = ("ReplicatorLate", "Replicator", "Late", "Late");
    for (filter, function, field, metric) in [
        ("ReplicatorQuarantine", "Replicator", "Quarantined", "Quarantined"),
        ("BackfillerQuarantine", "Backfiller", "ItemsQuarantined", "Quarantined"),
        ("VerifierDrift", "Verifier", "ItemsDiffering", "Differences"),
    ]
    .into_iter()
    .chain(has_way_back.then_some(late))
    {
        let (filter, function) = (format!("{id}{filter}"), format!("{id}{function}"));
        alarms::of_log(document, &filter, &function, field, &namespace, metric);
    }
    let mut all: Vec<(String, String, String, u64)> = [
        (
            "IteratorAge",
            "The replicator is six hours behind; the stream keeps records for 24 hours",
            alarms::of_function("IteratorAge", "Maximum", 300, 1, &replicator),
            21_600_000,
        ),
        (
            // Silent: the state machine waits until it is OK before it compares both sides.
            "Lag",
            "The replicator is more than a minute behind the stream",
            alarms::of_function("IteratorAge", "Maximum", 60, 3, &replicator) + "DatapointsToAlarm: 1\n",
            60_000,
        ),
        (
            "Discarded",
            "Records could not be replicated and are in the failure bucket",
            of_mapping("OnFailureDestinationDeliveredEventCount"),
            1,
        ),
        ("Dropped", "Records were dropped without reaching the failure bucket", of_mapping("DroppedEventCount"), 1),
        ("Quarantine", "Items are in quarantine, which blocks the cut-over", of_log("Quarantined"), 1),
        (
            "Drift",
            "The verifier found differences. Before the cut-over, repair; after it, a repair would undo what the target's writers did",
            of_log("Differences"),
            1,
        ),
        (
            "RetrofitFailed",
            "A run of the retrofit's state machine failed",
            alarms::metric("AWS/States", "ExecutionsFailed", &machine, "Sum", 300, 1),
            1,
        ),
    ]
    .map(|(name, why, metric, threshold)| (name.to_owned(), why.to_owned(), metric, threshold))
    .into();
    if has_way_back {
        let why = "Somebody still writes to the table that is closed; `keyfold retrofit late` has both images of each change";
        all.push(("Late".to_owned(), why.to_owned(), of_log("Late"), 1));
    }
    for (name, why, metric, threshold) in THROTTLES {
        let metrics = alarms::of_table(&format!("Write{metric}ThrottleEvents"), &names.table(&retrofit.to));
        for (at, metric) in metrics.into_iter().enumerate() {
            let number = if at == 0 { String::new() } else { (at + 1).to_string() };
            all.push((format!("{name}{number}"), format!("Writes to {why}"), metric, threshold));
        }
    }
    let one = |(name, description, metric, threshold): (String, String, String, u64)| {
        let alarm =
            Alarm { silent: name == "Lag", id: format!("{id}{name}"), description, metric, threshold };
        alarms::add(document, &alarm)
    };
    all.into_iter().map(one).collect()
}
