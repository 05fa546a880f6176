//! Who may do what: the operations of DynamoDB that each function calls, and no others.
//!
//! An operation of PartiQL needs the rights of its statements, and a transaction those of its parts.

use keyfold_core::model::Projection;
use keyfold_core::retrofit::{Mapping, Protocol};

use super::names::{Names, TableName};

/// A statement of a role's policy.
#[derive(Debug, Clone)]
pub(super) struct Right {
    sid: String,
    actions: Vec<String>,
    resources: Vec<String>,
    /// The condition of the template under which there is the right at all.
    only_if: Option<String>,
    /// The statement's condition, as YAML.
    limit: &'static str,
    why: &'static str,
}

/// A KMS key is used through these services alone, if the deployment says so.
const THROUGH_SERVICES: &str = "\
Condition: !If [LimitsKey, { StringEquals: { \"kms:ViaService\": !Ref KmsViaServices } }, !Ref \"AWS::NoValue\"]
";

impl Right {
    pub(super) fn new(sid: &str, actions: &[&str], resources: impl IntoIterator<Item = String>) -> Right {
        Right {
            sid: sid.to_owned(),
            actions: actions.iter().map(|action| (*action).to_owned()).collect(),
            resources: resources.into_iter().collect(),
            only_if: None,
            limit: "",
            why: "",
        }
    }

    /// Operations of DynamoDB.
    fn dynamo(sid: &str, operations: &[&str], resources: impl IntoIterator<Item = String>) -> Right {
        let actions: Vec<String> =
            operations.iter().map(|operation| format!("dynamodb:{operation}")).collect();
        Right { actions, ..Right::new(sid, &[], resources) }
    }

    fn because(self, why: &'static str) -> Right {
        Right { why, ..self }
    }

    fn only_if(self, condition: &str) -> Right {
        Right { only_if: Some(condition.to_owned()), ..self }
    }

    pub(super) fn text(&self) -> String {
        let why: String = self.why.lines().map(|line| format!("# {line}\n")).collect();
        let body = format!(
            "Sid: {}\nEffect: Allow\n{}{}{}",
            self.sid,
            listed("Action", &self.actions),
            listed("Resource", &self.resources),
            self.limit
        );
        let indented = |by: &str| body.trim_end().replace('\n', &format!("\n{by}"));
        match &self.only_if {
            None => format!("{why}- {}\n", indented("  ")),
            Some(condition) => {
                format!("{why}- !If\n  - {condition}\n  - {}\n  - !Ref AWS::NoValue\n", indented("    "))
            }
        }
    }
}

/// One value, a short list in one line, a longer one below each other.
fn listed(name: &str, values: &[String]) -> String {
    match values {
        [one] => format!("{name}: {one}\n"),
        _ if values.iter().map(|value| value.len() + 2).sum::<usize>() < 100 => {
            format!("{name}: [{}]\n", values.join(", "))
        }
        _ => format!("{name}:\n{}", values.iter().map(|value| format!("  - {value}\n")).collect::<String>()),
    }
}

/// The operations of a retrofit's functions on a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    Source,
    Target,
    Control,
}

/// The functions of a retrofit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worker {
    Replicator,
    Backfiller,
    Verifier,
    Operator,
}

