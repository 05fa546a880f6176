//! `keyfold retrofit redrive`: brings the items of batches that the event source gave up to where they should be.
//!
//! Such a batch is old: what its records say is not written. They only tell which items to read anew. Records of a table that
//! follows the other one are looked at as the replicator does: what came late is noted with both images.

use std::process::{Command, ExitCode};

use anyhow::{Context, anyhow};
use keyfold_core::model::Model;
use keyfold_core::retrofit::control::{Delivery, Direction, Phase};
use keyfold_core::retrofit::{
    ChangeKind, ChangeRecord, Mapping, Quarantined, Received, SequenceNumber, TableRole,
};
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::{Head, ReplicateOptions, RequestSender, look_at_late};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{explained, started, unstarted};
use crate::args::RetrofitTarget;
use crate::output::Output;

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

pub(super) async fn run(model: &Model, args: &RetrofitTarget, out: &Output) -> anyhow::Result<ExitCode> {
    let (_, head) = started(model, args).await?;
    // Batches are entered in the quarantine of the way there, whichever table they are of.
    let sender = unstarted(model, args).await?;
    // Once the target has writers of its own, and no way back, what the source said is not written over it.
    if !matches!(head.phase, Phase::Closing | Phase::Reversed | Phase::Returning) {
        head.check_filling(sender.job().mapping()).map_err(|error| explained(error.into()))?;
    }
    let entries = sender.quarantine().await.map_err(explained)?;
    let batches: Vec<&Quarantined> = entries.iter().filter(|entry| entry.place().is_some()).collect();
    if !batches.is_empty() {
        sender.begin_writing().await.map_err(explained)?;
    }
    let (mut items, mut left) = (0, 0);
    for entry in &batches {
        let place = entry.place().unwrap_or_default();
        let (lead, records) = records(&fetch(place)?, sender.job().mapping())
            .with_context(|| format!("cannot read the batch `{place}`"))?;
        items += records.len();
        // The batch's own entry goes once each of its items is right, or has an entry of its own.
        match redriven(&sender, &head, lead, records).await? {
            true => drop(sender.carry(&mut sender.job().dismiss(entry)).await?),
            false => left += 1,
        }
    }
    if out.json {
        out.value(&json!({
            "retrofit": head.retrofit, "batches": batches.len(), "records": items, "batchesLeft": left,
        }))?;
    } else {
        out.text(format!("{} batches with {items} records read anew, {left} batches left\n", batches.len()));
    }
    Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Does with the records of a table what the replicator would do with them now; is all of it done?
async fn redriven(
    sender: &RequestSender,
    head: &Head,
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

/// The text of an object, by the AWS CLI: everybody who deploys has it.
fn fetch(place: &str) -> anyhow::Result<String> {
    let answer = Command::new("aws").args(["s3", "cp", place, "-"]).output();
    let answer = answer.map_err(|error| anyhow!("cannot run the AWS CLI ({error})"))?;
    if !answer.status.success() {
        let reason = String::from_utf8_lossy(&answer.stderr);
        return Err(anyhow!(
            "the batch `{place}` was not read: {}\nhint: if the bucket has deleted it, run `keyfold retrofit repair`, `verify`, then `quarantine --dismiss`",
            reason.trim()
        ));
    }
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
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
            true => (Direction::Back, mapping.target()),
            false => (Direction::There, mapping.source()),
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
