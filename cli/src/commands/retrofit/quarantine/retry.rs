//! `keyfold retrofit quarantine --retry`: reads the items of discarded batches again and writes them, and tries each entry again.
//!
//! A discarded batch is old, so the values in its records are not written: the records only name the items to read again. Records of a
//! table that follows the other one are checked as the replicator does: late changes are noted with both images.

use std::process::ExitCode;

use anyhow::{Context, bail};
use keyfold_core::retrofit::Quarantined;
use keyfold_dynamo::Service;
use keyfold_dynamo::retrofit::{RequestSender, RetrofitError, RetrofitState};
use keyfold_edge::retrofit::set_aside_changes;
use serde_json::json;

use super::super::env::{Env, RetrofitName};
use crate::refusal::refuse;
use crate::support::exit_code;

pub(super) async fn run(env: &Env<'_>, retrofit: &RetrofitName) -> anyhow::Result<ExitCode> {
    let (leading, head) = env.started(retrofit).await?;
    if head.phase.direction().is_none() {
        bail!(RetrofitError::from(head.closed()));
    }
    // The batches of both tables are in the quarantine of the forward direction.
    let sender = env.unstarted(retrofit).await?;
    let mut batches = sender.quarantine().await?;
    batches.retain(|entry| entry.place().is_some());
    leading.begin_writing().await?;
    let (mut records, mut batches_left) = (0, 0);
    if !batches.is_empty() {
        sender.begin_writing().await?;
        let objects = Service::s3(&env.globals.settings()?).await?;
        for entry in &batches {
            let (read, is_done) = redrive(&objects, &sender, &head, entry).await?;
            records += read;
            batches_left += usize::from(!is_done);
        }
    }
    let (released, left) = leading.release_all().await?;
    let batches = batches.len();
    env.out.show(
        &json!({
            "retrofit": head.retrofit, "batches": batches, "records": records, "batchesLeft": batches_left,
            "released": released, "left": left,
        }),
        format!(
            "{batches} batches with {records} records read again, {batches_left} batches left; {released} items left the quarantine, {left} stay\n"
        ),
    )?;
    Ok(exit_code(batches_left == 0 && left == 0))
}

/// Reads a batch again: how many records it has, and whether it is done. Its entry and then its object are removed once each of its items
/// is right, or has its own entry. The state machine enters an object without an entry in the quarantine again, so nothing is lost between
/// the two.
async fn redrive(
    objects: &Service,
    sender: &RequestSender,
    head: &RetrofitState,
    entry: &Quarantined,
) -> anyhow::Result<(usize, bool)> {
    let (place, retrofit) = (entry.place().unwrap_or_default(), &head.retrofit);
    // A batch that the bucket does not hold any longer can still be answered.
    let object = match objects.object(place).await {
        Ok(object) => object,
        Err(error) => refuse!(
            "batch-not-read",
            "the batch `{place}` was not read: {error}\nhint: if the bucket has deleted it, run `keyfold retrofit run {retrofit} --repair`, \
             then `quarantine {retrofit} --release`"
        ),
    };
    let (lead, records) = set_aside_changes(&object, sender.job().mapping())
        .with_context(|| format!("cannot read the batch `{place}`"))?;
    let count = records.len();
    let is_done = sender.redrive_by_phase(head, lead, records).await?;
    if is_done {
        sender.carry(&mut sender.job().dismiss(entry)).await?;
        // Its object would be found again by the next run.
        if let Err(error) = objects.delete_object(place).await {
            refuse!(
                "batch-not-deleted",
                "the batch `{place}` was read again, and was not deleted: {error}\nhint: allow s3:DeleteObject on the bucket, or delete it: \
                 `aws s3 rm {place}`; otherwise the next run enters it in the quarantine again"
            );
        }
    }
    Ok((count, is_done))
}
