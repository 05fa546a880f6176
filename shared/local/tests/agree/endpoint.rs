//! Operations of the testkit, executed on a real endpoint.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    AttributeValue as SdkValue, ConsumedCapacity, ReturnConsumedCapacity, ReturnValue,
    ReturnValuesOnConditionCheckFailure,
};
use keyfold_core::cost::{ReadUnits, WriteUnits};
use keyfold_core::model::Table;
use keyfold_core::query::Condition;
use keyfold_core::query::expression::{Expressions, expressions};
use keyfold_core::query::plan::{self, Access, Hydration, ReadFrom};
use keyfold_core::value::Item;
use keyfold_dynamo::{
    Client, Consumed, DynamoError, Fetch, Page, PageRequest, QueryPage, ScanPage, query_page, scan_page,
};
use keyfold_testkit::operation::{Operation, OperationResult, PAGES_MAX, Reading};
use keyfold_testkit::table::{Change, Page as ModelPage, ReadConsumed, Shown, WriteConsumed};

/// A table accessed by a client.
pub(crate) struct Endpoint<'e> {
    pub(crate) client: &'e Client,
    pub(crate) table: &'e Table,
}

type SdkItem = HashMap<String, SdkValue>;

/// Sends a write with its condition. The three builders have no trait in common.
macro_rules! written_by {
    ($request:expr, $table:expr, $sent:expr, $operation:ident::$error:ident) => {{
        let answer = $request
            .table_name(&$table.name)
            .set_condition_expression($sent.filter)
            .set_expression_attribute_names(names(&$sent.names))
            .set_expression_attribute_values(values($sent.values))
            .return_values(ReturnValue::AllOld)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
            .send()
            .await;
        match answer {
            Ok(answer) => written(answer.attributes, answer.consumed_capacity.as_ref()),
            Err(error) => failed(error, |error| match error {
                aws_sdk_dynamodb::operation::$operation::$error::ConditionalCheckFailedException(failed) => {
                    failed.item
                }
                _ => None,
            }),
        }
    }};
}

impl Endpoint<'_> {
    pub(crate) async fn apply(&self, operation: &Operation) -> OperationResult {
        let outcome = match operation {
            Operation::Put { item, condition } => self.put(item, condition).await,
            Operation::Update { key, changes, condition } => self.update(key, changes, condition).await,
            Operation::Delete { key, condition } => self.delete(key, condition).await,
            Operation::Get { key } => self.get(key).await,
            Operation::Read(reading) => self.read(reading).await,
        };
        outcome.normalised()
    }

    async fn put(&self, item: &Item, condition: &Condition) -> OperationResult {
        let sent = condition_of(condition);
        let request = self.client.put_item().set_item(Some(sdk(item)));
        written_by!(request, self.table, sent, put_item::PutItemError)
    }

    async fn update(&self, key: &Item, changes: &[Change], condition: &Condition) -> OperationResult {
        let mut sent = condition_of(condition);
        let mut set = Vec::new();
        let mut remove = Vec::new();
        for (number, change) in changes.iter().enumerate() {
            let holder = format!("#u{number}");
            match change {
                Change::Set(name, value) => {
                    sent.names.insert(holder.clone(), name.clone());
                    sent.values.insert(format!(":u{number}"), value.clone());
                    set.push(format!("{holder} = :u{number}"));
                }
                Change::Remove(name) => {
                    sent.names.insert(holder.clone(), name.clone());
                    remove.push(holder);
                }
            }
        }
        let clause = |word: &str, parts: Vec<String>| {
            if parts.is_empty() { String::new() } else { format!("{word} {} ", parts.join(", ")) }
        };
        let expression = clause("SET", set) + &clause("REMOVE", remove);
        let request =
            self.client.update_item().set_key(Some(sdk(key))).update_expression(expression.trim_end());
        written_by!(request, self.table, sent, update_item::UpdateItemError)
    }

    async fn delete(&self, key: &Item, condition: &Condition) -> OperationResult {
        let sent = condition_of(condition);
        let request = self.client.delete_item().set_key(Some(sdk(key)));
        written_by!(request, self.table, sent, delete_item::DeleteItemError)
    }

    async fn get(&self, key: &Item) -> OperationResult {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table.name)
            .set_key(Some(sdk(key)))
            .consistent_read(true)
            .send()
            .await;
        match answer {
            Ok(answer) => OperationResult::Item(answer.item.map(Item::from)),
            Err(error) => failed(error, |_| None),
        }
    }

    async fn read(&self, reading: &Reading) -> OperationResult {
        let mut pages: Vec<ModelPage> = Vec::new();
        while pages.len() < PAGES_MAX && pages.last().is_none_or(|page| page.last_key.is_some()) {
            let start_key = pages.last().and_then(|page| page.last_key.clone());
            match self.page(reading, start_key).await {
                Ok(page) => pages.push(seen(page)),
                Err(DynamoError::Throttled { .. }) => panic!("nothing throttles here"),
                Err(_) => return OperationResult::Refused,
            }
        }
        OperationResult::Pages(pages)
    }

    async fn page(&self, reading: &Reading, start_key: Option<Item>) -> Result<Page, DynamoError> {
        let access = access(reading.operation.clone(), reading.filter.clone(), reading.descending);
        let sent = expressions(&access, None);
        let page = PageRequest {
            table: self.table.name.clone(),
            index: reading.index.clone(),
            filter: sent.filter,
            names: sent.names,
            values: sent.values,
            fetch: match reading.shown {
                Shown::Held => Fetch::Projected,
                Shown::All => Fetch::All,
                Shown::Count => Fetch::Count,
            },
            limit: Some(reading.limit),
            consistent: reading.consistent,
            start_key,
        };
        match sent.key_condition {
            None => scan_page(self.client, &ScanPage { page, segment: None }).await,
            Some(key_condition) => {
                query_page(self.client, &QueryPage { page, key_condition, forward: !reading.descending })
                    .await
            }
        }
    }
}

