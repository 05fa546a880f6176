//! The requests of reads, written straight from core's types.

use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, Select};
use keyfold_core::execute::{BatchGet, Fetch, PAGE_ITEMS_MAX, PageRequest, QueryPage, ScanPage};
use keyfold_core::json::write;
use keyfold_core::value::Item;

use crate::wire::{BATCH_GET_ITEM, Body, BodyText, Operation, QUERY_ITEMS, SCAN_ITEMS};

/// Initial capacity of a request: most have a few hundred bytes.
const BYTES_GUESSED: usize = 512;
/// Initial capacity for a key in a batch.
const KEY_BYTES_GUESSED: usize = 128;
const UNITS: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;

/// The request for a page of a query, from this key on, of at most `limit` items.
pub(super) fn query(query: &QueryPage, start: Option<&Item>, limit: Option<u32>) -> Body {
    page(&QUERY_ITEMS, &query.page, start, limit)
        .text("KeyConditionExpression", Some(&query.key_condition))
        .plain("ScanIndexForward", Some(query.forward))
        .done()
}

/// The request for a page of a scan.
pub(super) fn scan(scan: &ScanPage, start: Option<&Item>, limit: Option<u32>) -> Body {
    // A single segment is the whole table. The embedded DynamoDB would scan all of it for every page with a segment.
    let segment = scan.segment.filter(|segment| (segment.number, segment.total) != (0, 1));
    page(&SCAN_ITEMS, &scan.page, start, limit)
        .plain("Segment", segment.map(|segment| segment.number))
        .plain("TotalSegments", segment.map(|segment| segment.total))
        .done()
}

/// The common fields of both.
fn page(operation: &Operation, page: &PageRequest, start: Option<&Item>, limit: Option<u32>) -> BodyText {
    let (select, projection) = match &page.fetch {
        Fetch::All => (Some(Select::AllAttributes), None),
        Fetch::Count => (Some(Select::Count), None),
        Fetch::Expression(expression) => (None, Some(expression.as_str())),
        Fetch::Projected => (None, None),
    };
    let body = BodyText::of(operation, BYTES_GUESSED)
        .text("TableName", Some(&page.table))
        .text("IndexName", page.index.as_deref())
        .text("FilterExpression", page.filter.as_deref())
        .text("ProjectionExpression", projection)
        .text("Select", select.as_ref().map(Select::as_str))
        .map("ExpressionAttributeNames", &page.names, |out, name| write::string(out, name))
        .map("ExpressionAttributeValues", &page.values, write::value)
        .plain("ConsistentRead", Some(page.consistent))
        .plain("Limit", Some(sent_limit(limit)))
        .text("ReturnConsumedCapacity", Some(UNITS.as_str()));
    match start {
        Some(key) => body.member("ExclusiveStartKey", |out| write::item(out, key)),
        None => body,
    }
}

/// The request for the items with these keys.
pub(super) fn batch(batch: &BatchGet, keys: &[Item]) -> Body {
    let of_table = BodyText::object(KEY_BYTES_GUESSED * keys.len())
        .member("Keys", |out| write::elements(out, keys, write::item))
        .text("ProjectionExpression", batch.projection.as_deref())
        .map("ExpressionAttributeNames", &batch.names, |out, name| write::string(out, name))
        .plain("ConsistentRead", Some(batch.consistent))
        .closed();
    BodyText::of(&BATCH_GET_ITEM, of_table.len() + BYTES_GUESSED)
        .member("RequestItems", |out| {
            write::members(out, [(&batch.table, of_table)].into_iter(), |out, text| out.push_str(&text));
        })
        .text("ReturnConsumedCapacity", Some(UNITS.as_str()))
        .done()
}

