//! A table in the form of DynamoDB's API: the output of DescribeTable, the input of CreateTable, or the properties of a
//! CloudFormation resource. All three have the same fields.

use keyfold_core::model::{AttributeKind, Projection, ScalarType};
use serde_json::Value;

use crate::cursor::At;
use crate::draft::{Draft, IndexDraft, Rank, TableDraft, Ttl, kind_of_letter};
use crate::error::{Problem, ReadError};

/// Maximum attributes of one key; DynamoDB's limit is 4 and 4.
pub(crate) const KEY_PARTS_MAX: usize = 8;
/// Maximum indexes of a table.
pub(crate) const INDEXES_MAX: usize = 100;

/// Fields with an equivalent in the manifest, and purely informative ones.
const KNOWN: &[&str] = &[
    "TableName",
    "KeySchema",
    "AttributeDefinitions",
    "GlobalSecondaryIndexes",
    "LocalSecondaryIndexes",
    "TimeToLiveSpecification",
    "StreamSpecification",
    "BillingModeSummary",
    "TableStatus",
    "TableArn",
    "TableId",
    "CreationDateTime",
    "ItemCount",
    "TableSizeBytes",
    "LatestStreamLabel",
    "LatestStreamArn",
    "RestoreSummary",
    "IndexName",
    "IndexArn",
    "IndexStatus",
    "IndexSizeBytes",
    "Backfilling",
    "Projection",
    "PrimaryKey",
];

/// Descriptions of unsupported fields. Others are listed by name, so that none is lost silently.
const WORDS: &[(&str, &str)] = &[
    ("Replicas", "replicas in other regions"),
    ("GlobalTableVersion", "a global table"),
    ("GlobalTableWitnesses", "a witness of a global table"),
    ("VectorIndexes", "vector indexes"),
    ("GlobalVectorIndexes", "vector indexes"),
    ("ResourcePolicy", "a policy on the table"),
    ("KinesisStreamSpecification", "a Kinesis destination"),
    ("KinesisDataStreamDestinations", "a Kinesis destination"),
    ("ImportSourceSpecification", "an import from S3"),
    ("ContributorInsightsSpecification", "contributor insights"),
    ("WarmThroughput", "warm throughput"),
    ("OnDemandThroughput", "limits of on-demand throughput"),
    ("OnDemandThroughputOverride", "limits of on-demand throughput"),
    ("ProvisionedThroughput", "provisioned capacity"),
    ("WriteProvisionedThroughputSettings", "provisioned capacity"),
    ("PointInTimeRecoverySpecification", "point-in-time recovery"),
    ("SSESpecification", "encryption settings"),
    ("SSEDescription", "encryption settings"),
    ("DeletionProtectionEnabled", "deletion protection"),
    ("TableClass", "a table class"),
    ("TableClassSummary", "a table class"),
    ("Tags", "tags"),
];

/// Descriptions of the fields that a manifest cannot express.
pub(crate) fn unmodelled(at: &At<'_>, known: &[&str], words: &[(&str, &str)]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (name, member) in at.members() {
        if known.contains(&name) || says_nothing(member.value) {
            continue;
        }
        let word = words.iter().find(|(field, _)| *field == name);
        let word = word.map_or_else(|| format!("`{name}`"), |(_, word)| (*word).to_owned());
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// Is the value empty, off, or the default of every table?
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => matches!(text.as_str(), "" | "0" | "PAY_PER_REQUEST" | "STANDARD" | "false"),
        Value::Array(list) => list.iter().all(says_nothing),
        Value::Object(map) => {
            let off = ["Enabled", "enabled", "PointInTimeRecoveryEnabled", "SSEEnabled"];
            // DescribeTable returns the warm throughput of every table, with a status.
            off.iter().any(|name| map.get(*name).is_some_and(says_nothing))
                || map.contains_key("Status") && map.contains_key("ReadUnitsPerSecond")
                || map.values().all(says_nothing)
        }
    }
}

/// The output of DescribeTable, or the input of CreateTable.
pub(crate) fn read(root: &At<'_>) -> Result<Draft, ReadError> {
    let table = root.get("Table").or_else(|| root.get("TableDescription")).unwrap_or_else(|| root.clone());
    let mut draft = structure(&table)?;
    draft.name = Some(table.text_of("TableName")?.to_owned());
    draft.rank = Rank::Live;
    let count = |name: &str| table.get(name).and_then(|at| at.value.as_u64());
    draft.size = count("ItemCount").zip(count("TableSizeBytes")).filter(|(items, _)| *items > 0);
    Ok(Draft { tables: vec![draft], notes: Vec::new() })
}

/// The output of DescribeTimeToLive.
pub(crate) fn read_ttl(root: &At<'_>) -> Draft {
    let description = root.get("TimeToLiveDescription").unwrap_or_else(|| root.clone());
    let on = description.some_text("TimeToLiveStatus").is_some_and(|status| status.starts_with("ENABL"));
    let ttl = match description.some_text("AttributeName") {
        Some(name) if on => Ttl::On(name.to_owned()),
        _ => Ttl::Off,
    };
    let table = TableDraft { source: root.source.to_owned(), ttl, ..TableDraft::default() };
    Draft { tables: vec![table], notes: Vec::new() }
}