fn access(operation: plan::Operation, filter: Condition, descending: bool) -> Access {
    let (recheck, hydration) = (Condition::always(), Hydration::None);
    Access { source: ReadFrom::Table, operation, filter, recheck, hydration, descending }
}

/// A write's condition is written as a filter is.
fn condition_of(condition: &Condition) -> Expressions {
    expressions(&access(plan::Operation::Scan, condition.clone(), false), None)
}

fn sdk(item: &Item) -> SdkItem {
    item.clone().into()
}

fn names(names: &BTreeMap<String, String>) -> Option<HashMap<String, String>> {
    (!names.is_empty()).then(|| names.iter().map(|(holder, name)| (holder.clone(), name.clone())).collect())
}

fn values(values: BTreeMap<String, keyfold_core::value::AttributeValue>) -> Option<SdkItem> {
    (!values.is_empty()).then(|| values.into_iter().map(|(holder, value)| (holder, value.into())).collect())
}

fn written(old: Option<SdkItem>, consumed: Option<&ConsumedCapacity>) -> OperationResult {
    let units =
        |capacity: &aws_sdk_dynamodb::types::Capacity| WriteUnits::new(whole(capacity.capacity_units()));
    let indexes = consumed.into_iter().flat_map(|consumed| {
        let local = consumed.local_secondary_indexes().into_iter().flatten();
        local.chain(consumed.global_secondary_indexes().into_iter().flatten())
    });
    let consumed = WriteConsumed {
        table: consumed.and_then(ConsumedCapacity::table).map_or(WriteUnits::ZERO, units),
        indexes: indexes
            .map(|(name, capacity)| (name.clone(), units(capacity)))
            .filter(|(_, units)| *units != WriteUnits::ZERO)
            .collect(),
    };
    OperationResult::Written(old.filter(|old| !old.is_empty()).map(Item::from), consumed)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and never negative")]
fn whole(units: Option<f64>) -> u64 {
    units.unwrap_or_default() as u64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and never negative")]
fn halves(units: f64) -> ReadUnits {
    ReadUnits::from_halves((units * 2.0) as u64)
}

fn seen(page: Page) -> ModelPage {
    let Consumed { table_units, index_units, .. } = page.consumed;
    ModelPage {
        items: page.items,
        count: usize::try_from(page.count).unwrap_or(usize::MAX),
        scanned: usize::try_from(page.scanned).unwrap_or(usize::MAX),
        last_key: page.last_key,
        consumed: ReadConsumed {
            table: halves(table_units),
            indexes: index_units.into_iter().map(|(name, units)| (name, halves(units))).collect(),
        },
    }
}

fn failed<E: ProvideErrorMetadata + std::fmt::Debug, R: std::fmt::Debug>(
    error: SdkError<E, R>,
    item: impl Fn(E) -> Option<SdkItem>,
) -> OperationResult {
    match error.code() {
        Some("ConditionalCheckFailedException") => {
            OperationResult::ConditionFailed(error.into_service_error_item(item).map(Item::from))
        }
        Some("ValidationException") => OperationResult::Refused,
        _ => panic!("{error:?}"),
    }
}

trait ServiceErrorItem<E> {
    fn into_service_error_item(self, item: impl Fn(E) -> Option<SdkItem>) -> Option<SdkItem>;
}

impl<E, R> ServiceErrorItem<E> for SdkError<E, R> {
    fn into_service_error_item(self, item: impl Fn(E) -> Option<SdkItem>) -> Option<SdkItem> {
        match self {
            SdkError::ServiceError(error) => item(error.into_err()),
            _ => None,
        }
    }
}
