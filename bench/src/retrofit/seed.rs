//! What one writes first: a scan fills a queue, and one worker takes ten items at a time from it and puts them
//! back whole, whatever happened to them meanwhile. Fast, and wrong as soon as anybody else writes.

use std::collections::HashMap;

use anyhow::Context;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use futures_util::future::try_join;
use keyfold_dynamo::retrofit::PAGE_ITEMS_DEFAULT;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{KEY, SdkItem, joined};

/// The queue between scan and writes.
const QUEUE_ITEMS: usize = 10_000;
/// Items of a write.
const BATCH_ITEMS: usize = 10;
/// How often what a write left undone is sent again.
const SENDS_MAX: usize = 10;

/// How many items were written.
pub(super) async fn run(client: &Client, source: &str, target: &str) -> anyhow::Result<u64> {
    let (queue, waiting) = channel(QUEUE_ITEMS);
    let ((), written) = try_join(scan(client, source, queue), write(client, target, waiting)).await?;
    Ok(written)
}

/// One segment: the embedded DynamoDB looks at the whole table for every page of a scan by segments.
async fn scan(client: &Client, table: &str, queue: Sender<SdkItem>) -> anyhow::Result<()> {
    let mut from = None;
    loop {
        let scan = client.scan().table_name(table).limit(PAGE_ITEMS_DEFAULT.cast_signed());
        let page = scan.set_exclusive_start_key(from).send().await?;
        for item in page.items.unwrap_or_default() {
            queue.send(item).await.context("the writer ended")?;
        }
        from = page.last_evaluated_key;
        if from.is_none() {
            return Ok(());
        }
    }
}

async fn write(client: &Client, table: &str, mut queue: Receiver<SdkItem>) -> anyhow::Result<u64> {
    let (mut written, mut items) = (0, Vec::with_capacity(BATCH_ITEMS));
    while queue.recv_many(&mut items, BATCH_ITEMS).await > 0 {
        written += items.len() as u64;
        put_all(client, table, items.drain(..)).await?;
    }
    Ok(written)
}

async fn put_all(client: &Client, table: &str, items: impl Iterator<Item = SdkItem>) -> anyhow::Result<()> {
    let puts = items.map(put).collect::<anyhow::Result<Vec<_>>>()?;
    let mut left = HashMap::from([(table.to_owned(), puts)]);
    for _ in 0..SENDS_MAX {
        let answer = client.batch_write_item().set_request_items(Some(left)).send().await?;
        left = answer.unprocessed_items.unwrap_or_default();
        if left.is_empty() {
            return Ok(());
        }
    }
    anyhow::bail!("a write is not done after {SENDS_MAX} requests")
}

fn put(mut item: SdkItem) -> anyhow::Result<WriteRequest> {
    let key = joined(&item)?;
    item.insert(KEY.to_owned(), AttributeValue::S(key));
    Ok(WriteRequest::builder().put_request(PutRequest::builder().set_item(Some(item)).build()?).build())
}
