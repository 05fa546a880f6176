//! Reads all accesses concurrently, each in the requested order, and merges them: the smallest head first.
//!
//! Equal heads are in the order of their accesses. An access is read further only when the merge needs its next item.

use std::cmp::Ordering;

use super::answer::GivenOut;
use super::answer::{Answer, Run};
use super::error::AnswerError;
use super::lane::Lane;
use super::lanes::Fill;
use crate::model::{OrderBy, Table};
use crate::query::order::compare_items;
use crate::value::Item;

pub(super) struct Merged {
    items: Vec<Item>,
    seen: GivenOut,
    heads: Heads,
    /// The accesses without a head: they are read if they are dry.
    headless: Vec<usize>,
}

impl Merged {
    pub(super) fn new(run: &Run<'_>) -> Result<Merged, AnswerError> {
        // No item can be returned before every access has a head.
        let dry = (run.lanes.lanes.iter().zip(&run.lanes.readers)).filter(|(lane, _)| lane.is_dry());
        if !run.lanes.budget.affords(dry.map(|(_, reader)| reader.price())) {
            return Err(run.out_of_budget());
        }
        let accesses = run.lanes.lanes.len();
        let headless = (0..accesses).collect();
        Ok(Merged { items: Vec::new(), seen: GivenOut::among(accesses), heads: Heads(Vec::new()), headless })
    }

    /// The next reads; `None` if the answer is full or everything was returned.
    pub(super) fn advance(&mut self, run: &mut Run<'_>) -> Result<Option<Fill>, AnswerError> {
        let limit = run.plan.limit as usize;
        while self.items.len() < limit {
            if self.headless.iter().any(|number| run.lanes.lanes[*number].is_dry()) {
                let wanted = limit - self.items.len();
                let among = run.lanes.lanes.iter().filter(|lane| !lane.is_finished()).count();
                return Ok(Some(Fill::of(run.lanes, self.headless.iter().copied(), wanted, among)));
            }
            for number in self.headless.drain(..) {
                self.heads.insert(number, (run.table, &run.plan.order), &run.lanes.lanes);
            }
            let Some(number) = self.heads.take_first() else { break };
            let (lane, reader) = (&mut run.lanes.lanes[number], &run.lanes.readers[number]);
            let Some(ready) = lane.pop() else { unreachable!("`Heads::insert` takes only what has a head") };
            if self.seen.is_new(&reader.shape, &ready.item)? {
                let item = lane.give(ready, self.items.len());
                self.items.push(item);
            } else {
                lane.leave_out(ready, &reader.shape)?;
            }
            self.headless.push(number);
        }
        Ok(None)
    }

    pub(super) fn finish(&mut self, run: &Run<'_>) -> Result<Answer, AnswerError> {
        let items = std::mem::take(&mut self.items);
        let count = items.len() as u64;
        run.finish(items, count)
    }
}

/// The accesses with a head, the smallest head first.
struct Heads(Vec<usize>);

impl Heads {
    fn insert(&mut self, number: usize, (table, order): (&Table, &[OrderBy]), lanes: &[Lane]) {
        let Some(item) = lanes[number].head() else { return };
        let is_before = |other: &usize| match lanes[*other].head() {
            Some(head) => compare_items(table, order, head, item).then(other.cmp(&number)) == Ordering::Less,
            None => true,
        };
        let place = self.0.partition_point(is_before);
        self.0.insert(place, number);
    }

    fn take_first(&mut self) -> Option<usize> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }
}
