//! One access after the other, until the answer is full.

use keyfold_core::value::Item;

use super::answer::{Answer, Run};
use super::error::QueryError;
use super::seen::Seen;

pub(super) async fn run(mut run: Run<'_>) -> Result<Answer, QueryError> {
    let limit = run.plan.limit as usize;
    let mut items: Vec<Item> = Vec::new();
    let mut seen = Seen::among(run.lane_reader.lanes.len());
    'answer: for number in 0..run.lane_reader.lanes.len() {
        loop {
            let (lane, reader) = (&mut run.lane_reader.lanes[number], &run.lane_reader.readers[number]);
            items.reserve(lane.ready_count().min(limit - items.len()));
            while items.len() < limit
                && let Some(ready) = lane.pop()
            {
                if seen.is_new(&reader.shape, &ready.item)? {
                    let item = lane.give(ready, items.len());
                    items.push(item);
                } else {
                    lane.leave_out(ready, &reader.shape)?;
                }
            }
            if items.len() >= limit {
                break 'answer;
            }
            if lane.is_finished() {
                break;
            }
            let wanted = u32::try_from(limit - items.len()).unwrap_or(u32::MAX);
            if !run.lane_reader.fill([number], wanted, &mut |_, _| Ok(())).await? {
                break 'answer;
            }
        }
    }
    let count = items.len() as u64;
    run.finish(items, count)
}
