//! PutItem.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemOutput;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::types::{
    ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnValuesOnConditionCheckFailure,
};
use keyfold_core::model::Table;
use keyfold_core::value::Item;

use super::{Collection, WriteError};
use crate::consumed::Consumed;
use crate::error::{Call, DynamoError};
use crate::values::to_sdk;

/// Writes an item, with its folded keys, over whatever has its key. Returns the write units it cost.
///
/// ```no_run
/// # async fn example(table: &keyfold_core::model::Table) -> Result<(), Box<dyn std::error::Error>> {
/// use keyfold_dynamo::{Settings, client, item_of, put};
/// #[derive(serde::Serialize)]
/// struct Event { id: &'static str, action: &'static str }
///
/// let client = client(&Settings::default()).await;
/// let item = item_of(table, &Event { id: "111aaa", action: "viewed" })?;
/// println!("{} write units", put(&client, table, item).await?.units);
/// # Ok(())
/// # }
/// ```
pub async fn put(client: &Client, table: &Table, item: Item) -> Result<Consumed, WriteError> {
    let request = client.put_item().set_item(Some(to_sdk(table.written(item)?)));
    let answer = send(table, request).await?;
    Ok(Consumed::of(answer.consumed_capacity()))
}

/// Writes an item, with its folded keys, where none has its key. If one has, the error is
/// [`DynamoError::ConditionFailed`] and holds that one.
pub async fn put_new(client: &Client, table: &Table, item: Item) -> Result<Consumed, WriteError> {
    let request = conditional(client, table, table.written(item)?)
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    let answer = send(table, request).await?;
    Ok(Consumed::of(answer.consumed_capacity()))
}

/// Writes an item that has its keys where none has its key, and asks how large its item collection is.
pub(super) async fn put_new_measured(
    client: &Client,
    table: &Table,
    item: Item,
) -> Result<(Consumed, Option<Collection>), DynamoError> {
    let local = table.local_indexes().next().is_some();
    let request = conditional(client, table, item)
        .set_return_item_collection_metrics(local.then_some(ReturnItemCollectionMetrics::Size));
    let answer = send(table, request).await?;
    let collection = Collection::of(table, answer.item_collection_metrics());
    Ok((Consumed::of(answer.consumed_capacity()), collection))
}

fn conditional(client: &Client, table: &Table, item: Item) -> PutItemFluentBuilder {
    client
        .put_item()
        .set_item(Some(to_sdk(item)))
        .condition_expression("attribute_not_exists(#key)")
        .expression_attribute_names("#key", &table.partition.name)
}

async fn send(table: &Table, request: PutItemFluentBuilder) -> Result<PutItemOutput, DynamoError> {
    request
        .table_name(&table.name)
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await
        .map_err(|error| DynamoError::of(Call::new("PutItem", &table.name), error))
}
