//! One page of a Scan, of a whole table or index or of one segment.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use keyfold_core::execute::{Page, ScanPage};
use keyfold_core::value::Item;

use super::page::{SdkPage, call, projection, select, sent_limit};
use crate::error::DynamoError;
use crate::values::{names_to_sdk, to_sdk, values_to_sdk};
use crate::wire::{Decoder, SCAN};

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
    // DynamoDB knows at most a million segments: what does not fit an i32 is refused there like any other too large number.
    let sendable = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    // The one segment of one is the table. The embedded DynamoDB looks at all of it for every page that names a segment.
    let segment = scan.segment.filter(|segment| (segment.number, segment.total) != (0, 1));
    let decoder = Decoder::of(&SCAN);
    let answer = client
        .scan()
        .table_name(&page.table)
        .set_index_name(page.index.clone())
        .set_filter_expression(page.filter.clone())
        .set_projection_expression(projection(&page.fetch))
        .set_select(select(&page.fetch))
        .set_expression_attribute_names(names_to_sdk(&page.names))
        .set_expression_attribute_values(values_to_sdk(&page.values))
        .set_segment(segment.map(|segment| sendable(segment.number)))
        .set_total_segments(segment.map(|segment| sendable(segment.total)))
        .consistent_read(page.consistent)
        .limit(sent_limit(limit))
        .set_exclusive_start_key(start.cloned().map(to_sdk))
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .customize()
        .interceptor(decoder.clone())
        .send()
        .await
        .map_err(|error| DynamoError::of(call(page, "Scan"), error))?;
    if let Some(page) = decoder.take() {
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
