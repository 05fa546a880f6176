//! The loop without logic: the same calls with the same bytes, without checks. Three attributes are joined, and a
//! constant replaces the fence.

use std::collections::HashMap;

use anyhow::{Context, ensure};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, BatchStatementRequest, ReturnConsumedCapacity};
use futures_util::future::try_join;
use futures_util::stream::{self, TryStreamExt};
use keyfold_core::retrofit::attributes::FENCE_ATTRIBUTE;
use keyfold_core::retrofit::{Epoch, Fence};
use keyfold_dynamo::STATEMENTS_MAX;
use keyfold_dynamo::retrofit::{IN_FLIGHT_DEFAULT, PAGE_ITEMS_DEFAULT};

use crate::data::KEY;

/// The parts of the key.
const PARTS: [&str; 3] = ["resourceId", "action", "accessedBy"];
type SdkItem = HashMap<String, AttributeValue>;

const UNITS: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;

/// Reads page by page and writes each page's items, the next page while one is written.
pub(super) async fn run(client: &Client, source: &str, target: &str) -> anyhow::Result<u64> {
    let fence = Fence::of_scan(Epoch::FIRST).value().into();
    let mut written = 0;
    let mut page = scan(client, source, None).await?;
    loop {
        let (items, last) = page;
        written += items.len() as u64;
        let statement = |item| match source == target {
            true => set_key(target, item),
            false => insert(target, item, &fence),
        };
        let ready = items.into_iter().map(statement).collect::<anyhow::Result<Vec<_>>>()?;
        let batches: Vec<_> = ready.chunks(STATEMENTS_MAX).map(<[_]>::to_vec).map(Ok).collect();
        let writes =
            stream::iter(batches).try_for_each_concurrent(IN_FLIGHT_DEFAULT, |batch| execute(client, batch));
        let Some(last) = last else {
            writes.await?;
            return Ok(written);
        };
        ((), page) = try_join(writes, scan(client, source, Some(last))).await?;
    }
}

async fn scan(
    client: &Client,
    table: &str,
    from: Option<SdkItem>,
) -> anyhow::Result<(Vec<SdkItem>, Option<SdkItem>)> {
    let scan = client.scan().table_name(table);
    let scan = scan.limit(PAGE_ITEMS_DEFAULT.cast_signed()).consistent_read(true);
    let answer = scan.set_exclusive_start_key(from).return_consumed_capacity(UNITS).send().await?;
    Ok((answer.items.unwrap_or_default(), answer.last_evaluated_key))
}

/// The three parts joined, as one does it by hand.
fn joined(item: &SdkItem) -> anyhow::Result<String> {
    let part = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).map(String::as_str);
    let parts: Option<Vec<&str>> = PARTS.into_iter().map(part).collect();
    Ok(parts.context("an item lacks a part of the key")?.join("-"))
}

/// Fails if there is an item with its key.
fn insert(table: &str, mut item: SdkItem, fence: &AttributeValue) -> anyhow::Result<BatchStatementRequest> {
    let key = joined(&item)?;
    item.insert(KEY.to_owned(), AttributeValue::S(key));
    item.insert(FENCE_ATTRIBUTE.to_owned(), fence.clone());
    let (members, values): (Vec<String>, Vec<_>) =
        item.into_iter().map(|(name, value)| (format!("'{name}': ?"), value)).unzip();
    request(format!("INSERT INTO \"{table}\" VALUE {{{}}}", members.join(", ")), values)
}

/// Fails if an attribute in the key has changed.
fn set_key(table: &str, mut item: SdkItem) -> anyhow::Result<BatchStatementRequest> {
    let mut values = vec![AttributeValue::S(joined(&item)?)];
    let mut tests = Vec::new();
    for name in ["id"].into_iter().chain(PARTS) {
        values.push(item.remove(name).with_context(|| format!("an item has no `{name}`"))?);
        tests.push(format!("\"{name}\" = ?"));
    }
    request(format!("UPDATE \"{table}\" SET \"{KEY}\" = ? WHERE {}", tests.join(" AND ")), values)
}

fn request(text: String, values: Vec<AttributeValue>) -> anyhow::Result<BatchStatementRequest> {
    Ok(BatchStatementRequest::builder().statement(text).set_parameters(Some(values)).build()?)
}

async fn execute(client: &Client, batch: Vec<BatchStatementRequest>) -> anyhow::Result<()> {
    let send = client.batch_execute_statement().set_statements(Some(batch));
    let answer = send.return_consumed_capacity(UNITS).send().await?;
    let refused = answer.responses().iter().filter(|response| response.error().is_some()).count();
    ensure!(refused == 0, "{refused} statements of a batch were refused");
    Ok(())
}
