//! Adds the missing global indexes to a live table, one after the other.
//!
//! No state is stored: the next step follows from DescribeTable alone, so the command can be interrupted and repeated,
//! also by another user. Nothing is deleted or replaced: a different table or index is refused before anything changes.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, CreateGlobalSecondaryIndexAction, GlobalSecondaryIndexDescription,
    GlobalSecondaryIndexUpdate, IndexStatus, ProvisionedThroughput, TableDescription, TableStatus,
    WarmThroughput as SdkWarmThroughput,
};
use keyfold_core::model::{Index, IndexKind, Table};
use tokio::time::{Instant, sleep};

use super::describe::description;
use super::diff::{Difference, NO_LOCAL_INDEX, OTHER_INDEX, TableDiff};
use super::schema::TableOptions;
use super::schema::{IndexSchema, Schema};
use crate::backoff::delay;
use crate::error::{Call, DynamoError};

/// Maximum wait for one index. DynamoDB fills the index of a large table for hours.
pub const INDEX_ACTIVE_WAIT_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// Maximum consecutive transient errors.
const FAILURES_MAX: u32 = 20;

/// A table whose indexes are added, as DynamoDB describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveIndexes {
    /// Can the table be changed now?
    pub table_is_active: bool,
    /// The approximate number of items: DynamoDB updates it every few hours.
    pub items: u64,
    /// The requested indexes, in order.
    pub indexes: Vec<LiveIndex>,
    /// Other indexes that are being changed. DynamoDB changes one at a time.
    pub others_busy: Vec<String>,
}

/// The progress of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveIndex {
    /// The index.
    pub name: String,
    /// Its phase.
    pub phase: IndexPhase,
    /// The approximate number of its items.
    pub items: u64,
}

/// The phase of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexPhase {
    /// The table has no such index.
    Missing,
    /// DynamoDB allocates resources for it.
    Creating,
    /// DynamoDB copies the table's items into it.
    Filling,
    /// Its capacity is being changed.
    Updating,
    /// It is being deleted.
    Deleting,
    /// It is ready.
    Active,
}

/// The units per second that an index can serve at once, before it scales with its traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmThroughput {
    /// Read units per second.
    pub read: u32,
    /// Write units per second.
    pub write: u32,
}

/// Why indexes are not added.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum AddIndexError {
    /// A call failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The table, or one of its indexes, differs from the manifest.
    #[error("table `{table}` differs from the manifest: {diff}")]
    Differs { table: String, diff: TableDiff },
    /// A local index is missing.
    #[error(
        "table `{table}` has no index `{index}`, and it is a local one: DynamoDB makes those together with the table only"
    )]
    LocalIndexMissing { table: String, index: String },
}

impl AddIndexError {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            AddIndexError::Dynamo(error) => error.code(),
            AddIndexError::Differs { .. } => "table-differs",
            AddIndexError::LocalIndexMissing { .. } => "local-index-missing",
        }
    }

    /// A suggestion.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            AddIndexError::Dynamo(error) => error.hint(),
            AddIndexError::Differs { .. } => Some(OTHER_INDEX),
            AddIndexError::LocalIndexMissing { .. } => Some(NO_LOCAL_INDEX),
        }
    }
}

impl IndexPhase {
    /// Its name in messages and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            IndexPhase::Missing => "missing",
            IndexPhase::Creating => "creating",
            IndexPhase::Filling => "filling",
            IndexPhase::Updating => "updating",
            IndexPhase::Deleting => "deleting",
            IndexPhase::Active => "active",
        }
    }

    fn of(index: &GlobalSecondaryIndexDescription) -> IndexPhase {
        match index.index_status() {
            Some(IndexStatus::Active) => IndexPhase::Active,
            Some(IndexStatus::Deleting) => IndexPhase::Deleting,
            Some(IndexStatus::Updating) => IndexPhase::Updating,
            _ if index.backfilling() == Some(true) => IndexPhase::Filling,
            _ => IndexPhase::Creating,
        }
    }
}

