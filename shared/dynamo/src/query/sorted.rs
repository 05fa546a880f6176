//! Everything is read and sorted; equals come in the order of their primary keys, so that pages fit together.

use std::cmp::Ordering;

use keyfold_core::model::{OrderBy, Table};
use keyfold_core::query::order::{compare_items, compare_values};
use keyfold_core::value::{AttributeValue, Item};

use super::answer::{Answer, Run};
use super::error::QueryError;
use super::key_value::KeyValue;
use super::position::{Position, SortedAfter};
use super::seen::Seen;

pub(super) async fn run(mut run: Run<'_>, items_max: u32) -> Result<Answer, QueryError> {
    let mut items = collect(&mut run, items_max).await?;
    let (table, order) = (run.table, run.plan.order.as_slice());
    items.sort_unstable_by(|a, b| compare(table, order, a, b));
    let first = run.start.sorted.as_ref().map_or(0, |after| {
        let after = stand_in(table, order, after);
        items.partition_point(|item| compare(table, order, item, &after) != Ordering::Greater)
    });
    let last = items.len().min(first + run.plan.limit as usize);
    let goes_on = last < items.len();
    items.truncate(last);
    items.drain(..first);
    let next = match items.last() {
        Some(item) if goes_on => Some(Position::of_sorted(run.plan, after(&run, item)?)),
        _ => None,
    };
    let count = items.len() as u64;
    Ok(run.with(items, count, next))
}

async fn collect(run: &mut Run<'_>, items_max: u32) -> Result<Vec<Item>, QueryError> {
    let table = run.table.id.clone();
    let mut seen = Seen::among(run.plan.accesses.len());
    let mut items: Vec<Item> = Vec::new();
    let all = 0..run.lane_reader.lanes.len();
    let page = run.lane_reader.page_items_max;
    let on_arrival = &mut |reader: &super::reader::Reader<'_>, lane: &mut super::lane::Lane| {
        for item in lane.drain() {
            if seen.is_new(&reader.shape, &item)? {
                items.push(item);
            }
        }
        match items.len() > items_max as usize {
            true => Err(QueryError::SortTooLarge { table: table.clone(), items_max }),
            false => Ok(()),
        }
    };
    match run.lane_reader.fill(all, page, on_arrival).await? {
        true => Ok(items),
        // Whether the first item comes first is known only when all have been read.
        false => Err(run.out_of_budget()),
    }
}

/// The order asked for, then that of the primary keys.
fn compare(table: &Table, order: &[OrderBy], a: &Item, b: &Item) -> Ordering {
    let by_key = || {
        let keys = table.key_attributes();
        keys.map(|key| compare_values(a.get(&key.name), b.get(&key.name)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    compare_items(order, a, b).then_with(by_key)
}

fn after(run: &Run<'_>, item: &Item) -> Result<SortedAfter, QueryError> {
    let order = run.plan.order.iter().map(|by| item.get(&by.attribute).map(KeyValue::from)).collect();
    let Some(reader) = run.lane_reader.readers.first() else {
        unreachable!("without an access there is no item")
    };
    Ok(SortedAfter { order, key: reader.shape.primary_key(item)? })
}

/// An item that compares as the one that was given out last.
fn stand_in(table: &Table, order: &[OrderBy], after: &SortedAfter) -> Item {
    let mut item = Item::default();
    for (key, value) in table.key_attributes().zip(&after.key) {
        item.insert(key.name.clone(), value.into());
    }
    for (by, value) in order.iter().zip(&after.order) {
        if let Some(value) = value {
            item.insert(by.attribute.clone(), AttributeValue::from(value));
        }
    }
    item
}
