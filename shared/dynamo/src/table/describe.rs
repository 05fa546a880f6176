//! DescribeTable, compared with the model.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{TableDescription, TimeToLiveStatus};
use keyfold_core::model::Table;

use super::diff::TableDiff;
use super::schema::TableOptions;
use crate::error::{Call, DynamoError};

/// The differences between the table in DynamoDB, and the model and the options.
pub async fn describe(
    client: &Client,
    table: &Table,
    options: TableOptions,
) -> Result<TableDiff, DynamoError> {
    description(client, table).await.map(|found| TableDiff::of(table, options, &found))
}

/// DynamoDB's unique id of this table; a later table with the same name has another one.
pub async fn table_id(client: &Client, table: &Table) -> Result<String, DynamoError> {
    let found = description(client, table).await?;
    Ok(found.table_id.or(found.table_arn).unwrap_or_default())
}

/// Maximum tables whose names are read: the default quota of an account.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html>
const TABLES_MAX: usize = 2500;

/// DynamoDB's description of the table.
pub(crate) async fn description(client: &Client, table: &Table) -> Result<TableDescription, DynamoError> {
    let call = || Call::new("DescribeTable", &table.name);
    let answer = client.describe_table().table_name(&table.name).send().await;
    let answer = answer.map_err(|error| DynamoError::of(call(), error))?;
    answer.table.ok_or_else(|| DynamoError::NotFound { call: call() })
}

/// The names of the account's tables, at most `TABLES_MAX` of them.
pub async fn table_names(client: &Client) -> Result<Vec<String>, DynamoError> {
    let mut names: Vec<String> = Vec::new();
    let mut after = None;
    while names.len() < TABLES_MAX {
        let answer = client.list_tables().set_exclusive_start_table_name(after).send().await;
        let answer = answer.map_err(|error| DynamoError::of(Call::new("ListTables", ""), error))?;
        names.extend(answer.table_names.unwrap_or_default());
        after = answer.last_evaluated_table_name;
        if after.is_none() {
            break;
        }
    }
    Ok(names)
}

/// Is time to live enabled, with the model's attribute?
pub(crate) async fn expires(client: &Client, table: &Table) -> Result<bool, DynamoError> {
    let found = time_to_live(client, table).await?;
    Ok(found.is_some_and(|(by, status)| status == TimeToLiveStatus::Enabled && table.ttl == Some(by)))
}

/// The attribute of time to live, if it is enabled or being enabled.
pub(super) async fn expires_by(client: &Client, table: &Table) -> Result<Option<String>, DynamoError> {
    let on =
        |status: &TimeToLiveStatus| matches!(status, TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling);
    let found = time_to_live(client, table).await?;
    Ok(found.filter(|(_, status)| on(status)).map(|(by, _)| by))
}

async fn time_to_live(
    client: &Client,
    table: &Table,
) -> Result<Option<(String, TimeToLiveStatus)>, DynamoError> {
    let answer = client.describe_time_to_live().table_name(&table.name).send().await;
    let answer =
        answer.map_err(|error| DynamoError::of(Call::new("DescribeTimeToLive", &table.name), error))?;
    Ok(answer.time_to_live_description.and_then(|found| found.attribute_name.zip(found.time_to_live_status)))
}
