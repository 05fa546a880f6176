//! DescribeTable, compared with the model.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::TableDescription;
use keyfold_core::model::Table;

use super::diff::TableDiff;
use super::options::TableOptions;
use crate::error::{Call, DynamoError};

/// How the table in DynamoDB differs from what the model and the options say.
pub async fn describe(
    client: &Client,
    table: &Table,
    options: TableOptions,
) -> Result<TableDiff, DynamoError> {
    description(client, table).await.map(|found| TableDiff::of(table, options, &found))
}

/// DynamoDB's description of the table.
pub(crate) async fn description(client: &Client, table: &Table) -> Result<TableDescription, DynamoError> {
    let call = || Call::new("DescribeTable", &table.name);
    let answer = client.describe_table().table_name(&table.name).send().await;
    let answer = answer.map_err(|error| DynamoError::of(call(), error))?;
    answer.table.ok_or_else(|| DynamoError::NotFound { call: call() })
}
