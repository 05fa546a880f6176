//! One access after the other, until the answer is full.

use super::answer::GivenOut;
use super::answer::{Answer, Run};
use super::error::AnswerError;
use super::lanes::Fill;
use crate::value::Item;

pub(super) struct Sequential {
    items: Vec<Item>,
    seen: GivenOut,
    /// The current access.
    number: usize,
}

impl Sequential {
    pub(super) fn new(accesses: usize) -> Sequential {
        Sequential { items: Vec::new(), seen: GivenOut::among(accesses), number: 0 }
    }

    /// The next reads; `None` if the answer is full or everything was returned.
    pub(super) fn advance(&mut self, run: &mut Run<'_>) -> Result<Option<Fill>, AnswerError> {
        let limit = run.plan.limit as usize;
        while self.number < run.lanes.lanes.len() {
            let (lane, reader) = (&mut run.lanes.lanes[self.number], &run.lanes.readers[self.number]);
            self.items.reserve(lane.ready_count().min(limit - self.items.len()));
            while self.items.len() < limit
                && let Some(ready) = lane.pop()
            {
                if self.seen.is_new(&reader.shape, &ready.item)? {
                    let item = lane.give(ready, self.items.len());
                    self.items.push(item);
                } else {
                    lane.leave_out(ready, &reader.shape)?;
                }
            }
            if self.items.len() >= limit {
                return Ok(None);
            }
            if !lane.is_finished() {
                return Ok(Some(Fill::of(run.lanes, [self.number], limit - self.items.len(), 1)));
            }
            self.number += 1;
        }
        Ok(None)
    }

    pub(super) fn finish(&mut self, run: &Run<'_>) -> Result<Answer, AnswerError> {
        let items = std::mem::take(&mut self.items);
        let count = items.len() as u64;
        run.finish(items, count)
    }
}