impl LiveIndexes {
    /// The indexes that are not created yet.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.indexes.iter().filter(|index| index.phase == IndexPhase::Missing).map(|index| &*index.name)
    }

    /// The indexes that are being created and cannot be used yet.
    pub(super) fn busy(found: &TableDescription) -> impl Iterator<Item = String> {
        let busy = |index: &&GlobalSecondaryIndexDescription| {
            !matches!(IndexPhase::of(index), IndexPhase::Active | IndexPhase::Deleting)
        };
        let busy = found.global_secondary_indexes().iter().filter(busy);
        busy.filter_map(|index| index.index_name().map(str::to_owned))
    }

    /// Can the table be changed now, and are all its indexes ready?
    fn is_settled(&self) -> bool {
        let settled = |index: &LiveIndex| matches!(index.phase, IndexPhase::Active | IndexPhase::Missing);
        self.table_is_active && self.others_busy.is_empty() && self.indexes.iter().all(settled)
    }

    fn of(table: &Table, wanted: &[&Index], found: &TableDescription) -> Result<LiveIndexes, AddIndexError> {
        let global = found.global_secondary_indexes();
        let of_name = |name: &str| global.iter().find(|index| index.index_name() == Some(name));
        check(table, wanted, found)?;
        let one = |index: &&Index| match (of_name(&index.name), index.kind) {
            (Some(there), _) => {
                let phase = IndexPhase::of(there);
                LiveIndex { name: index.name.clone(), phase, items: whole(there.item_count()) }
            }
            // Missing ones were refused above.
            (None, IndexKind::Local) => {
                LiveIndex { name: index.name.clone(), phase: IndexPhase::Active, items: 0 }
            }
            (None, IndexKind::Global) => {
                LiveIndex { name: index.name.clone(), phase: IndexPhase::Missing, items: 0 }
            }
        };
        let other = |index: &&GlobalSecondaryIndexDescription| {
            let wanted = wanted.iter().any(|wanted| index.index_name() == Some(&*wanted.name));
            !wanted && IndexPhase::of(index) != IndexPhase::Active
        };
        let others = global.iter().filter(other).filter_map(|index| index.index_name());
        Ok(LiveIndexes {
            table_is_active: found.table_status() == Some(&TableStatus::Active),
            items: whole(found.item_count()),
            indexes: wanted.iter().map(one).collect(),
            others_busy: others.map(str::to_owned).collect(),
        })
    }
}

/// `` `byUser` filling (1200 items) of a table with about 50000 ``
impl fmt::Display for LiveIndexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, index) in self.indexes.iter().enumerate() {
            write!(f, "{}`{}` {}", if at == 0 { "" } else { ", " }, index.name, index.phase.name())?;
            if index.phase == IndexPhase::Filling {
                write!(f, " ({} of about {} items)", index.items, self.items.max(index.items))?;
            }
        }
        for other in &self.others_busy {
            write!(f, ", waiting for `{other}`")?;
        }
        match self.table_is_active {
            true => Ok(()),
            false => f.write_str(", the table is being changed"),
        }
    }
}

/// Refuses a different table, and indexes that cannot become those of the manifest.
fn check(table: &Table, wanted: &[&Index], found: &TableDescription) -> Result<(), AddIndexError> {
    let of_name = |name: &str| wanted.iter().find(|index| index.name == name);
    let of_table = table.key_attributes();
    let keys: BTreeSet<&str> = of_table
        .chain(wanted.iter().flat_map(|index| index.key_attributes()))
        .map(|key| &*key.name)
        .collect();
    let mut diff = TableDiff::of(table, TableOptions::default(), found);
    for difference in &diff.differences {
        if let Difference::NoIndex { index } = difference
            && of_name(index).is_some_and(|index| index.kind == IndexKind::Local)
        {
            return Err(AddIndexError::LocalIndexMissing { table: table.name.clone(), index: index.clone() });
        }
    }
    diff.differences.retain(|difference| match difference {
        Difference::Keys { index: None, .. } => true,
        Difference::Keys { index: Some(index), .. }
        | Difference::IndexKind { index }
        | Difference::Projection { index, .. } => of_name(index).is_some(),
        Difference::KeyType { attribute, .. } => keys.contains(&**attribute),
        Difference::NoIndex { .. } | Difference::UnknownIndex { .. } | Difference::NoStream => false,
    });
    match diff.is_empty() {
        true => Ok(()),
        false => Err(AddIndexError::Differs { table: table.name.clone(), diff }),
    }
}

/// The progress of these indexes in the live table. Read-only.
pub async fn live_indexes(
    client: &Client,
    table: &Table,
    wanted: &[&Index],
) -> Result<LiveIndexes, AddIndexError> {
    LiveIndexes::of(table, wanted, &description(client, table).await?)
}

