//! The common parts of query pages and scan pages.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::ConsumedCapacity;
use keyfold_core::execute::{Page, PageRequest, QueryPage, ScanPage};
use keyfold_core::value::Item;

use super::request;
use crate::consumed;
use crate::error::{Call, DynamoError};
use crate::values::{SdkItem, from_sdk};
use crate::wire::{Exchange, QUERY, SCAN, send};

/// The call, for errors.
pub(super) fn call(page: &PageRequest, operation: &'static str) -> Call {
    Call::on(operation, &page.table, page.index.as_deref())
}

/// The SDK's response to a query or a scan.
pub(crate) struct SdkPage {
    pub(crate) items: Option<Vec<SdkItem>>,
    pub(crate) count: i32,
    pub(crate) scanned: i32,
    pub(crate) last_key: Option<SdkItem>,
    pub(crate) consumed: Option<ConsumedCapacity>,
}

impl SdkPage {
    pub(crate) fn page(self, call: impl Fn() -> Call) -> Result<Page, DynamoError> {
        let unreadable = |_| DynamoError::Unreadable { call: call() };
        let arrived = self.items.unwrap_or_default();
        let mut items = Vec::with_capacity(arrived.len());
        for item in arrived {
            items.push(from_sdk(item).map_err(unreadable)?);
        }
        // An empty key means that there is no next page.
        let last_key = self.last_key.filter(|key| !key.is_empty()).map(from_sdk).transpose();
        Ok(Page {
            items,
            count: self.count.max(0).unsigned_abs().into(),
            scanned: self.scanned.max(0).unsigned_abs().into(),
            last_key: last_key.map_err(unreadable)?,
            consumed: consumed::of(self.consumed.as_ref()),
        })
    }
}

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

/// Reads one page of a Scan.
pub async fn scan_page(client: &Client, scan: &ScanPage) -> Result<Page, DynamoError> {
    scan_from(client, scan, scan.page.start_key.as_ref(), scan.page.limit).await
}

/// Reads one page of a Scan, with another start key and limit than it has.
pub(crate) async fn scan_from(
    client: &Client,
    scan: &ScanPage,
    start: Option<&Item>,
    limit: Option<u32>,
) -> Result<Page, DynamoError> {
    let page = &scan.page;
    let exchange = Exchange::of(&SCAN, request::scan(scan, start, limit));
    // Without our request this would be a scan of everything: DynamoDB refuses a limit of zero.
    let answer = send!(exchange, client, client.scan().table_name(&page.table).limit(0))
        .map_err(|error| DynamoError::of(call(page, "Scan"), error))?;
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
    answer.page(|| call(page, "Scan"))
}
