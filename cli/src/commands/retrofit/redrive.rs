//! `keyfold retrofit redrive`: reads the items of discarded batches again, and writes them.
//!
//! Such a batch is old, so the values in its records are not written: the records only name the items to read again. Records of a
//! table that follows the other one are checked as the replicator does: late changes are noted with both images.

use std::process::ExitCode;

use anyhow::Context;
use keyfold_core::retrofit::control::{Delivery, Direction, Phase};
use keyfold_core::retrofit::{
    ChangeKind, ChangeRecord, Mapping, Quarantined, Received, SequenceNumber, TableRole,
};
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::{ReplicateOptions, RequestSender, RetrofitState, look_at_late};
use serde::Deserialize;
use serde_json::{Value, json};

use super::env::{Env, RetrofitName, explained};
use super::machine::aws;
use crate::support::exit_code;

/// The advice for a batch that the bucket does not hold any longer.
const DELETED: &str = "\nhint: if the bucket has deleted it, run `keyfold retrofit repair`, `verify`, then `quarantine --dismiss`";

/// The members of an object in the failure bucket that are needed; `payload` can be a text.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html>
#[derive(Deserialize)]
struct SetAside {
    payload: Value,
}

#[derive(Deserialize)]
struct Batch {
    #[serde(rename = "Records")]
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    /// The stream's ARN.
    #[serde(rename = "eventSourceARN", default)]
    stream: String,
    dynamodb: Change,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Change {
    keys: Item,
    sequence_number: String,
    old_image: Option<Item>,
    new_image: Option<Item>,
}

pub(super) async fn run(env: &Env<'_>, retrofit: &RetrofitName) -> anyhow::Result<ExitCode> {
    let (_, head) = env.started(retrofit).await?;
    // The batches of both tables are in the quarantine of the forward direction.
    let sender = env.unstarted(retrofit).await?;
    // Once the target has its own writers and no way back, records of the source do not overwrite it.
    if !matches!(head.phase, Phase::Closing | Phase::Reversed | Phase::Returning) {
        head.check_filling(sender.job().mapping()).map_err(explained)?;
    }
    let entries = sender.quarantine().await.map_err(explained)?;
    let batches: Vec<&Quarantined> = entries.iter().filter(|entry| entry.place().is_some()).collect();
    if !batches.is_empty() {
        sender.begin_writing().await.map_err(explained)?;
    }
    let (mut items, mut left) = (0, 0);
    for entry in &batches {
        let place = entry.place().unwrap_or_default();
        let object = aws(&["s3", "cp", place, "-"], &format!("the batch `{place}` was not read"), DELETED)?;
        let (lead, records) = records(&object, sender.job().mapping())
            .with_context(|| format!("cannot read the batch `{place}`"))?;
        items += records.len();
        // The entry of the batch is removed once each of its items is right, or has its own entry.
        match redriven(&sender, &head, lead, records).await? {
            true => drop(sender.carry(&mut sender.job().dismiss(entry)).await?),
            false => left += 1,
        }
    }
    let count = batches.len();
    env.out.show(
        &json!({ "retrofit": head.retrofit, "batches": count, "records": items, "batchesLeft": left }),
        format!("{count} batches with {items} records read again, {left} batches left\n"),
    )?;
    Ok(exit_code(left == 0))
}

/// Handles the records of a table as the replicator would now. Is every one of them done?
async fn redriven(
    sender: &RequestSender,
    head: &RetrofitState,
    lead: Direction,
    records: Vec<ChangeRecord>,
) -> anyhow::Result<bool> {
    let by = |job| RequestSender::new(sender.client().clone(), job, &sender.table(TableRole::Control).name);
    match head.delivery(sender.job().mapping(), lead) {
        Delivery::Carry(job) => by(job).redrive(&records).await.map_err(explained),
        Delivery::Late { job, epoch } => {
            let records: Vec<Received> = records.into_iter().map(Received::Change).collect();
            let looked = look_at_late(&by(job), &records, epoch, &ReplicateOptions::default()).await;
            looked.error.map_or(Ok(looked.failed.is_empty()), |error| Err(explained(error)))
        }
        Delivery::Nothing => Ok(true),
    }
}

/// The changes of a batch, and which table they are of: the source, from which items are carried there, or the target.
fn records(text: &str, mapping: &Mapping) -> anyhow::Result<(Direction, Vec<ChangeRecord>)> {
    let SetAside { payload } = serde_json::from_str(text)?;
    let batch: Batch = match payload {
        Value::String(text) => serde_json::from_str(&text)?,
        payload => serde_json::from_value(payload)?,
    };
    let of_target = format!(":table/{}/", mapping.target().name);
    // In place there is one table.
    let apart = mapping.source().name != mapping.target().name;
    let (lead, table) =
        match batch.records.first().is_some_and(|record| record.stream.contains(&of_target)) && apart {
            true => (Direction::Reverse, mapping.target()),
            false => (Direction::Forward, mapping.source()),
        };
    let change = |record: Record| {
        let Change { keys, sequence_number, old_image: old, new_image: new } = record.dynamodb;
        let key = table.key_of(&keys).context("a record has another key than its table")?;
        let sequence = SequenceNumber::parse(&sequence_number)?;
        let kind = match (&old, &new) {
            (None, Some(_)) => ChangeKind::Insert,
            (Some(_), None) => ChangeKind::Remove { expired: false },
            _ => ChangeKind::Modify,
        };
        Ok(ChangeRecord { sequence, key, kind, old, new })
    };
    Ok((lead, batch.records.into_iter().map(change).collect::<anyhow::Result<_>>()?))
}
