//! The naive protocol, for comparison: a replicator updates the items that exist, and a scan with a queue writes those that do
//! not exist yet. It looks right and is what most people write first, but it loses data. Nothing else in Keyfold writes like this.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use keyfold_core::model::Table;
use keyfold_core::value::Item;
use keyfold_dynamo::{
    Client, Expected, PutNew, PutNewOptions, Update, WriteError, delete, put, put_new_all, update,
};
use keyfold_local::runtime_api::InvocationResult;
use keyfold_local::{Database, PollerError, PollerOptions, Start, StreamPoller};
use serde_json::Value;

use super::stage::Pages;

/// The size of the queue between scan and writes, as such scripts have it.
const QUEUE_ITEMS: usize = 10_000;
/// Records of a batch that are applied at the same time.
const RECORDS_IN_FLIGHT: usize = 8;
/// Writes of the queue that are in progress at the same time.
const WRITES_IN_FLIGHT: usize = 8;

/// Follows the source's stream from now on, into this table.
pub(super) async fn follow(
    database: &Database,
    source: &Table,
    client: &Client,
    table: &Table,
) -> Result<StreamPoller, PollerError> {
    let (client, table) = (client.clone(), Arc::new(table.clone()));
    let handler = move |event: String| {
        let (client, table) = (client.clone(), Arc::clone(&table));
        async move {
            match apply_all(&client, &table, &event).await {
                Ok(()) => InvocationResult::Response(r#"{"batchItemFailures":[]}"#.to_owned()),
                Err(error) => InvocationResult::Error(error.to_string()),
            }
        }
    };
    let options = PollerOptions { start: Start::Latest, ..PollerOptions::default() };
    StreamPoller::start(database, &source.name, Arc::new(handler), options).await
}

async fn apply_all(client: &Client, table: &Table, event: &str) -> anyhow::Result<()> {
    let event: Value = serde_json::from_str(event)?;
    let mut applied = Vec::new();
    for record in event["Records"].as_array().into_iter().flatten() {
        applied.push(apply(client, table, record));
    }
    stream::iter(applied).buffer_unordered(RECORDS_IN_FLIGHT).try_collect().await
}

async fn apply(client: &Client, table: &Table, record: &Value) -> anyhow::Result<()> {
    let image = |name: &str| serde_json::from_value::<Item>(record["dynamodb"][name].clone());
    match record["eventName"].as_str() {
        Some("INSERT") => drop(put(client, table, image("NewImage")?).await?),
        Some("MODIFY") => change(client, table, image("NewImage")?).await?,
        _ => drop(delete(client, table, &image("Keys")?, &Expected::nothing()).await?),
    }
    Ok(())
}

/// Updates the item, if it exists.
async fn change(client: &Client, table: &Table, item: Item) -> anyhow::Result<()> {
    let Some(key) = table.key_of(&item) else { return Ok(()) };
    let mut change = Update::new().reading();
    for (name, value) in item.iter().filter(|(name, _)| !key.contains_key(*name)) {
        change = change.set(name.as_str(), value.clone());
    }
    match update(client, table, &key, &change).await {
        Ok(_) => Ok(()),
        Err(error) if error.code() == "item-not-found" => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Copies the items that do not exist yet. Returns how many it wrote.
pub(super) async fn copy(client: &Client, source: &Table, table: &Table) -> anyhow::Result<u64> {
    let (mut queue, mut written) = (Vec::new(), 0);
    let mut pages = Pages::of(client, &source.name);
    while let Some(items) = pages.next().await? {
        queue.extend(items);
        if queue.len() >= QUEUE_ITEMS {
            written += flush(client, table, std::mem::take(&mut queue)).await?;
        }
    }
    Ok(written + flush(client, table, queue).await?)
}

async fn flush(client: &Client, table: &Table, queue: Vec<Item>) -> Result<u64, WriteError> {
    let options = PutNewOptions { in_flight_max: WRITES_IN_FLIGHT, ..PutNewOptions::default() };
    let mut written = 0;
    for outcome in put_new_all(client, table, queue, &options).await.outcomes {
        written += u64::from(matches!(outcome?, PutNew::Written));
    }
    Ok(written)
}