/// Keys, indexes, streams and unsupported fields.
pub(crate) fn structure(table: &At<'_>) -> Result<TableDraft, ReadError> {
    let mut draft = TableDraft { source: table.source.to_owned(), ..TableDraft::default() };
    let mut definitions = table.list("AttributeDefinitions");
    definitions.truncate(INDEXES_MAX * KEY_PARTS_MAX);
    for definition in definitions {
        let (name, letter) = (definition.text_of("AttributeName")?, definition.text_of("AttributeType")?);
        let scalar =
            scalar(letter).ok_or_else(|| definition.error(Problem::UnknownWord(letter.to_owned())))?;
        draft.scalars.insert(name.to_owned(), scalar);
    }
    let (partition, sort) = key_schema(table)?;
    draft.partition = partition.into_iter().next();
    draft.sort = sort.into_iter().next();
    for (field, local) in [("LocalSecondaryIndexes", true), ("GlobalSecondaryIndexes", false)] {
        for index in table.list(field) {
            if draft.indexes.len() == INDEXES_MAX {
                return Err(index.error(Problem::TooMany { max: INDEXES_MAX, what: "indexes" }));
            }
            draft.indexes.push(read_index(&index, local)?);
        }
    }
    if let Some(specification) = table.get("TimeToLiveSpecification") {
        draft.ttl = match specification.some_text("AttributeName") {
            Some(name) if specification.flag("Enabled") => Ttl::On(name.to_owned()),
            _ => Ttl::Off,
        };
    }
    draft.unmodelled = unmodelled(table, KNOWN, WORDS);
    for field in ["LocalSecondaryIndexes", "GlobalSecondaryIndexes"] {
        for index in table.list(field) {
            let name = index.some_text("IndexName").unwrap_or_default();
            let more = unmodelled(&index, KNOWN, WORDS);
            draft.unmodelled.extend(more.into_iter().map(|what| format!("{what} of index `{name}`")));
        }
    }
    if let Some(stream) = table.get("StreamSpecification").and_then(|at| at.some_text("StreamViewType"))
        && stream != "NEW_AND_OLD_IMAGES"
    {
        draft.notes.push(format!("its stream has {stream}; a retrofit needs NEW_AND_OLD_IMAGES"));
    }
    Ok(draft)
}

/// HASH and RANGE rows, in order.
pub(crate) fn key_schema(owner: &At<'_>) -> Result<(Vec<String>, Vec<String>), ReadError> {
    let schema = owner.need("KeySchema")?;
    let (mut partition, mut sort) = (Vec::new(), Vec::new());
    for row in schema.elements() {
        if partition.len() + sort.len() == KEY_PARTS_MAX {
            return Err(row.error(Problem::TooMany { max: KEY_PARTS_MAX, what: "key attributes" }));
        }
        let name = row.text_of("AttributeName")?.to_owned();
        match row.text_of("KeyType")? {
            "HASH" => partition.push(name),
            "RANGE" => sort.push(name),
            other => return Err(row.error(Problem::UnknownWord(other.to_owned()))),
        }
    }
    if partition.is_empty() {
        return Err(schema.error(Problem::Missing("HASH".to_owned())));
    }
    Ok((partition, sort))
}

fn read_index(index: &At<'_>, local: bool) -> Result<IndexDraft, ReadError> {
    let (partition, sort) = key_schema(index)?;
    let mut draft = IndexDraft {
        name: index.text_of("IndexName")?.to_owned(),
        local: Some(local),
        partition,
        sort,
        projection: index.get("Projection").map(|at| projection(&at)).transpose()?,
        notes: Vec::new(),
    };
    match index.some_text("IndexStatus") {
        None | Some("ACTIVE") => {}
        Some(status) => draft.notes.push(format!("its status is {status}: it may lack items")),
    }
    Ok(draft)
}

/// `{ProjectionType, NonKeyAttributes}`.
pub(crate) fn projection(at: &At<'_>) -> Result<Projection, ReadError> {
    let names = || at.get("NonKeyAttributes").map_or(Ok(Vec::new()), |names| names.texts());
    match at.some_text("ProjectionType").unwrap_or("ALL") {
        "ALL" => Ok(Projection::All),
        "KEYS_ONLY" => Ok(Projection::KeysOnly),
        "INCLUDE" => names().map(Projection::Include),
        other => Err(at.error(Problem::UnknownWord(other.to_owned()))),
    }
}

/// S, N or B.
pub(crate) fn scalar(letter: &str) -> Option<ScalarType> {
    match letter {
        "S" => Some(ScalarType::S),
        "N" => Some(ScalarType::N),
        "B" => Some(ScalarType::B),
        _ => None,
    }
}

/// The attribute type that a key attribute has.
pub(crate) fn kind_of(scalar: ScalarType) -> Option<AttributeKind> {
    kind_of_letter(scalar.letter())
}
