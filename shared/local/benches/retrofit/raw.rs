//! The loops without logic: the same calls, of which everything is known before.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, BatchStatementRequest, ReturnConsumedCapacity};
use futures_util::future::join;
use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::mapping::FENCE_ATTRIBUTE;
use keyfold_core::retrofit::{Epoch, Fence, Job};
use keyfold_dynamo::retrofit::{IN_FLIGHT_DEFAULT, PAGE_ITEMS_DEFAULT, STATEMENTS_MAX};

use crate::sample;

type SdkItem = HashMap<String, AttributeValue>;
const UNITS: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;

/// What each item will be, by its id: a statement with its parameters, or the whole item.
#[derive(Default)]
pub(crate) struct Prepared {
    statements: HashMap<String, BatchStatementRequest>,
    puts: Vec<SdkItem>,
}

pub(crate) fn prepare(job: &Job, in_place: bool, items: usize) -> Prepared {
    let table = &job.mapping().target().name;
    let mut prepared = Prepared::default();
    for at in 0..items {
        let source = sample::item(at);
        let mut mapped = job.mapping().target_item(&source).unwrap().unwrap();
        let id = match &source["id"] {
            keyfold_core::value::AttributeValue::S(id) => id.clone(),
            _ => unreachable!("the sample's ids are texts"),
        };
        let statement = if in_place {
            let inputs = ["accessedBy", "action", "id", "resourceId"];
            let new: Vec<_> = mapped.keys().filter(|name| !source.contains_key(*name)).cloned().collect();
            let set: String = new.iter().map(|name| format!(" SET \"{name}\" = ?")).collect();
            let tests: Vec<String> = inputs.iter().map(|name| format!("\"{name}\" = ?")).collect();
            let text = format!("UPDATE \"{table}\"{set} WHERE {}", tests.join(" AND "));
            let names = new.iter().map(String::as_str).chain(inputs);
            request(text, names.map(|name| mapped[name].clone().into()).collect())
        } else {
            mapped.insert(FENCE_ATTRIBUTE.to_owned(), Fence::of_scan(Epoch::FIRST).value());
            let mut names: Vec<_> = mapped.keys().collect();
            names.sort();
            let members: Vec<String> = names.iter().map(|name| format!("'{name}': ?")).collect();
            let text = format!("INSERT INTO \"{table}\" VALUE {{{}}}", members.join(", "));
            request(text, names.into_iter().map(|name| mapped[name].clone().into()).collect())
        };
        prepared.statements.insert(id, statement);
        prepared.puts.push(mapped.into());
    }
    prepared
}

fn request(text: String, parameters: Vec<AttributeValue>) -> BatchStatementRequest {
    BatchStatementRequest::builder().statement(text).set_parameters(Some(parameters)).build().unwrap()
}

/// Reads page by page and writes each page's items, the next page while one is written.
pub(crate) async fn scan_and_write(client: &Client, job: &Job, in_place: bool, mut prepared: Prepared) {
    let source = if in_place { job.mapping().target() } else { job.mapping().source() };
    let mut page = scan(client, &source.name, None).await;
    loop {
        let (items, last) = page;
        let ready: Vec<_> = items
            .iter()
            .map(|item| prepared.statements.remove(item["id"].as_s().unwrap()).unwrap())
            .collect();
        let batches: Vec<_> = ready.chunks(STATEMENTS_MAX).map(<[_]>::to_vec).collect();
        let writes =
            stream::iter(batches).for_each_concurrent(IN_FLIGHT_DEFAULT, |batch| execute(client, batch));
        let Some(last) = last else { return writes.await };
        let ((), next) = join(writes, scan(client, &source.name, Some(last))).await;
        page = next;
    }
}

async fn scan(client: &Client, table: &str, from: Option<SdkItem>) -> (Vec<SdkItem>, Option<SdkItem>) {
    let answer = client
        .scan()
        .table_name(table)
        .segment(0)
        .total_segments(1)
        .limit(i32::try_from(PAGE_ITEMS_DEFAULT).unwrap())
        .consistent_read(true)
        .set_exclusive_start_key(from)
        .return_consumed_capacity(UNITS)
        .send()
        .await
        .unwrap();
    (answer.items.unwrap(), answer.last_evaluated_key)
}

async fn execute(client: &Client, batch: Vec<BatchStatementRequest>) {
    let answer = client
        .batch_execute_statement()
        .set_statements(Some(batch))
        .return_consumed_capacity(UNITS)
        .send()
        .await
        .unwrap();
    assert!(answer.responses().iter().all(|response| response.error().is_none()));
}

/// Conditional puts, as many at once as the replication has.
pub(crate) async fn puts(client: &Client, job: &Job, prepared: Prepared) {
    let table = &job.mapping().target().name;
    let put = |item: SdkItem| async move {
        client
            .put_item()
            .table_name(table)
            .condition_expression("attribute_not_exists(#key) OR #fence < :fence")
            .expression_attribute_names("#key", "id")
            .expression_attribute_names("#fence", FENCE_ATTRIBUTE)
            .expression_attribute_values(":fence", item[FENCE_ATTRIBUTE].clone())
            .set_item(Some(item))
            .return_values_on_condition_check_failure(
                aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld,
            )
            .return_consumed_capacity(UNITS)
            .send()
            .await
            .unwrap();
    };
    stream::iter(prepared.puts).for_each_concurrent(IN_FLIGHT_DEFAULT, put).await;
}
