//! DescribeTable, compared with the model.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{TableDescription, TimeToLiveStatus};
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

/// Does the table delete items whose time is over, by the attribute that the model names?
pub(crate) async fn expires(client: &Client, table: &Table) -> Result<bool, DynamoError> {
    let answer = client.describe_time_to_live().table_name(&table.name).send().await;
    let answer =
        answer.map_err(|error| DynamoError::of(Call::new("DescribeTimeToLive", &table.name), error))?;
    let found = answer.time_to_live_description;
    Ok(found.is_some_and(|found| {
        found.time_to_live_status() == Some(&TimeToLiveStatus::Enabled)
            && found.attribute_name() == table.ttl.as_deref()
    }))
}
