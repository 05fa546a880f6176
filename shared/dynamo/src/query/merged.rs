//! All accesses at once, each in the order asked for, merged into one: the least head first.
//!
//! Heads that are equal come in the order of their accesses. An access is read on only when the merge needs to know its
//! next item.

use std::cmp::Ordering;

use keyfold_core::model::OrderBy;
use keyfold_core::query::order::compare_items;
use keyfold_core::value::Item;

use super::answer::{Answer, Run};
use super::error::QueryError;
use super::lane::Lane;
use super::lane_reader::LaneReader;
use super::seen::Seen;

pub(super) async fn run(mut run: Run<'_>) -> Result<Answer, QueryError> {
    let limit = run.plan.limit as usize;
    let mut items: Vec<Item> = Vec::new();
    let mut seen = Seen::among(run.lane_reader.lanes.len());
    // Without the head of every access not one item can be given out.
    let dry = (run.lane_reader.lanes.iter().zip(&run.lane_reader.readers)).filter(|(lane, _)| lane.is_dry());
    if !run.lane_reader.budget.affords(dry.map(|(_, reader)| reader.price())) {
        return Err(run.out_of_budget());
    }
    let mut heads = Heads { order: &run.plan.order, lanes: Vec::new() };
    let mut dry: Vec<usize> = (0..run.lane_reader.lanes.len()).collect();
    while items.len() < limit {
        if !fill(&mut run.lane_reader, &dry, limit - items.len()).await? {
            break;
        }
        dry.drain(..).for_each(|number| heads.insert(number, &run.lane_reader.lanes));
        let Some(number) = heads.take_first() else { break };
        let (lane, reader) = (&mut run.lane_reader.lanes[number], &run.lane_reader.readers[number]);
        let Some(ready) = lane.pop() else { unreachable!("`Heads::insert` takes only what has a head") };
        if seen.is_new(&reader.shape, &ready.item)? {
            let item = lane.give(ready, items.len());
            items.push(item);
        } else {
            lane.leave_out(ready, &reader.shape)?;
        }
        dry.push(number);
    }
    let count = items.len() as u64;
    run.finish(items, count)
}

/// Reads those that are dry; a full lane is left alone.
async fn fill(lane_reader: &mut LaneReader<'_>, which: &[usize], wanted: usize) -> Result<bool, QueryError> {
    if which.iter().all(|number| !lane_reader.lanes[*number].is_dry()) {
        return Ok(true);
    }
    let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
    lane_reader.fill(which.iter().copied(), wanted, &mut |_, _| Ok(())).await
}

/// The accesses that have a head, the least head first.
struct Heads<'p> {
    order: &'p [OrderBy],
    lanes: Vec<usize>,
}

impl Heads<'_> {
    fn insert(&mut self, number: usize, lanes: &[Lane]) {
        let Some(item) = lanes[number].head() else { return };
        let is_before = |other: &usize| match lanes[*other].head() {
            Some(head) => compare_items(self.order, head, item).then(other.cmp(&number)) == Ordering::Less,
            None => true,
        };
        let place = self.lanes.partition_point(is_before);
        self.lanes.insert(place, number);
    }

    fn take_first(&mut self) -> Option<usize> {
        (!self.lanes.is_empty()).then(|| self.lanes.remove(0))
    }
}
