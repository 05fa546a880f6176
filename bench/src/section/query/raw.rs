//! The questions as a programmer would write them, each for the index that answers it; and one of them as a filter and
//! as a scan.

use std::collections::HashMap;

use anyhow::Context;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ConsumedCapacity, KeysAndAttributes, ReturnConsumedCapacity};
use futures_util::future::try_join_all;

use crate::data::BUSY_USER;

/// How many items an answer has.
pub(super) const LIMIT: u32 = 20;
/// The resource in the questions.
pub(super) const RESOURCE: &str = "r0007";

const TABLE: &str = "benchEvents";
/// The shards of the index by action.
const SHARDS: u32 = 10;
type SdkItem = HashMap<String, AttributeValue>;

/// A kind of question.
#[derive(Debug, Clone, Copy)]
pub(super) enum Question {
    /// The latest items of a large collection.
    Latest(u32),
    /// A page of one partition of a folded index.
    Folded,
    /// Ten shards, merged in order.
    FanOut,
    /// An index with keys only: the items are read by primary key.
    Hydration,
}

/// The ids of the items, and the cost of the answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    pub(super) ids: Vec<String>,
    /// How many items DynamoDB read.
    pub(super) read: u64,
    pub(super) requests: u32,
    pub(super) units: f64,
}

/// Asks by hand.
pub(super) async fn ask(client: &Client, question: Question) -> anyhow::Result<Answer> {
    match question {
        Question::Latest(limit) => {
            let (items, units) = send(query(client, "byUser", "accessedBy", BUSY_USER, limit), false).await?;
            Ok(answer(&items, 1, units))
        }
        Question::Folded => {
            let key = format!("{RESOURCE}-viewed-{BUSY_USER}");
            let query = query(client, "byResourceActionUser", "byResourceActionUser_pk", &key, LIMIT);
            let (items, units) = send(query, true).await?;
            Ok(answer(&items, 1, units))
        }
        Question::FanOut => fan_out(client).await,
        Question::Hydration => hydration(client).await,
    }
}

/// All shards concurrently, with the full limit for each, and the latest of their items.
async fn fan_out(client: &Client) -> anyhow::Result<Answer> {
    let shard =
        |shard: u32| send(query(client, "byAction", "byAction_pk", &format!("viewed.{shard}"), LIMIT), false);
    let (items, units): (Vec<_>, Vec<_>) = try_join_all((0..SHARDS).map(shard)).await?.into_iter().unzip();
    let mut items: Vec<SdkItem> = items.into_iter().flatten().collect();
    items.sort_by(|one, other| text(other, "timestamp").cmp(text(one, "timestamp")));
    items.truncate(LIMIT as usize);
    Ok(answer(&items, SHARDS, units.iter().sum()))
}

/// The index contains the keys; a batch reads the items, in any order.
async fn hydration(client: &Client) -> anyhow::Result<Answer> {
    let (entries, of_index) = send(query(client, "byResource", "resourceId", RESOURCE, LIMIT), true).await?;
    let key = |entry: &SdkItem| HashMap::from([("id".to_owned(), entry["id"].clone())]);
    let keys = KeysAndAttributes::builder().set_keys(Some(entries.iter().map(key).collect())).build()?;
    let get = client.batch_get_item().request_items(TABLE, keys);
    let got = get.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await?;
    let of_batch: f64 = got.consumed_capacity().iter().filter_map(ConsumedCapacity::capacity_units).sum();
    let items = got.responses.and_then(|mut tables| tables.remove(TABLE)).context("no items")?;
    let mut by_id: HashMap<&str, &SdkItem> = items.iter().map(|item| (text(item, "id"), item)).collect();
    let in_order = entries.iter().filter_map(|entry| by_id.remove(text(entry, "id")).cloned());
    Ok(answer(&in_order.collect::<Vec<_>>(), 2, of_index + of_batch))
}

/// The actions of one user on one resource in 2017, by a filter over everything the user did.
pub(super) async fn by_filter(client: &Client) -> anyhow::Result<Answer> {
    let query = client.query().table_name(TABLE).index_name("byUser");
    let query = query.key_condition_expression("accessedBy = :u AND begins_with(#t, :t)");
    let query = query.filter_expression("resourceId = :r AND #a = :a");
    let query =
        query.set_expression_attribute_names(Some(names())).set_expression_attribute_values(Some(values()));
    let mut pages = query.return_consumed_capacity(ReturnConsumedCapacity::Total).into_paginator().send();
    let mut sum = Answer::default();
    while let Some(page) = pages.try_next().await? {
        sum.add(page.items(), page.scanned_count(), page.consumed_capacity());
    }
    Ok(sum)
}

/// The same by a filter over the whole table.
pub(super) async fn by_scan(client: &Client) -> anyhow::Result<Answer> {
    let scan = client.scan().table_name(TABLE);
    let scan =
        scan.filter_expression("resourceId = :r AND #a = :a AND accessedBy = :u AND begins_with(#t, :t)");
    let scan =
        scan.set_expression_attribute_names(Some(names())).set_expression_attribute_values(Some(values()));
    let mut pages = scan.return_consumed_capacity(ReturnConsumedCapacity::Total).into_paginator().send();
    let mut sum = Answer::default();
    while let Some(page) = pages.try_next().await? {
        sum.add(page.items(), page.scanned_count(), page.consumed_capacity());
    }
    Ok(sum)
}

impl Answer {
    fn add(&mut self, items: &[SdkItem], read: i32, capacity: Option<&ConsumedCapacity>) {
        self.ids.extend(items.iter().map(|item| text(item, "id").to_owned()));
        self.read += u64::from(read.cast_unsigned());
        self.requests += 1;
        self.units += capacity.and_then(ConsumedCapacity::capacity_units).unwrap_or(0.0);
    }
}

fn names() -> HashMap<String, String> {
    HashMap::from([("#a", "action"), ("#t", "timestamp")].map(|(name, of)| (name.to_owned(), of.to_owned())))
}

fn values() -> HashMap<String, AttributeValue> {
    let values = [(":r", RESOURCE), (":a", "viewed"), (":u", BUSY_USER), (":t", "2017")];
    HashMap::from(values.map(|(name, text)| (name.to_owned(), AttributeValue::S(text.to_owned()))))
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

/// Items and read units.
async fn send(query: QueryFluentBuilder, forward: bool) -> anyhow::Result<(Vec<SdkItem>, f64)> {
    let answer = query.scan_index_forward(forward).send().await?;
    let units = answer.consumed_capacity().and_then(ConsumedCapacity::capacity_units).unwrap_or(0.0);
    Ok((answer.items.unwrap_or_default(), units))
}

fn text<'i>(item: &'i SdkItem, name: &str) -> &'i str {
    item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

fn answer(items: &[SdkItem], requests: u32, units: f64) -> Answer {
    let ids = items.iter().map(|item| text(item, "id").to_owned()).collect();
    Answer { ids, read: items.len() as u64, requests, units }
}
