//! Only the number of items: all accesses at once, to their ends.

use super::answer::{Answer, Run};
use super::error::QueryError;
use super::seen::Seen;

pub(super) async fn run(mut run: Run<'_>) -> Result<Answer, QueryError> {
    let mut seen = Seen::among(run.plan.accesses.len());
    let mut count = 0;
    let all = 0..run.lane_reader.lanes.len();
    let page = run.lane_reader.page_items_max;
    run.lane_reader
        .fill(all, page, &mut |reader, lane| {
            for item in lane.drain() {
                count += u64::from(seen.is_new(&reader.shape, &item)?);
            }
            Ok(())
        })
        .await?;
    count += run.lane_reader.lanes.iter().map(super::lane::Lane::counted).sum::<u64>();
    run.finish(Vec::new(), count)
}
