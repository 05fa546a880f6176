//! One page of a Scan, of a whole table or index or of one segment.

use aws_sdk_dynamodb::Client;
use keyfold_core::execute::{Page, ScanPage};
use keyfold_core::value::Item;

use super::page::{SdkPage, call};
use super::request;
use crate::error::DynamoError;
use crate::wire::{Exchange, SCAN, send};

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
    // Without our request this would be a scan of everything: DynamoDB refuses one of no items.
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
