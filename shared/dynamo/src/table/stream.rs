//! Enables a table's stream, which most tables do not have yet.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::TimeToLiveSpecification;
use keyfold_core::model::Table;

use super::create::{both_images, wait_until_active};
use super::describe::expires_by;
use super::{TableOptions, describe};
use crate::error::{Call, DynamoError};

/// Enables the table's stream, with both images, and waits until the table is active again. Returns whether it had one:
/// an existing stream with both images is kept.
///
/// DynamoDB cannot change a stream's view type: the stream must be disabled first, and its readers would lose it.
pub async fn enable_stream(client: &Client, table: &Table) -> Result<bool, DynamoError> {
    let call = || Call::new("UpdateTable", &table.name);
    let wanted = TableOptions { stream: true };
    if !describe(client, table, wanted).await?.lacks_stream() {
        return Ok(true);
    }
    let stream = both_images().map_err(|error| DynamoError::of_build(call(), &error))?;
    let request = client.update_table().table_name(&table.name).stream_specification(stream);
    request.send().await.map_err(|error| DynamoError::of(call(), error))?;
    wait_until_active(client, table).await?;
    Ok(false)
}

/// Enables time to live by the model's attribute, if it has one and the table does not use it yet.
pub async fn enable_ttl(client: &Client, table: &Table) -> Result<(), DynamoError> {
    let Some(attribute) = &table.ttl else { return Ok(()) };
    if expires_by(client, table).await?.as_ref() == Some(attribute) {
        return Ok(());
    }
    let call = || Call::new("UpdateTimeToLive", &table.name);
    let wanted = TimeToLiveSpecification::builder().enabled(true).attribute_name(attribute).build();
    let wanted = wanted.map_err(|error| DynamoError::of_build(call(), &error))?;
    let request = client.update_time_to_live().table_name(&table.name).time_to_live_specification(wanted);
    request.send().await.map(drop).map_err(|error| DynamoError::of(call(), error))
}
