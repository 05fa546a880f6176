//! One slice of a cleaning: at the end, of what the retrofit kept on the target's items, and of the ledger; before readers
//! move, of tombstones.

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::{Checkpoint, Pass, Request, Response, Slice, finalise};
use keyfold_core::value::Item;

use super::backfill::{in_time, read_page};
use super::worker_lease::WorkerLease;
use super::{RequestSender, RetrofitError, SliceEnd, SliceOptions, Watch};

/// How often an item that is written meanwhile is cleaned.
const ROUNDS_MAX: usize = 8;

/// Cleans pages from the checkpoint on.
pub async fn finalise_slice(
    sender: &RequestSender,
    checkpoint: Checkpoint,
    options: &SliceOptions,
    watch: &mut Watch<'_>,
) -> SliceEnd {
    let mut hold = match WorkerLease::take(sender, &checkpoint, options).await {
        Ok(hold) => hold,
        Err(error) => return SliceEnd { checkpoint, error: Some(error) },
    };
    let mut slice = Slice::from(checkpoint);
    let ran = in_time(options, run(sender, &mut slice, &mut hold, options, watch)).await;
    let ended = hold.end(sender, slice.checkpoint()).await;
    let error = ran.map_or(Ok(()), |ran| ran).and(ended).err();
    SliceEnd { checkpoint: slice.checkpoint().clone(), error }
}

async fn run(
    sender: &RequestSender,
    slice: &mut Slice,
    hold: &mut WorkerLease,
    options: &SliceOptions,
    watch: &mut Watch<'_>,
) -> Result<(), RetrofitError> {
    let pass = slice.checkpoint().pass();
    let mut pages = 0;
    while slice.next().is_some() && options.may_begin(pages) && sender.turn(options).await {
        let page = read_page(sender, pass.table(), slice, options).await?;
        let number = slice.page(page.items.len(), page.last_key);
        // Collected: with the closure in the stream, the compiler cannot tell that a task of this may go to another thread.
        let cleaning: Vec<_> = page.items.iter().map(|item| clean(sender, pass, item)).collect();
        let mut cleaned = stream::iter(cleaning).buffer_unordered(options.in_flight_max.max(1));
        while let Some(name) = cleaned.next().await {
            slice.counted(number, name?);
        }
        drop(cleaned);
        sender.carried(page.items.len());
        pages += 1;
        hold.keep(sender, slice.checkpoint()).await?;
        if watch(slice.checkpoint()).is_break() {
            break;
        }
    }
    Ok(())
}

/// Cleans one item, or one row of the ledger; returns what it counts as.
async fn clean(sender: &RequestSender, pass: Pass, item: &Item) -> Result<&'static str, RetrofitError> {
    let (mapping, ledger) = (sender.job().mapping(), pass == Pass::EmptyLedger);
    let mut there = Some(item.clone());
    for _ in 0..ROUNDS_MAX {
        let Some(item) = &there else { return Ok("clean") };
        let write = match pass {
            Pass::EmptyLedger => finalise::forget(mapping.name(), item),
            Pass::Tidy => finalise::sweep(mapping.target(), item),
            _ => finalise::clean(mapping.target(), item),
        };
        let Some(write) = write else { return Ok("clean") };
        let role = write.role;
        match sender.send(&Request::Write(write)).await? {
            Response::Written if finalise::is_revived(mapping.target(), item) => return Ok("revived"),
            Response::Written => return Ok("cleaned"),
            Response::Refused(_) if ledger => return Ok("changed"),
            // An application wrote the item meanwhile, and may have kept the marks.
            Response::Refused(_) => {
                let key = mapping.target().key_of(item).unwrap_or_default();
                there = sender.read(role, vec![key]).await?.pop();
            }
            Response::Rejected(code) => {
                return Err(RetrofitError::Refused { table: sender.table(role).id.clone(), code });
            }
            Response::Outdated => {
                return Err(RetrofitError::PhaseChanged { retrofit: mapping.name().to_owned() });
            }
            Response::Item(_) | Response::Cancelled(_) => unreachable!("a write was sent"),
        }
    }
    match pass {
        // The checkpoint must not pass a tombstone.
        Pass::Tidy => Err(RetrofitError::NotDone { table: mapping.target().id.clone(), verdict: "changed" }),
        _ => Ok("changed"),
    }
}
