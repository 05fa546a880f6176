//! The questions as one writes them by hand, each for the index that serves it.

use std::collections::HashMap;

use anyhow::Context;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ConsumedCapacity, KeysAndAttributes, ReturnConsumedCapacity};
use futures_util::future::try_join_all;

use super::requests::{LIMIT, RESOURCE, SHARDS};
use super::stage::{Answered, Spent};
use crate::data::BUSY_USER;

const TABLE: &str = "benchEvents";
type SdkItem = HashMap<String, AttributeValue>;

pub(super) async fn folded(client: &Client) -> anyhow::Result<Answered> {
    let key = format!("{RESOURCE}-viewed-{BUSY_USER}");
    let query = query(client, "byResourceActionUser", "byResourceActionUser_pk", &key, LIMIT);
    let (items, spent) = send(query.scan_index_forward(true)).await?;
    answered(&items, spent)
}

pub(super) async fn latest(client: &Client, limit: u32) -> anyhow::Result<Answered> {
    let query = query(client, "byUser", "accessedBy", BUSY_USER, limit);
    let (items, spent) = send(query.scan_index_forward(false)).await?;
    answered(&items, spent)
}

/// All shards at once, as many items from each as are wanted, and the latest of them.
pub(super) async fn fan_out(client: &Client) -> anyhow::Result<Answered> {
    let shard = |shard: u32| {
        let query = query(client, "byAction", "byAction_pk", &format!("viewed.{shard}"), LIMIT);
        send(query.scan_index_forward(false))
    };
    let (mut items, mut spent) = (Vec::new(), Spent::default());
    for (of_shard, by_shard) in try_join_all((0..SHARDS).map(shard)).await? {
        items.extend(of_shard);
        spent.requests += by_shard.requests;
        spent.units += by_shard.units;
    }
    items.sort_by(|one, other| text(other, "timestamp").cmp(text(one, "timestamp")));
    items.truncate(LIMIT as usize);
    answered(&items, spent)
}

/// The index tells the keys, a batch the items, which come in any order.
pub(super) async fn hydration(client: &Client) -> anyhow::Result<Answered> {
    let query = query(client, "byResource", "resourceId", RESOURCE, LIMIT);
    let (entries, mut spent) = send(query.scan_index_forward(true)).await?;
    let key = |entry: &SdkItem| HashMap::from([("id".to_owned(), entry["id"].clone())]);
    let keys = KeysAndAttributes::builder().set_keys(Some(entries.iter().map(key).collect())).build()?;
    let get = client.batch_get_item().request_items(TABLE, keys);
    let got = get.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await?;
    spent.requests += 1;
    spent.units += got.consumed_capacity().iter().filter_map(ConsumedCapacity::capacity_units).sum::<f64>();
    let items = got.responses.and_then(|mut tables| tables.remove(TABLE)).context("no items")?;
    let mut by_id: HashMap<&str, &SdkItem> = items.iter().map(|item| (text(item, "id"), item)).collect();
    let in_order = entries.iter().filter_map(|entry| by_id.remove(text(entry, "id")).cloned());
    answered(&in_order.collect::<Vec<_>>(), spent)
}

fn query(client: &Client, index: &str, attribute: &str, key: &str, limit: u32) -> QueryFluentBuilder {
    client
        .query()
        .table_name(TABLE)
        .index_name(index)
        .key_condition_expression("#key = :key")
        .expression_attribute_names("#key", attribute)
        .expression_attribute_values(":key", AttributeValue::S(key.to_owned()))
        .limit(limit.cast_signed())
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
}

async fn send(query: QueryFluentBuilder) -> anyhow::Result<(Vec<SdkItem>, Spent)> {
    let answer = query.send().await?;
    let units = answer.consumed_capacity().and_then(ConsumedCapacity::capacity_units).unwrap_or(0.0);
    Ok((answer.items.unwrap_or_default(), Spent { requests: 1, units }))
}

fn text<'i>(item: &'i SdkItem, name: &str) -> &'i str {
    item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

fn answered(items: &[SdkItem], spent: Spent) -> anyhow::Result<Answered> {
    Ok(Answered { ids: items.iter().map(|item| text(item, "id").to_owned()).collect(), spent })
}
