//! One slice of the cleaning at the end: what the retrofit kept on the target's items goes, and the ledger.

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::{Checkpoint, Outcome, Pass, Place, Request, Slice, finalise};

use super::backfill::read_page;
use super::{Carrier, RetrofitError, SliceEnd, SliceOptions, Watch};

/// Cleans pages from the checkpoint on.
pub async fn finalise_slice(
    carrier: &Carrier,
    checkpoint: Checkpoint,
    options: &SliceOptions,
    watch: &mut Watch<'_>,
) -> SliceEnd {
    let mut slice = Slice::from(checkpoint);
    let error = run(carrier, &mut slice, options, watch).await.err();
    SliceEnd { checkpoint: slice.checkpoint().clone(), error }
}

async fn run(
    carrier: &Carrier,
    slice: &mut Slice,
    options: &SliceOptions,
    watch: &mut Watch<'_>,
) -> Result<(), RetrofitError> {
    let ledger = slice.checkpoint().pass() == Pass::EmptyLedger;
    let place = if ledger { Place::Control } else { Place::Target };
    let mapping = carrier.job().mapping();
    let mut pages = 0;
    while slice.next().is_some() && options.may_begin(pages) && carrier.turn(options).await {
        let page = read_page(carrier, place, slice, options).await?;
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
                    Some(write) => carrier.send(&Request::Write(write)).await.map(Some),
                    None => Ok(None),
                }
            })
            .buffer_unordered(options.in_flight_max.max(1));
        while let Some(outcome) = sent.next().await {
            let name = match outcome? {
                None => "clean",
                Some(Outcome::Written) => "cleaned",
                // Somebody writes to it by now, without a fence.
                Some(Outcome::Refused(_)) => "changed",
                Some(Outcome::Rejected(code)) => {
                    return Err(RetrofitError::Refused { table: carrier.table(place).id.clone(), code });
                }
                Some(Outcome::Got(_) | Outcome::Cancelled(_)) => unreachable!("a write was sent"),
            };
            slice.counted(number, name);
        }
        drop(sent);
        carrier.carried(page.items.len());
        pages += 1;
        if watch(slice.checkpoint()).is_break() {
            break;
        }
    }
    Ok(())
}
