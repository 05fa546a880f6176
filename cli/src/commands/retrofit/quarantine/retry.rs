//! `keyfold retrofit quarantine --retry`: reads the items of discarded batches again and writes them, and tries each entry again.
//!
//! A discarded batch is old, so the values in its records are not written: the records only name the items to read again. Records of a
//! table that follows the other one are checked as the replicator does: late changes are noted with both images.

use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::retrofit::Quarantined;
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use keyfold_dynamo::{Service, ServiceError};
use keyfold_edge::retrofit::set_aside_changes;
use serde_json::json;

use super::super::env::{Env, RetrofitName, explained};
use crate::refusal;
use crate::support::exit_code;

pub(super) async fn run(env: &Env<'_>, retrofit: &RetrofitName) -> anyhow::Result<ExitCode> {
    let (leading, head) = env.started(retrofit).await?;
    if head.phase.direction().is_none() {
        return Err(explained(head.closed()));
    }
    // The batches of both tables are in the quarantine of the forward direction.
    let sender = env.unstarted(retrofit).await?;
    let entries = sender.quarantine().await.map_err(explained)?;
    let batches: Vec<&Quarantined> = entries.iter().filter(|entry| entry.place().is_some()).collect();
    leading.begin_writing().await.map_err(explained)?;
    if !batches.is_empty() {
        sender.begin_writing().await.map_err(explained)?;
    }
    let mut report = Retried { batches: batches.len(), ..Retried::default() };
    if !batches.is_empty() {
        let objects = Service::s3(&env.globals.settings()?).await.map_err(refusal::explained)?;
        for entry in &batches {
            report.batch(&objects, &sender, &head, entry).await?;
        }
    }
    for entry in leading.quarantine().await.map_err(explained)? {
        if entry.key.is_some() {
            let is_out = leading.release(&entry).await.map_err(explained)?;
            *(if is_out { &mut report.released } else { &mut report.left }) += 1;
        }
    }
    let Retried { batches, records, batches_left, released, left } = report;
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

/// The outcome of a retry.
#[derive(Default)]
struct Retried {
    batches: usize,
    records: usize,
    batches_left: usize,
    released: usize,
    left: usize,
}

impl Retried {
    /// Reads a batch again. Its entry and then its object are removed once each of its items is right, or has its own entry. The state
    /// machine enters an object without an entry in the quarantine again, so nothing is lost between the two.
    async fn batch(
        &mut self,
        objects: &Service,
        sender: &RequestSender,
        head: &RetrofitState,
        entry: &Quarantined,
    ) -> anyhow::Result<()> {
        let place = entry.place().unwrap_or_default();
        let object = objects.object(place).await.map_err(|error| unread(place, &head.retrofit, &error))?;
        let (lead, records) = set_aside_changes(&object, sender.job().mapping())
            .with_context(|| format!("cannot read the batch `{place}`"))?;
        self.records += records.len();
        match sender.redrive_by_phase(head, lead, records).await.map_err(explained)? {
            true => {
                sender.carry(&mut sender.job().dismiss(entry)).await?;
                objects.delete_object(place).await.map_err(|error| undeleted(place, &error))?;
            }
            false => self.batches_left += 1,
        }
        Ok(())
    }
}

/// A batch that the bucket does not hold any longer can still be answered.
fn unread(place: &str, retrofit: &str, error: &ServiceError) -> anyhow::Error {
    refusal::coded(
        "batch-not-read",
        &format!(
            "the batch `{place}` was not read: {error}\nhint: if the bucket has deleted it, run `keyfold retrofit run {retrofit} --repair`, \
             then `quarantine {retrofit} --release`"
        ),
    )
}

/// The batch is done; its object would be found again by the next run.
fn undeleted(place: &str, error: &ServiceError) -> anyhow::Error {
    refusal::coded(
        "batch-not-deleted",
        &format!(
            "the batch `{place}` was read again, and was not deleted: {error}\nhint: allow s3:DeleteObject on the bucket, or delete it: \
             `aws s3 rm {place}`; otherwise the next run enters it in the quarantine again"
        ),
    )
}
