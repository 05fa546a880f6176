//! A table that is there afterwards, as the model says: created, or found as it should be.

use aws_sdk_dynamodb::Client;
use keyfold_core::model::Table;

use super::create::{create_table, wait_until_active};
use super::describe::describe;
use super::diff::TableDiff;
use super::options::TableOptions;
use crate::error::DynamoError;

/// Why a table is not there as the model says.
#[derive(Debug, thiserror::Error)]
pub enum EnsureError {
    /// A call failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The table exists and is another one. It is left as it is.
    #[error("table `{table}` exists and differs from the manifest: {diff}")]
    Differs {
        /// The table's name in DynamoDB.
        table: String,
        /// How it differs.
        diff: TableDiff,
    },
}

impl EnsureError {
    /// The code that stays the same, whatever the message says.
    pub fn code(&self) -> &'static str {
        match self {
            EnsureError::Dynamo(error) => error.code(),
            EnsureError::Differs { .. } => "table-differs",
        }
    }
}

/// Creates the table unless it exists, and says whether it did. One that exists is waited for and compared, never changed.
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