type Row = (Worker, On, &'static str, &'static [&'static str]);

/// Operations of a table with a time to live: expired items are no differences, if the table deletes them.
const OF_TIME_TO_LIVE: &str = "DescribeTimeToLive";

/// The calls of the three functions where the source's key fixes the target's.
const FENCED: [Row; 9] = [
    // The source is only read: a tidied retrofit writes its state of the moment.
    (Worker::Replicator, On::Source, "ReadTheSource", &["BatchGetItem"]),
    // 25 new items in one request, all others by themselves. `DeleteItem` is for a target without tombstones.
    (
        Worker::Replicator,
        On::Target,
        "WriteTheTarget",
        &["BatchGetItem", "DeleteItem", "PartiQLInsert", "PutItem"],
    ),
    // The retrofit's row, the quarantine, and rows of a tidied retrofit, whose transactions ask for a seal by deleting what is not there.
    (Worker::Replicator, On::Control, "KeepRowsAndQuarantine", &["BatchGetItem", "DeleteItem", "PutItem"]),
    // The check of both tables before a slice; the scan; what is there already is looked at.
    (Worker::Backfiller, On::Source, "ScanTheSource", &["BatchGetItem", "DescribeTable", "Scan"]),
    (
        Worker::Backfiller,
        On::Target,
        "WriteTheTarget",
        &["BatchGetItem", "DeleteItem", "DescribeTable", "PartiQLInsert", "PutItem"],
    ),
    // The lease is taken, renewed and given back.
    (
        Worker::Backfiller,
        On::Control,
        "KeepCheckpoints",
        &["BatchGetItem", "DeleteItem", "PutItem", "UpdateItem"],
    ),
    VERIFY_SOURCE,
    VERIFY_TARGET,
    VERIFY_CONTROL,
];

/// The comparison of two tables.
const VERIFY_SOURCE: Row = (
    Worker::Verifier,
    On::Source,
    "ScanTheSource",
    &["BatchGetItem", "DescribeTable", OF_TIME_TO_LIVE, "Scan"],
);
const VERIFY_TARGET: Row = (
    Worker::Verifier,
    On::Target,
    "CompareAndRepairTheTarget",
    &["BatchGetItem", "DeleteItem", "DescribeTable", OF_TIME_TO_LIVE, "PutItem", "Scan"],
);
const VERIFY_CONTROL: Row = (
    Worker::Verifier,
    On::Control,
    "KeepCheckpoints",
    &["BatchGetItem", "DeleteItem", "PutItem", "UpdateItem"],
);

/// Their calls with a ledger: an item is written in a transaction with its row, which has its place.
const LEDGER: [Row; 9] = [
    // Once it is tidied, both items are read, and transactions ask for a seal by deleting what is not there.
    (Worker::Replicator, On::Source, "ReadTheSource", &["BatchGetItem"]),
    (Worker::Replicator, On::Target, "WriteTheTarget", &["BatchGetItem", "DeleteItem", "PutItem"]),
    (Worker::Replicator, On::Control, "KeepLedgerAndQuarantine", &["BatchGetItem", "DeleteItem", "PutItem"]),
    (Worker::Backfiller, On::Source, "ScanTheSource", &["BatchGetItem", "DescribeTable", "Scan"]),
    (
        Worker::Backfiller,
        On::Target,
        "WriteTheTarget",
        &["BatchGetItem", "DeleteItem", "DescribeTable", "PutItem"],
    ),
    // Rows of items that are not selected are inserted alone.
    (
        Worker::Backfiller,
        On::Control,
        "KeepCheckpoints",
        &["BatchGetItem", "DeleteItem", "PartiQLInsert", "PutItem", "UpdateItem"],
    ),
    VERIFY_SOURCE,
    VERIFY_TARGET,
    VERIFY_CONTROL,
];

/// Their calls in place: items are not put or deleted, keys are set.
const IN_PLACE: [Row; 6] = [
    (Worker::Replicator, On::Target, "FoldTheTable", &["UpdateItem"]),
    (Worker::Replicator, On::Control, "KeepQuarantine", &["BatchGetItem", "PutItem"]),
    // `UpdateItem` is for a statement that failed among others, and is sent by itself.
    (
        Worker::Backfiller,
        On::Target,
        "FoldTheTable",
        &["BatchGetItem", "DescribeTable", "PartiQLUpdate", "Scan", "UpdateItem"],
    ),
    (
        Worker::Backfiller,
        On::Control,
        "KeepCheckpoints",
        &["BatchGetItem", "DeleteItem", "PutItem", "UpdateItem"],
    ),
    (
        Worker::Verifier,
        On::Target,
        "CompareAndRepairTheTable",
        &["BatchGetItem", "DescribeTable", OF_TIME_TO_LIVE, "Scan", "UpdateItem"],
    ),
    VERIFY_CONTROL,
];

/// The rights of one function of a retrofit.
pub(super) fn of_worker(
    worker: Worker,
    mapping: &Mapping,
    retrofit: &str,
    source: &TableName<'_>,
    target: &TableName<'_>,
) -> Vec<Right> {
    let protocol = mapping.protocol();
    let rows: &[Row] = match protocol {
        Protocol::InPlace => &IN_PLACE,
        Protocol::Fenced => &FENCED,
        Protocol::Ledger => &LEDGER,
    };
    let mut rights: Vec<Right> = Vec::new();
    for (_, on, sid, operations) in rows.iter().filter(|row| row.0 == worker) {
        let (resource, expires) = match on {
            On::Source => (source.arn(), source.table.ttl.is_some()),
            On::Target => (target.arn(), target.table.ttl.is_some()),
            On::Control => ("!GetAtt ControlTable.Arn".to_owned(), false),
        };
        let needed = operations.iter().copied().filter(|name| expires || *name != OF_TIME_TO_LIVE);
        rights.push(Right::dynamo(sid, &needed.collect::<Vec<_>>(), [resource]));
    }
    if worker == Worker::Operator {
        rights.extend(of_operator(mapping, source, target));
    }
    if worker == Worker::Replicator {
        let bucket = format!("{retrofit}FailureBucket");
        let mut stream = vec![
            Right::dynamo(
                "ReadTheStream",
                &["DescribeStream", "GetRecords", "GetShardIterator"],
                [source.stream()],
            ),
            Right::dynamo("FindTheStream", &["ListStreams"], [source.below("stream/*")]),
        ];
        stream.append(&mut rights);
        rights = stream;
        if mapping.reverse().is_ok() {
            rights.extend(of_way_back(retrofit, source, target));
        }
        rights.push(Right::new(
            "SetRecordsAside",
            &["s3:PutObject"],
            [format!("!Sub \"${{{bucket}.Arn}}/*\"")],
        ));
        rights.push(Right::new("SeeTheBucket", &["s3:ListBucket"], [format!("!GetAtt {bucket}.Arn")]));
        let queue = format!("!GetAtt {retrofit}UnnotedBatches.Arn");
        const QUEUE: [&str; 4] =
            ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage", "sqs:SendMessage"];
        rights.push(Right::new("RepeatNotices", &QUEUE, [queue]));
    }
    let both = [source, target];
    rights.extend(keys(if protocol == Protocol::InPlace { &both[..1] } else { &both }));
    rights
}

/// The operator moves writers: it reads both tables and their streams, carries over what has not arrived, and changes policies and tags.
fn of_operator(mapping: &Mapping, source: &TableName<'_>, target: &TableName<'_>) -> Vec<Right> {
    const CONTROL: [&str; 6] = ["BatchGetItem", "DeleteItem", "PutItem", "Query", "Scan", "UpdateItem"];
    let mut operations = vec!["BatchGetItem", "DescribeTable", "ListTagsOfResource", "Scan", "TagResource"];
    let control = Right::dynamo("KeepRowsAndSeals", &CONTROL, ["!GetAtt ControlTable.Arn".to_owned()]);
    if mapping.protocol() == Protocol::InPlace {
        return vec![Right::dynamo("OperateTheTable", &operations, [target.arn()]), control];
    }
    operations.extend([
        "DeleteItem",
        "DeleteResourcePolicy",
        "GetResourcePolicy",
        "PutItem",
        "PutResourcePolicy",
        "UpdateItem",
    ]);
    if source.table.ttl.is_some() || target.table.ttl.is_some() {
        operations.push(OF_TIME_TO_LIVE);
    }
    operations.sort_unstable();
    let mut streams = vec![source.stream()];
    streams.extend(mapping.reverse().is_ok().then(|| target.stream()));
    vec![
        Right::dynamo("OperateBothTables", &operations, [source.arn(), target.arn()]),
        Right::dynamo("ReadTheStreams", &["DescribeStream", "GetRecords", "GetShardIterator"], streams),
        control,
    ]
}

/// The replicator's additional calls, where it follows the target's stream too.
fn of_way_back(retrofit: &str, source: &TableName<'_>, target: &TableName<'_>) -> [Right; 3] {
    let follows = format!("{retrofit}FollowsBack");
    [
        Right::dynamo(
            "ReadTheStreamBack",
            &["DescribeStream", "GetRecords", "GetShardIterator"],
            [target.stream()],
        ),
        Right::dynamo("FindTheStreamBack", &["ListStreams"], [target.below("stream/*")]),
        Right::dynamo("WriteTheSource", &["DeleteItem", "PutItem"], [source.arn()]),
    ]
    .map(|right| right.only_if(&follows))
}

/// The audit writer inserts, and neither changes nor deletes.
pub(super) fn of_audit_writer(table: &TableName<'_>, journal: bool) -> Vec<Right> {
    let mut rights = vec![
        Right::dynamo("InsertEvents", &["BatchGetItem", "PartiQLInsert", "PutItem"], [table.arn()]).because(
            "Several events are inserted by statements; a single one is written with PutItem, on condition that its key is free.\n\
             Nothing is changed or deleted: see docs/audit-writer.md.",
        ),
        Right::new(
            "TakeFromTheQueue",
            &["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"],
            ["!GetAtt AuditQueue.Arn".to_owned()],
        ),
        Right::new("SetCallsAside", &["sqs:SendMessage"], ["!GetAtt AuditFailedCalls.Arn".to_owned()]),
    ];
    if journal {
        let journal = ["!GetAtt AuditJournalTable.Arn".to_owned()];
        rights.insert(
            1,
            Right::dynamo("NoteDigests", &["PutItem"], journal)
                .because("The journal is only written here. Only `keyfold audit` reads it."),
        );
    }
    rights.extend(keys(&[table]));
    rights
}

/// The query API reads the tables that it is deployed for, and their indexes, and writes those that the manifest lists. No
/// Scan: requests that need one are refused here too.
pub(super) fn of_query_api(names: &Names<'_>) -> Vec<Right> {
    let tables: Vec<TableName<'_>> = names.model.deploy.query_api.iter().map(|id| names.table(id)).collect();
    let indexes: Vec<String> = tables
        .iter()
        .flat_map(|name| name.table.indexes.iter().map(|index| name.below(&format!("index/{}", index.name))))
        .collect();
    let control = || ["!GetAtt ControlTable.Arn".to_owned()];
    let mut rights = vec![
        Right::dynamo("AskTables", &["Query"], tables.iter().map(TableName::arn))
            .because("No Scan: requests that need a scan are refused here too."),
        Right::dynamo("ReadRetrofits", &["BatchGetItem", "Query"], control())
            .because("An index that a retrofit still fills is not read: its row and its segments say so."),
        Right::new("ReadPageTokenKey", &["secretsmanager:GetSecretValue"], ["!Ref PageTokenKey".to_owned()]),
        Right::dynamo("CountCallers", &["GetItem", "UpdateItem"], ["!GetAtt CallerTable.Arn".to_owned()])
            .only_if("LimitsCallers"),
    ];
    if !indexes.is_empty() {
        rights.insert(1, Right::dynamo("AskIndexes", &["Query"], indexes));
    }
    let lacking =
        |name: &&TableName<'_>| name.table.indexes.iter().any(|index| index.projection != Projection::All);
    let lacking: Vec<String> = tables.iter().filter(lacking).map(TableName::arn).collect();
    if !lacking.is_empty() {
        let fetch = Right::dynamo("FetchWhatIndexesLack", &["BatchGetItem"], lacking);
        rights.insert(2, fetch);
    }
    let written = &names.model.deploy.query_api_writes;
    if !written.is_empty() {
        let arns = written.iter().map(|id| names.table(id).arn());
        let write = Right::dynamo("WriteItems", &["DeleteItem", "GetItem", "PutItem", "UpdateItem"], arns)
            .because(
                "An update reads the item where its folded keys are made of more than the request gives.",
            );
        rights.push(write);
    }
    rights.extend(keys(&tables.iter().collect::<Vec<_>>()));
    rights
}

/// The keys that encrypt what a function reads and writes: the stack's own, and those of existing tables.
fn keys(tables: &[&TableName<'_>]) -> Vec<Right> {
    const ACTIONS: [&str; 6] = [
        "kms:Decrypt",
        "kms:DescribeKey",
        "kms:Encrypt",
        "kms:GenerateDataKey",
        "kms:ReEncryptFrom",
        "kms:ReEncryptTo",
    ];
    let key = |sid: &str, key: String, condition: &str| {
        let right = Right::new(sid, &ACTIONS, [format!("!Ref {key}")]).only_if(condition);
        Right { limit: THROUGH_SERVICES, ..right }
    };
    let own = key("UseTheKey", "KmsKeyArn".to_owned(), "HasKey");
    let existing = tables.iter().filter(|name| !name.managed).map(|name| {
        let id = &name.id;
        key(&format!("UseTheKeyOf{id}"), format!("{id}TableKeyArn"), &format!("{id}TableHasKey"))
    });
    [own].into_iter().chain(existing).collect()
}
