//! One slice of a segment: pages are read and carried over until the slice must end.

use std::ops::ControlFlow;

use futures_util::FutureExt;
use futures_util::future::join3;
use keyfold_core::retrofit::{Checkpoint, ItemTask, Pass, Slice, TableRole, TaskResult};

use super::concurrent::carry_all;
use super::worker_lease::WorkerLease;
use super::{RequestSender, RetrofitError, SliceOptions};
use crate::{Page, PageRequest, ScanPage, Segment, scan_page};

/// How a slice ended. An error does not take back what the checkpoint says.
#[derive(Debug)]
pub struct SliceEnd {
    /// The finished and durable part.
    pub checkpoint: Checkpoint,
    /// Why it ended before its limits, if it did.
    pub error: Option<RetrofitError>,
}

/// Called with the checkpoint after each page; may end the slice there.
pub type Watch<'w> = dyn FnMut(&Checkpoint) -> ControlFlow<()> + Send + 'w;

/// Carries pages of the source over, from the checkpoint on.
pub async fn backfill_slice(
    sender: &RequestSender,
    checkpoint: Checkpoint,
    options: &SliceOptions,
    watch: &mut Watch<'_>,
) -> SliceEnd {
    debug_assert_eq!(checkpoint.pass(), Pass::Backfill, "another pass has another slice");
    let mut hold = match WorkerLease::take(sender, &checkpoint, options).await {
        Ok(hold) => hold,
        Err(error) => return SliceEnd { checkpoint, error: Some(error) },
    };
    let before = checkpoint.clone();
    let mut slice = Slice::from(checkpoint);
    let ran = in_time(options, run(sender, &mut slice, &mut hold, options, watch)).await;
    let checkpoint = slice.checkpoint().clone();
    let ended = hold.end(sender, &checkpoint).await;
    let error = match ran {
        Some(ran) => ran.and(ended).err(),
        None if checkpoint == before => Some(RetrofitError::OutOfTime),
        None => ended.err(),
    };
    SliceEnd { checkpoint, error }
}

/// Waits for the work, up to the end of the options' time: then `None`.
pub(super) async fn in_time<T>(options: &SliceOptions, work: impl Future<Output = T>) -> Option<T> {
    match options.stop_at {
        Some(end) => tokio::time::timeout_at(end.into(), work).await.ok(),
        None => Some(work.await),
    }
}

/// The next page is read while the previous page is written.
async fn run(
    sender: &RequestSender,
    slice: &mut Slice,
    hold: &mut WorkerLease,
    options: &SliceOptions,
    watch: &mut Watch<'_>,
) -> Result<(), RetrofitError> {
    let (mut pages, mut ahead) = (0, None);
    while slice.next().is_some() && options.may_begin(pages) && sender.turn(options).await {
        let page = match ahead.take() {
            Some(page) => page,
            None => read_page(sender, TableRole::Source, slice, options).await?,
        };
        let Page { items, last_key, .. } = page;
        let (count, number) = (items.len(), slice.page(items.len(), last_key));
        let careful = slice.is_careful(number);
        let tasks = items.into_iter().map(|item| sender.job().backfill(item, careful));
        pages += 1;
        let (settled, next, kept) = join3(
            carry_to_the_end(sender, tasks, options),
            read_ahead(sender, slice, options, pages),
            hold.keep(sender, slice.checkpoint()),
        )
        .await;
        for verdict in settled? {
            slice.item_done(number, &verdict);
        }
        sender.carried(count);
        let stop = watch(slice.checkpoint()).is_break();
        kept?;
        ahead = next?;
        if stop {
            break;
        }
    }
    Ok(())
}

/// Reads the page after the page that is being written, if there will be one.
async fn read_ahead(
    sender: &RequestSender,
    slice: &Slice,
    options: &SliceOptions,
    pages: u32,
) -> Result<Option<Page>, RetrofitError> {
    if slice.next().is_none() || !options.may_begin(pages) {
        return Ok(None);
    }
    read_page(sender, TableRole::Source, slice, options).await.map(Some)
}

/// Reads the slice's next page.
pub(super) async fn read_page(
    sender: &RequestSender,
    role: TableRole,
    slice: &Slice,
    options: &SliceOptions,
) -> Result<Page, RetrofitError> {
    let segment = slice.checkpoint().segment();
    let page = PageRequest {
        table: sender.table(role).name.clone(),
        limit: Some(sender.page_items(options.page_items)),
        consistent: true,
        start_key: slice.next().flatten().cloned(),
        ..PageRequest::default()
    };
    let segment = Segment { number: segment.number(), total: segment.total() };
    let scan = ScanPage { page, segment: Some(segment) };
    let page = sender.with_retries(|| scan_page(sender.client(), &scan).boxed()).await?;
    sender.has_read(&page.consumed);
    Ok(page)
}

/// Carries tasks out until each is settled. One whose place is taken is tried again when the others have moved, and then
/// parked. An item that is not settled ends the slice: the checkpoint stays before its page.
async fn carry_to_the_end(
    sender: &RequestSender,
    tasks: impl ExactSizeIterator<Item = ItemTask>,
    options: &SliceOptions,
) -> Result<Vec<TaskResult>, RetrofitError> {
    let mut verdicts = Vec::with_capacity(tasks.len());
    let mut blocked = Vec::new();
    for (end, task) in carry_all(sender, tasks, options.in_flight_max).await {
        match end? {
            TaskResult::Blocked => blocked.push(task),
            verdict => verdicts.push(verdict),
        }
    }
    for mut task in blocked {
        verdicts.push(unblock(sender, &mut task).await?);
    }
    match verdicts.iter().find(|verdict| !verdict.is_done()) {
        Some(verdict) => Err(RetrofitError::NotDone {
            table: sender.table(TableRole::Source).id.clone(),
            verdict: verdict.name(),
        }),
        None => Ok(verdicts),
    }
}

/// Tries a blocked task once more, then parks it.
pub(super) async fn unblock(
    sender: &RequestSender,
    task: &mut ItemTask,
) -> Result<TaskResult, RetrofitError> {
    let again = task.again(sender.job());
    match sender.resume(task, again).await? {
        TaskResult::Blocked => {
            let parked = task.park(sender.job());
            Ok(sender.resume(task, parked).await?)
        }
        verdict => Ok(verdict),
    }
}
