//! The reads of a comparison, by hand: a page of one table, and its items in the other.

use std::collections::HashMap;

use anyhow::Context;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes, ReturnConsumedCapacity};
use futures_util::future::try_join_all;
use keyfold_dynamo::BATCH_GET_KEYS_MAX;

use super::stage::PAGE_ITEMS;

const UNITS: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;
type SdkItem = HashMap<String, AttributeValue>;

/// How many items of one table are in the other.
pub(super) async fn run(client: &Client, scanned: &str, asked: &str) -> anyhow::Result<usize> {
    let (mut found, mut from) = (0, None);
    loop {
        let scan = client.scan().table_name(scanned).limit(PAGE_ITEMS.cast_signed()).consistent_read(true);
        let page = scan.set_exclusive_start_key(from).return_consumed_capacity(UNITS).send().await?;
        let mut keys = Vec::new();
        for mut item in page.items.unwrap_or_default() {
            let id = item.remove("id").context("an item has no id")?;
            keys.push(HashMap::from([("id".to_owned(), id)]));
        }
        let gets = keys.chunks(BATCH_GET_KEYS_MAX).map(|keys| get(client, asked, keys.to_vec()));
        found += try_join_all(gets).await?.into_iter().sum::<usize>();
        from = page.last_evaluated_key;
        if from.is_none() {
            return Ok(found);
        }
    }
}

async fn get(client: &Client, table: &str, keys: Vec<SdkItem>) -> anyhow::Result<usize> {
    let keys = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build()?;
    let get = client.batch_get_item().request_items(table, keys).return_consumed_capacity(UNITS);
    Ok(get.send().await?.responses.into_iter().flatten().map(|(_, items)| items.len()).sum())
}
