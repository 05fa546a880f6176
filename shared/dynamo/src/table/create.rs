//! CreateTable from the model, and the wait until the table is active.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::create_table::builders::CreateTableInputBuilder;
use aws_sdk_dynamodb::types::{
    BillingMode, GlobalSecondaryIndex, IndexStatus, LocalSecondaryIndex, StreamSpecification, StreamViewType,
    TableDescription, TableStatus,
};
use keyfold_core::model::{IndexKind, Table};
use tokio::time::{Instant, sleep};

use super::describe::{describe, description};
use super::diff::{Difference, TableDiff};
use super::schema::{IndexSchema, Schema, TableOptions};
use crate::backoff::delay;
use crate::error::{Call, DynamoError};

/// Maximum wait for a new table to become active.
pub const TABLE_ACTIVE_WAIT_MAX: Duration = Duration::from_secs(300);

/// Creates a table with all its indexes, on demand, and waits until all of it is active.
pub async fn create_table(client: &Client, table: &Table, options: TableOptions) -> Result<(), DynamoError> {
    let call = || Call::new("CreateTable", &table.name);
    let request =
        create_table_input(table, options).map_err(|error| DynamoError::of_build(call(), &error))?;
    request.send_with(client).await.map_err(|error| DynamoError::of(call(), error))?;
    wait_until_active(client, table).await
}

/// The CreateTable request for a table of the model.
pub fn create_table_input(
    table: &Table,
    options: TableOptions,
) -> Result<CreateTableInputBuilder, BuildError> {
    let schema = Schema::of_model(table);
    let mut request = CreateTableInputBuilder::default()
        .table_name(&table.name)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(schema.definitions()?))
        .set_key_schema(Some(schema.keys.elements()?));
    for (name, index) in &schema.indexes {
        request = match index.kind {
            IndexKind::Local => request.local_secondary_indexes(local_index(name, index)?),
            IndexKind::Global => request.global_secondary_indexes(global_index(name, index)?),
        };
    }
    if options.stream {
        request = request.stream_specification(both_images()?);
    }
    Ok(request)
}

fn local_index(name: &str, index: &IndexSchema) -> Result<LocalSecondaryIndex, BuildError> {
    LocalSecondaryIndex::builder()
        .index_name(name)
        .set_key_schema(Some(index.keys.elements()?))
        .projection(index.projected.to_sdk())
        .build()
}

fn global_index(name: &str, index: &IndexSchema) -> Result<GlobalSecondaryIndex, BuildError> {
    GlobalSecondaryIndex::builder()
        .index_name(name)
        .set_key_schema(Some(index.keys.elements()?))
        .projection(index.projected.to_sdk())
        .build()
}

pub(super) fn both_images() -> Result<StreamSpecification, BuildError> {
    StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages)
        .build()
}

/// Polls with growing pauses, up to [`TABLE_ACTIVE_WAIT_MAX`].
pub(super) async fn wait_until_active(client: &Client, table: &Table) -> Result<(), DynamoError> {
    let started = Instant::now();
    for attempt in 0.. {
        match description(client, table).await {
            Ok(found) if is_active(&found) => return Ok(()),
            // DescribeTable is eventually consistent: a new table can be missing for a moment.
            Ok(_) | Err(DynamoError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let pause = delay(attempt, 1.0);
        if started.elapsed() + pause > TABLE_ACTIVE_WAIT_MAX {
            break;
        }
        sleep(pause).await;
    }
    Err(DynamoError::NotActive { call: Call::new("CreateTable", &table.name), waited: started.elapsed() })
}

fn is_active(table: &TableDescription) -> bool {
    let indexes = table.global_secondary_indexes();
    table.table_status() == Some(&TableStatus::Active)
        && indexes.iter().all(|index| index.index_status() == Some(&IndexStatus::Active))
}

/// Why the table could not be created, or differs from the model.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum EnsureError {
    /// A call failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The existing table differs. It is not changed.
    #[error("table `{table}` exists and differs from the manifest: {diff}")]
    Differs { table: String, diff: TableDiff },
}

impl EnsureError {
    /// A stable name for the reason.
    pub fn code(&self) -> &'static str {
        match self {
            EnsureError::Dynamo(error) => error.code(),
            EnsureError::Differs { .. } => "table-differs",
        }
    }

    /// A suggestion, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            EnsureError::Dynamo(error) => error.hint(),
            EnsureError::Differs { diff, .. } => diff.differences.first().map(Difference::hint),
        }
    }
}

/// Creates the table unless it exists, and returns whether it did. An existing table is waited for and compared, never
/// changed.
pub async fn ensure_table(
    client: &Client,
    table: &Table,
    options: TableOptions,
) -> Result<bool, EnsureError> {
    match create_table(client, table, options).await {
        Ok(()) => return Ok(true),
        Err(DynamoError::InUse { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    wait_until_active(client, table).await?;
    let diff = describe(client, table, options).await?;
    if diff.is_compatible() {
        Ok(false)
    } else {
        Err(EnsureError::Differs { table: table.name.clone(), diff })
    }
}

#[cfg(test)]
mod tests;