/// Adds these indexes to the live table, each when the previous one is active, and returns when all are. The result of
/// DescribeTable is reported before each step. In a table with provisioned capacity each new index gets its own.
pub async fn add_indexes(
    client: &Client,
    table: &Table,
    wanted: &[&Index],
    warm: Option<WarmThroughput>,
    told: &mut dyn FnMut(&LiveIndexes),
) -> Result<LiveIndexes, AddIndexError> {
    let (mut changed, mut attempt, mut failures) = (Instant::now(), 0, 0);
    loop {
        let step = step(client, table, wanted, warm, told).await;
        match step {
            Ok(AddProgress::Done(live)) => return Ok(live),
            Ok(AddProgress::Sent) => (changed, attempt, failures) = (Instant::now(), 0, 0),
            Ok(AddProgress::Wait) => failures = 0,
            // A wait of hours must survive a lost connection. Another change of the table may have started in between.
            Err(AddIndexError::Dynamo(error)) if may_pass(&error) && failures < FAILURES_MAX => failures += 1,
            Err(error) => return Err(error),
        }
        if changed.elapsed() > INDEX_ACTIVE_WAIT_MAX {
            let call = Call::new("UpdateTable", &table.name);
            return Err(DynamoError::NotActive { call, waited: changed.elapsed() }.into());
        }
        sleep(delay(attempt, 1.0)).await;
        attempt += 1;
    }
}

enum AddProgress {
    /// Every index is active.
    Done(LiveIndexes),
    /// An index was requested.
    Sent,
    /// A change is still in progress.
    Wait,
}

async fn step(
    client: &Client,
    table: &Table,
    wanted: &[&Index],
    warm: Option<WarmThroughput>,
    told: &mut dyn FnMut(&LiveIndexes),
) -> Result<AddProgress, AddIndexError> {
    let found = description(client, table).await?;
    let live = LiveIndexes::of(table, wanted, &found)?;
    told(&live);
    if !live.is_settled() {
        return Ok(AddProgress::Wait);
    }
    let Some(index) = wanted.iter().find(|index| live.missing().any(|name| name == index.name)) else {
        return Ok(AddProgress::Done(live));
    };
    let call = || Call::on("UpdateTable", &table.name, Some(&index.name));
    let (definitions, update) =
        creation(table, index, warm, &found).map_err(|error| DynamoError::of_build(call(), &error))?;
    let request = client
        .update_table()
        .table_name(&table.name)
        .set_attribute_definitions(Some(definitions))
        .global_secondary_index_updates(update);
    request.send().await.map_err(|error| DynamoError::of(call(), error))?;
    Ok(AddProgress::Sent)
}

/// The index, and the definitions of all key attributes of the table with it. DynamoDB refuses definitions that no key
/// uses, so those of later indexes are not included.
fn creation(
    table: &Table,
    index: &Index,
    warm: Option<WarmThroughput>,
    found: &TableDescription,
) -> Result<(Vec<AttributeDefinition>, GlobalSecondaryIndexUpdate), BuildError> {
    let wanted = Schema::of_model(&Table { indexes: vec![index.clone()], ..table.clone() });
    let mut definitions = found.attribute_definitions().to_vec();
    for definition in wanted.definitions()? {
        if !definitions.iter().any(|known| known.attribute_name == definition.attribute_name) {
            definitions.push(definition);
        }
    }
    let IndexSchema { keys, projected, .. } = &wanted.indexes[&index.name];
    let action = CreateGlobalSecondaryIndexAction::builder()
        .index_name(&index.name)
        .set_key_schema(Some(keys.elements()?))
        .projection(projected.to_sdk())
        .set_provisioned_throughput(provisioned(found)?)
        .set_warm_throughput(warm.map(|warm| {
            SdkWarmThroughput::builder()
                .read_units_per_second(warm.read.into())
                .write_units_per_second(warm.write.into())
                .build()
        }))
        .build()?;
    Ok((definitions, GlobalSecondaryIndexUpdate::builder().create(action).build()))
}

/// The capacity of a table that is not on demand.
fn provisioned(found: &TableDescription) -> Result<Option<ProvisionedThroughput>, BuildError> {
    let units = found
        .provisioned_throughput()
        .map(|units| (units.read_capacity_units().unwrap_or(0), units.write_capacity_units().unwrap_or(0)));
    let Some((read, write)) = units.filter(|(read, write)| *read > 0 && *write > 0) else { return Ok(None) };
    ProvisionedThroughput::builder().read_capacity_units(read).write_capacity_units(write).build().map(Some)
}

fn may_pass(error: &DynamoError) -> bool {
    // "Only 1 online index can be created or deleted simultaneously per table"
    let one_at_a_time =
        matches!(error, DynamoError::Other { reason, .. } if reason == "LimitExceededException");
    error.is_retryable() || one_at_a_time || matches!(error, DynamoError::InUse { .. })
}

pub(super) fn whole(count: Option<i64>) -> u64 {
    count.unwrap_or(0).max(0).unsigned_abs()
}
