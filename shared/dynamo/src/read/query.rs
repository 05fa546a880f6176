//! One page of a Query.

use aws_sdk_dynamodb::Client;
use keyfold_core::execute::{Page, QueryPage};
use keyfold_core::value::Item;

use super::page::{SdkPage, call};
use super::request;
use crate::error::DynamoError;
use crate::wire::{Exchange, QUERY, send};

/// Reads one page of a Query.
pub async fn query_page(client: &Client, query: &QueryPage) -> Result<Page, DynamoError> {
    query_from(client, query, query.page.start_key.as_ref(), query.page.limit).await
}

/// Reads one page of a Query, with another start key and limit than it has.
pub(crate) async fn query_from(
    client: &Client,
    query: &QueryPage,
    start: Option<&Item>,
    limit: Option<u32>,
) -> Result<Page, DynamoError> {
    let page = &query.page;
    let exchange = Exchange::of(&QUERY, request::query(query, start, limit));
    let answer = send!(exchange, client, client.query().table_name(&page.table))
        .map_err(|error| DynamoError::of(call(page, "Query"), error))?;
    if let Some(page) = exchange.take() {
        return Ok(page);
    }
    let answer = SdkPage {
        items: answer.items,
        count: answer.count,
        scanned: answer.scanned_count,
        last_key: answer.last_evaluated_key,
        consumed: answer.consumed_capacity,
    };
    answer.page(|| call(page, "Query"))
}
