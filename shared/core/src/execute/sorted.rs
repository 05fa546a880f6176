//! Reads and sorts everything; equal items are in the order of their primary keys, so that pages continue correctly.

use std::cmp::Ordering;

use super::answer::GivenOut;
use super::answer::{Answer, Run};
use super::error::AnswerError;
use super::lane::Lane;
use super::position::KeyValue;
use super::position::{Position, SortedAfter};
use super::reader::Reader;
use crate::model::{OrderBy, Table};
use crate::query::order::{compare_items, compare_values};
use crate::value::{AttributeValue, Item};

pub(super) struct Sorted {
    items: Vec<Item>,
    items_max: u32,
    seen: GivenOut,
}

impl Sorted {
    pub(super) fn new(accesses: usize, items_max: u32) -> Sorted {
        Sorted { items: Vec::new(), items_max, seen: GivenOut::among(accesses) }
    }

    /// Takes what has arrived.
    pub(super) fn arrived(
        &mut self,
        table: &Table,
        reader: &Reader,
        lane: &mut Lane,
    ) -> Result<(), AnswerError> {
        for item in lane.drain() {
            if self.seen.is_new(&reader.shape, &item)? {
                self.items.push(item);
            }
        }
        match self.items.len() > self.items_max as usize {
            true => Err(AnswerError::SortTooLarge { table: table.id.clone(), items_max: self.items_max }),
            false => Ok(()),
        }
    }

    /// `is_full`: was everything read? Only then is the first item known.
    pub(super) fn finish(&mut self, run: &Run<'_>, is_full: bool) -> Result<Answer, AnswerError> {
        if !is_full {
            return Err(run.out_of_budget());
        }
        let mut items = std::mem::take(&mut self.items);
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
            Some(item) if goes_on => Some(Position::of_sorted(run.plan, after(run, item)?)),
            _ => None,
        };
        let count = items.len() as u64;
        Ok(run.with(items, count, next))
    }
}

/// The requested order, then the primary keys.
fn compare(table: &Table, order: &[OrderBy], a: &Item, b: &Item) -> Ordering {
    let by_key = || {
        let keys = table.key_attributes();
        keys.map(|key| compare_values(a.get(&key.name), b.get(&key.name)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    compare_items(table, order, a, b).then_with(by_key)
}

fn after(run: &Run<'_>, item: &Item) -> Result<SortedAfter, AnswerError> {
    let order = run.plan.order.iter().map(|by| item.get(&by.attribute).map(KeyValue::from)).collect();
    let Some(reader) = run.lanes.readers.first() else { unreachable!("without an access there is no item") };
    Ok(SortedAfter { order, key: reader.shape.primary_key(item)? })
}

/// An item that compares equal to the last returned one.
fn stand_in(table: &Table, order: &[OrderBy], after: &SortedAfter) -> Item {
    let mut item = Item::default();
    for (key, value) in table.key_attributes().zip(&after.key) {
        item.insert(&key.name, value.into());
    }
    for (by, value) in order.iter().zip(&after.order) {
        if let Some(value) = value {
            item.insert(&by.attribute, AttributeValue::from(value));
        }
    }
    item
}

pub(super) struct Counted {
    count: u64,
    seen: GivenOut,
}

impl Counted {
    pub(super) fn new(accesses: usize) -> Counted {
        Counted { count: 0, seen: GivenOut::among(accesses) }
    }

    /// Counts what has arrived.
    pub(super) fn arrived(&mut self, reader: &Reader, lane: &mut Lane) -> Result<(), AnswerError> {
        for item in lane.drain() {
            self.count += u64::from(self.seen.is_new(&reader.shape, &item)?);
        }
        Ok(())
    }

    pub(super) fn finish(&self, run: &Run<'_>) -> Result<Answer, AnswerError> {
        let by_number = run.lanes.lanes.iter().map(Lane::counted).sum::<u64>();
        run.finish(Vec::new(), self.count + by_number)
    }
}
