//! A read-only view of a table: its description as JSON, and a sample of its items within a number of read units.
//!
//! A scan follows the hash of the partition key, so its first page contains only a few item collections. The sample
//! instead takes one small page of each of many segments, and one of each index that projects whole items, because
//! sparse attributes show there.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, KeySchemaElement, KeyType, PointInTimeRecoveryStatus, Projection, ProjectionType,
    ProvisionedThroughputDescription, TableDescription,
};
use keyfold_core::index::item_bytes;
use keyfold_core::value::Item;
use serde_json::{Value, json};

use crate::error::{Call, DynamoError};
use crate::read::{PageRequest, ScanPage, Segment, scan_page};

/// The number of segments of a sample.
const SEGMENTS: u32 = 64;
/// The items of one page, if pages are fast.
const PAGE_ITEMS: u32 = 25;
/// Maximum items of a page, if pages are slow.
const PAGE_ITEMS_MAX: u32 = 500;
/// Maximum items of a sample.
const ITEMS_MAX: usize = 5_000;
/// Maximum bytes of a sample, which bounds the memory.
const BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Maximum pages of each segment.
const ROUNDS_MAX: u32 = 8;
/// Maximum indexes that are sampled.
const INDEXES_MAX: usize = 25;
/// The cost of the largest item, eventually consistent: 400 KB in units of 4 KB, half a unit each.
const ITEM_UNITS_MAX: f64 = 50.0;
/// The maximum cost of a page: 1 MB.
const PAGE_UNITS_MAX: f64 = 128.5;
/// The maximum time of a sample. A page in flight is completed.
const SAMPLE_TIME: Duration = Duration::from_secs(6);

/// The description of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// The output of DescribeTable, as far as an importer needs it.
    pub table: Value,
    /// The output of DescribeTimeToLive; `None` if it was refused.
    pub time_to_live: Option<Value>,
    /// The attributes of the primary key.
    pub key: Vec<String>,
    /// The indexes that hold whole items.
    pub indexes: Vec<String>,
}

/// The limits of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleOptions {
    /// Maximum read units. A page is requested only if the largest possible one is affordable.
    pub read_units_max: f64,
    /// Maximum time.
    pub time: Duration,
}

impl Default for SampleOptions {
    fn default() -> SampleOptions {
        SampleOptions { read_units_max: 600.0, time: SAMPLE_TIME }
    }
}

/// A sample.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// The items, each once.
    pub items: Vec<Item>,
    /// The number of pages read.
    pub pages: u32,
    /// Their cost.
    pub read_units: f64,
}

/// Describes a table: DescribeTable and DescribeTimeToLive. Kinesis destinations are listed if permitted.
pub async fn table_description(client: &Client, table: &str) -> Result<Described, DynamoError> {
    let call = || Call::new("DescribeTable", table);
    let answer = client.describe_table().table_name(table).send().await;
    let answer = answer.map_err(|error| DynamoError::of(call(), error))?;
    let description = answer.table.ok_or_else(|| DynamoError::NotFound { call: call() })?;
    let time_to_live = client.describe_time_to_live().table_name(table).send().await.ok();
    let time_to_live = time_to_live.and_then(|answer| answer.time_to_live_description).map(|ttl| {
        let status = ttl.time_to_live_status().map_or("DISABLED", |status| status.as_str());
        json!({ "TimeToLiveDescription": { "TimeToLiveStatus": status, "AttributeName": ttl.attribute_name() } })
    });
    let mut value = as_json(&description);
    let kinesis = client.describe_kinesis_streaming_destination().table_name(table).send().await;
    if kinesis.is_ok_and(|answer| !answer.kinesis_data_stream_destinations().is_empty()) {
        value["KinesisDataStreamDestinations"] = json!(["destination"]);
    }
    let backups = client.describe_continuous_backups().table_name(table).send().await.ok();
    let recovery = backups
        .and_then(|answer| answer.continuous_backups_description)
        .and_then(|backups| backups.point_in_time_recovery_description)
        .and_then(|recovery| recovery.point_in_time_recovery_status);
    if recovery == Some(PointInTimeRecoveryStatus::Enabled) {
        value["PointInTimeRecoverySpecification"] = json!(true);
    }
    if let Some(arn) = description.table_arn() {
        let policy = client.get_resource_policy().resource_arn(arn).send().await;
        if policy.is_ok_and(|answer| answer.policy().is_some()) {
            value["ResourcePolicy"] = json!("policy");
        }
    }
    let whole = description.global_secondary_indexes().iter().filter(|index| {
        index.projection().and_then(Projection::projection_type) == Some(&ProjectionType::All)
    });
    Ok(Described {
        key: description.key_schema().iter().map(|row| row.attribute_name().to_owned()).collect(),
        indexes: whole.filter_map(|index| index.index_name().map(str::to_owned)).take(INDEXES_MAX).collect(),
        table: json!({ "Table": value }),
        time_to_live,
    })
}

