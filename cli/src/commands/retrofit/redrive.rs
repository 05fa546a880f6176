//! `keyfold retrofit redrive`: brings the items of batches that the event source gave up to where they should be.
//!
//! Such a batch is old: what its records say is not written. They only tell which items to read anew.

use std::process::{Command, ExitCode};

use anyhow::{Context, anyhow};
use keyfold_core::model::{Model, Table};
use keyfold_core::retrofit::{ChangeKind, ChangeRecord, Quarantined, SequenceNumber};
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::RequestSender;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{explained, started};
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
    dynamodb: Change,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Change {
    keys: Item,
    sequence_number: String,
}

pub(super) async fn run(model: &Model, args: &RetrofitTarget, out: &Output) -> anyhow::Result<ExitCode> {
    let (sender, head) = started(model, args).await?;
    head.check_filling(sender.job().mapping()).map_err(|error| explained(error.into()))?;
    let entries = sender.quarantine().await.map_err(explained)?;
    let batches: Vec<&Quarantined> = entries.iter().filter(|entry| entry.place().is_some()).collect();
    if !batches.is_empty() {
        sender.begin_writing().await.map_err(explained)?;
    }
    let (mut items, mut left) = (0, 0);
    for entry in &batches {
        let place = entry.place().unwrap_or_default();
        let records = records(&fetch(place)?, sender.job().mapping().source())
            .with_context(|| format!("cannot read the batch `{place}`"))?;
        items += records.len();
        left += usize::from(!redriven(&sender, entry, &records).await?);
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

/// Reads the items of a batch anew. The batch's own entry goes once each of them is right, or has an entry of its own.
async fn redriven(
    sender: &RequestSender,
    entry: &Quarantined,
    records: &[ChangeRecord],
) -> anyhow::Result<bool> {
    let right = sender.redrive(records).await.map_err(explained)?;
    if right {
        sender.carry(&mut sender.job().dismiss(entry)).await?;
    }
    Ok(right)
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

/// The changes of a batch as far as they are needed: whose they are, and how new.
fn records(text: &str, source: &Table) -> anyhow::Result<Vec<ChangeRecord>> {
    let SetAside { payload } = serde_json::from_str(text)?;
    let batch: Batch = match payload {
        Value::String(text) => serde_json::from_str(&text)?,
        payload => serde_json::from_value(payload)?,
    };
    let change = |record: Record| {
        let Change { keys, sequence_number } = record.dynamodb;
        let key = source.key_of(&keys).context("a record has another key than the source")?;
        let sequence = SequenceNumber::parse(&sequence_number)?;
        Ok(ChangeRecord { sequence, key, kind: ChangeKind::Modify, old: None, new: None })
    };
    batch.records.into_iter().map(change).collect()
}
