//! Switching on that a table deletes items whose time is over.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::TimeToLiveSpecification;
use keyfold_core::model::Table;

use super::describe::expires_by;
use crate::error::{Call, DynamoError};

/// Lets the table delete items by the attribute that the model names, if it names one and the table does not do so yet.
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