fn as_json(table: &TableDescription) -> Value {
    let definition = |one: &AttributeDefinition| json!({ "AttributeName": one.attribute_name(), "AttributeType": one.attribute_type().as_str() });
    let index = |name: Option<&str>,
                 keys: &[KeySchemaElement],
                 projection: Option<&Projection>,
                 status: Option<&str>| {
        let kind = projection.and_then(Projection::projection_type).map_or("ALL", |kind| kind.as_str());
        let names = projection.map(Projection::non_key_attributes).unwrap_or_default();
        json!({
            "IndexName": name, "KeySchema": schema(keys), "IndexStatus": status,
            "Projection": { "ProjectionType": kind, "NonKeyAttributes": names },
        })
    };
    let global = table.global_secondary_indexes().iter().map(|one| {
        let status = one.index_status().map(aws_sdk_dynamodb::types::IndexStatus::as_str);
        index(one.index_name(), one.key_schema(), one.projection(), status)
    });
    let local = table
        .local_secondary_indexes()
        .iter()
        .map(|one| index(one.index_name(), one.key_schema(), one.projection(), None));
    let mut value = json!({
        "TableName": table.table_name(),
        "KeySchema": schema(table.key_schema()),
        "AttributeDefinitions": table.attribute_definitions().iter().map(definition).collect::<Vec<_>>(),
        "GlobalSecondaryIndexes": global.collect::<Vec<_>>(),
        "LocalSecondaryIndexes": local.collect::<Vec<_>>(),
        "ItemCount": table.item_count(),
        "TableSizeBytes": table.table_size_bytes(),
    });
    if let Some(view) = table.stream_specification().and_then(|stream| stream.stream_view_type()) {
        value["StreamSpecification"] = json!({ "StreamViewType": view.as_str() });
    }
    // Features that a manifest cannot express. They are listed by name.
    let has = [
        ("Replicas", !table.replicas().is_empty()),
        ("GlobalTableWitnesses", !table.global_table_witnesses().is_empty()),
        ("SSEDescription", table.sse_description().is_some()),
        ("DeletionProtectionEnabled", table.deletion_protection_enabled() == Some(true)),
        ("OnDemandThroughput", table.on_demand_throughput().is_some()),
        ("ProvisionedThroughput", capacity(table.provisioned_throughput()) > 0),
        (
            "TableClass",
            table
                .table_class_summary()
                .and_then(|class| class.table_class())
                .is_some_and(|class| class.as_str() != "STANDARD"),
        ),
    ];
    for (field, _) in has.into_iter().filter(|(_, has)| *has) {
        value[field] = json!(true);
    }
    value
}

fn capacity(provisioned: Option<&ProvisionedThroughputDescription>) -> i64 {
    provisioned.and_then(ProvisionedThroughputDescription::read_capacity_units).unwrap_or(0)
}

fn schema(keys: &[KeySchemaElement]) -> Value {
    let row = |key: &KeySchemaElement| {
        let kind = if key.key_type() == &KeyType::Hash { "HASH" } else { "RANGE" };
        json!({ "AttributeName": key.attribute_name(), "KeyType": kind })
    };
    Value::Array(keys.iter().map(row).collect())
}

