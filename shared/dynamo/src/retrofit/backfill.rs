//! One slice of a segment: pages are read and carried over until the slice must end.

use std::time::Instant;

use keyfold_core::retrofit::{Checkpoint, Pass, Place, Slice, Task, Verdict};

use super::many::carry_all;
use super::{Carrier, RetrofitError, SliceOptions};
use crate::{Page, PageRequest, ScanPage, Segment, scan_page};

/// How a slice ended. An error does not take back what the checkpoint says.
#[derive(Debug)]
pub struct SliceEnd {
    /// What is dealt with and durable.
    pub checkpoint: Checkpoint,
    /// Why it ended before its limits, if it did.
    pub error: Option<RetrofitError>,
}

/// Carries pages of the source over, from the checkpoint on. `watch` is told the checkpoint after each page.
pub async fn backfill_slice(
    carrier: &Carrier,
    checkpoint: Checkpoint,
    options: &SliceOptions,
    watch: &mut dyn FnMut(&Checkpoint),
) -> SliceEnd {
    debug_assert_eq!(checkpoint.pass(), Pass::Backfill, "another pass has another slice");
    let mut slice = Slice::from(checkpoint);
    let error = run(carrier, &mut slice, options, watch).await.err();
    SliceEnd { checkpoint: slice.checkpoint().clone(), error }
}

async fn run(
    carrier: &Carrier,
    slice: &mut Slice,
    options: &SliceOptions,
    watch: &mut dyn FnMut(&Checkpoint),
) -> Result<(), RetrofitError> {
    let mut pages = 0;
    while slice.next().is_some() && !options.ends_before(pages) {
        let begun = Instant::now();
        let page = read_page(carrier, Place::Source, slice, options).await?;
        let number = slice.page(page.items.len(), page.last_key);
        let careful = slice.is_careful(number);
        let items = page.items.len();
        let tasks = page.items.iter().map(|item| carrier.job().backfill(item, careful)).collect();
        for verdict in settle(carrier, tasks, options).await? {
            slice.settled(number, &verdict);
        }
        watch(slice.checkpoint());
        pages += 1;
        tokio::time::sleep(options.time_for(items).saturating_sub(begun.elapsed())).await;
    }
    Ok(())
}

/// Reads the slice's next page.
pub(super) async fn read_page(
    carrier: &Carrier,
    place: Place,
    slice: &Slice,
    options: &SliceOptions,
) -> Result<Page, RetrofitError> {
    let segment = slice.checkpoint().segment();
    let page = PageRequest {
        table: carrier.table(place).name.clone(),
        limit: Some(options.page_items),
        consistent: true,
        start_key: slice.next().flatten().cloned(),
        ..PageRequest::default()
    };
    let segment = Segment { number: segment.number(), total: segment.total() };
    let page = scan_page(carrier.client(), &ScanPage { page, segment: Some(segment) }).await?;
    carrier.spending().read.add(&page.consumed);
    Ok(page)
}

/// Carries tasks out until each is settled. One whose place is taken is tried again when the others have moved, and then
/// parked. An item that is not settled ends the slice: the checkpoint stays before its page.
async fn settle(
    carrier: &Carrier,
    tasks: Vec<Task>,
    options: &SliceOptions,
) -> Result<Vec<Verdict>, RetrofitError> {
    let mut verdicts = Vec::with_capacity(tasks.len());
    let mut blocked = Vec::new();
    for (end, task) in carry_all(carrier, tasks, options.in_flight_max).await {
        match end? {
            Verdict::Blocked => blocked.push(task),
            verdict => verdicts.push(verdict),
        }
    }
    for mut task in blocked {
        verdicts.push(unblock(carrier, &mut task).await?);
    }
    match verdicts.iter().find(|verdict| !verdict.is_settled()) {
        Some(verdict) => Err(RetrofitError::NotSettled {
            table: carrier.table(Place::Source).id.clone(),
            verdict: verdict.name(),
        }),
        None => Ok(verdicts),
    }
}

/// Tries a blocked task once more, then parks it.
pub(super) async fn unblock(carrier: &Carrier, task: &mut Task) -> Result<Verdict, RetrofitError> {
    let again = task.again(carrier.job());
    match carrier.go_on(task, again).await? {
        Verdict::Blocked => {
            let parked = task.park(carrier.job());
            Ok(carrier.go_on(task, parked).await?)
        }
        verdict => Ok(verdict),
    }
}