/// The limit to send.
fn sent_limit(limit: Option<u32>) -> u32 {
    limit.unwrap_or(PAGE_ITEMS_MAX).clamp(1, PAGE_ITEMS_MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use aws_sdk_dynamodb::operation::batch_get_item::{BatchGetItem, BatchGetItemInput};
    use aws_sdk_dynamodb::operation::query::{Query, QueryInput};
    use aws_sdk_dynamodb::operation::scan::{Scan, ScanInput};
    use aws_sdk_dynamodb::types::KeysAndAttributes;
    use aws_smithy_runtime_api::client::interceptors::context::Input;
    use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
    use keyfold_core::execute::Segment;
    use keyfold_testkit::case::Case;
    use keyfold_testkit::generate::Random;

    use super::*;
    use crate::values::{copy_to_sdk, names_to_sdk, values_to_sdk};
    use crate::wire::{SentRequest, sent_request};

    #[test]
    fn a_page_always_has_a_limit_that_dynamodb_takes() {
        for (asked, sent) in
            [(None, 1000), (Some(0), 1), (Some(20), 20), (Some(1001), 1000), (Some(u32::MAX), 1000)]
        {
            assert_eq!(sent_limit(asked), sent, "{asked:?}");
        }
    }

    /// The methods that both builders share.
    macro_rules! paged {
        ($builder:expr, $page:expr, $start:expr, $limit:expr) => {
            $builder
                .table_name(&$page.table)
                .set_index_name($page.index.clone())
                .set_filter_expression($page.filter.clone())
                .set_projection_expression(match &$page.fetch {
                    Fetch::Expression(expression) => Some(expression.clone()),
                    _ => None,
                })
                .set_select(match $page.fetch {
                    Fetch::All => Some(Select::AllAttributes),
                    Fetch::Count => Some(Select::Count),
                    _ => None,
                })
                .set_expression_attribute_names(names_to_sdk(&$page.names))
                .set_expression_attribute_values(values_to_sdk(&$page.values))
                .consistent_read($page.consistent)
                .limit($limit)
                .set_exclusive_start_key($start.map(copy_to_sdk))
                .return_consumed_capacity(UNITS)
        };
    }

    fn sdk_query(query: &QueryPage, start: Option<&Item>, limit: i32) -> SentRequest {
        let input = paged!(QueryInput::builder(), query.page, start, limit)
            .key_condition_expression(&query.key_condition)
            .scan_index_forward(query.forward);
        sent_request(Query::new().config(), Input::erase(input.build().unwrap()))
    }

    fn sdk_scan(scan: &ScanPage, start: Option<&Item>, limit: i32) -> SentRequest {
        let number = |number: u32| i32::try_from(number).unwrap();
        let input = paged!(ScanInput::builder(), scan.page, start, limit)
            .set_segment(scan.segment.map(|segment| number(segment.number)))
            .set_total_segments(scan.segment.map(|segment| number(segment.total)));
        sent_request(Scan::new().config(), Input::erase(input.build().unwrap()))
    }

    fn sdk_batch(batch: &BatchGet) -> SentRequest {
        let keys = KeysAndAttributes::builder()
            .set_keys(Some(batch.keys.iter().map(copy_to_sdk).collect()))
            .set_projection_expression(batch.projection.clone())
            .set_expression_attribute_names(names_to_sdk(&batch.names))
            .consistent_read(batch.consistent);
        let input = BatchGetItemInput::builder()
            .request_items(&batch.table, keys.build().unwrap())
            .return_consumed_capacity(UNITS);
        sent_request(BatchGetItem::new().config(), Input::erase(input.build().unwrap()))
    }

    /// A page of this item's table, with random optional members.
    fn drawn_page(table: &str, item: &Item, random: &mut Random) -> PageRequest {
        let text = |text: &str, random: &mut Random| random.chance(50).then(|| text.to_owned());
        let some = random.chance(80);
        let (mut names, mut values) = (BTreeMap::new(), BTreeMap::new());
        for (number, (name, value)) in item.iter().filter(|_| some).enumerate() {
            names.insert(format!("#n{number}"), name.to_string());
            values.insert(format!(":v{number}"), value.clone());
        }
        PageRequest {
            table: table.to_owned(),
            index: text("by \"name\"", random),
            filter: text("contains(#n0, :v0)", random),
            names,
            values,
            fetch: match random.below(4) {
                0 => Fetch::Projected,
                1 => Fetch::All,
                2 => Fetch::Expression("#n0, #n1".to_owned()),
                _ => Fetch::Count,
            },
            limit: None,
            consistent: random.chance(50),
            start_key: None,
        }
    }

    #[test]
    fn our_requests_are_those_of_the_sdk() {
        for seed in 0..300 {
            let case = Case::new(seed);
            let (table, random) = (case.table(), &mut Random::new(seed));
            let keys: Vec<Item> =
                case.items.iter().take(100).map(|item| table.key_of(&item.stored).unwrap()).collect();
            for (item, key) in case.items.iter().zip(&keys) {
                let start = random.chance(50).then_some(key);
                let (limit, sent) = if random.chance(50) { (Some(7), 7) } else { (None, 1000) };
                let page = drawn_page(&table.name, &item.stored, random);
                let one = QueryPage {
                    page: page.clone(),
                    key_condition: "#n0 = :v0".to_owned(),
                    forward: random.chance(50),
                };
                assert_eq!(query(&one, start, limit).sent_request(), sdk_query(&one, start, sent), "{seed}");
                let segment = random.chance(50).then_some(Segment { number: 3, total: 8 });
                let mut one = ScanPage { page, segment };
                let said = sdk_scan(&one, start, sent);
                assert_eq!(scan(&one, start, limit).sent_request(), said, "{seed}");
                if segment.is_none() {
                    one.segment = Some(Segment { number: 0, total: 1 });
                    assert_eq!(
                        scan(&one, start, limit).sent_request(),
                        said,
                        "{seed}: the one segment is the table"
                    );
                }
            }
            let first = case.items.first().map(|item| drawn_page(&table.name, &item.stored, random));
            let PageRequest { names, consistent, filter: projection, .. } = first.unwrap_or_default();
            let one = BatchGet { table: table.name.clone(), keys, projection, names, consistent };
            assert_eq!(batch(&one, &one.keys).sent_request(), sdk_batch(&one), "{seed}");
        }
    }
}