/// Reads a sample within its limits.
pub async fn sample(
    client: &Client,
    table: &str,
    described: &Described,
    options: SampleOptions,
) -> Result<Sample, DynamoError> {
    let mut taken = Taken {
        described,
        sample: Sample::default(),
        seen: HashSet::new(),
        bytes: 0,
        options,
        started: Instant::now(),
    };
    for index in &described.indexes {
        let Some(limit) = taken.limit() else { break };
        let page = PageRequest {
            table: table.to_owned(),
            index: Some(index.clone()),
            limit: Some(limit),
            ..PageRequest::default()
        };
        taken.read(client, ScanPage { page, segment: None }).await?;
    }
    let mut starts: Vec<Option<Option<Item>>> = vec![Some(None); SEGMENTS as usize];
    for _ in 0..ROUNDS_MAX {
        for number in scattered() {
            let Some(start) = starts[number as usize].clone() else { continue };
            let Some(limit) = taken.limit() else { return Ok(taken.sample) };
            let page = PageRequest {
                table: table.to_owned(),
                limit: Some(limit),
                start_key: start,
                ..PageRequest::default()
            };
            let segment = Some(Segment { number, total: SEGMENTS });
            let next = taken.read(client, ScanPage { page, segment }).await?;
            starts[number as usize] = next.map(Some);
        }
    }
    Ok(taken.sample)
}

/// The segments in an order in which neighbours are far apart.
fn scattered() -> impl Iterator<Item = u32> {
    (0..SEGMENTS).map(|number| number.reverse_bits() >> (u32::BITS - SEGMENTS.trailing_zeros()))
}

struct Taken<'a> {
    described: &'a Described,
    sample: Sample,
    seen: HashSet<String>,
    bytes: u64,
    options: SampleOptions,
    started: Instant,
}

impl Taken<'_> {
    /// Maximum items of the next page; `None` if there must be no next page.
    fn limit(&self) -> Option<u32> {
        let left = self.options.read_units_max - self.sample.read_units;
        let full = self.sample.items.len() >= ITEMS_MAX || self.bytes >= BYTES_MAX;
        if full || self.started.elapsed() >= self.options.time || left < ITEM_UNITS_MAX {
            return None;
        }
        if left >= PAGE_UNITS_MAX {
            return Some(self.page_items());
        }
        (1..=PAGE_ITEMS).rev().find(|items| f64::from(*items) * ITEM_UNITS_MAX <= left)
    }

    /// If pages are slow, fewer and larger ones are read: the missing items of a full sample, divided by the pages that
    /// fit into the remaining time.
    fn page_items(&self) -> u32 {
        let elapsed = self.started.elapsed();
        if self.sample.pages == 0 || elapsed.is_zero() {
            return PAGE_ITEMS;
        }
        let left = self.options.time.saturating_sub(elapsed).as_secs_f64();
        let pages = (left * f64::from(self.sample.pages) / elapsed.as_secs_f64()).max(1.0);
        let wanted = (ITEMS_MAX - self.sample.items.len().min(ITEMS_MAX)) as f64 / pages;
        (wanted as u32).clamp(PAGE_ITEMS, PAGE_ITEMS_MAX)
    }

    /// Reads a page, and returns the start key of the next one.
    async fn read(&mut self, client: &Client, scan: ScanPage) -> Result<Option<Item>, DynamoError> {
        let page = scan_page(client, &scan).await?;
        self.sample.pages += 1;
        self.sample.read_units += page.consumed.units;
        for item in page.items {
            let identity =
                self.described.key.iter().map(|key| format!("{:?}", item.get(key))).collect::<String>();
            if self.seen.insert(identity) {
                self.bytes += item_bytes(&item);
                self.sample.items.push(item);
            }
        }
        Ok(page.last_key)
    }
}

#[cfg(test)]
mod tests {
    use super::{SEGMENTS, scattered};

    #[test]
    fn every_segment_has_its_turn_once_and_the_first_lie_far_apart() {
        let order: Vec<u32> = scattered().collect();
        assert_eq!(order[..4], [0, 32, 16, 48]);
        let mut all = order;
        all.sort_unstable();
        assert_eq!(all, (0..SEGMENTS).collect::<Vec<_>>());
    }
}
