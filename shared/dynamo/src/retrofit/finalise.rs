//! One slice of the cleaning at the end: what the retrofit kept on the target's items goes, and the ledger.

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::{Checkpoint, Pass, Request, Response, Slice, TableRole, finalise};

use super::backfill::read_page;
use super::{RequestSender, RetrofitError, SliceEnd, SliceOptions, Watch};

/// Cleans pages from the checkpoint on.
pub async fn finalise_slice(
    sender: &RequestSender,
    checkpoint: Checkpoint,
    options: &SliceOptions,
    watch: &mut Watch<'_>,
) -> SliceEnd {
    let mut slice = Slice::from(checkpoint);
    let error = run(sender, &mut slice, options, watch).await.err();
    SliceEnd { checkpoint: slice.checkpoint().clone(), error }
}

async fn run(
    sender: &RequestSender,
    slice: &mut Slice,
    options: &SliceOptions,
    watch: &mut Watch<'_>,
) -> Result<(), RetrofitError> {
    let ledger = slice.checkpoint().pass() == Pass::EmptyLedger;
    let place = if ledger { TableRole::Control } else { TableRole::Target };
    let mapping = sender.job().mapping();
    let mut pages = 0;
    while slice.next().is_some() && options.may_begin(pages) && sender.turn(options).await {
        let page = read_page(sender, place, slice, options).await?;
        let number = slice.page(page.items.len(), page.last_key);
        let writes = page.items.iter().map(|item| {
            if ledger {
                finalise::forget(mapping.name(), item)
            } else {
                finalise::clean(mapping.target(), item)
            }
        });
        let mut sent = stream::iter(writes)
            .map(|write| async {
                match write {
                    Some(write) => sender.send(&Request::Write(write)).await.map(Some),
                    None => Ok(None),
                }
            })
            .buffer_unordered(options.in_flight_max.max(1));
        while let Some(outcome) = sent.next().await {
            let name = match outcome? {
                None => "clean",
                Some(Response::Written) => "cleaned",
                // Somebody writes to it by now, without a fence.
                Some(Response::Refused(_)) => "changed",
                Some(Response::Rejected(code)) => {
                    return Err(RetrofitError::Refused { table: sender.table(place).id.clone(), code });
                }
                Some(Response::Got(_) | Response::Cancelled(_)) => unreachable!("a write was sent"),
            };
            slice.counted(number, name);
        }
        drop(sent);
        sender.carried(page.items.len());
        pages += 1;
        if watch(slice.checkpoint()).is_break() {
            break;
        }
    }
    Ok(())
}
