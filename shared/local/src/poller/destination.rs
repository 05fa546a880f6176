//! The destination of skipped records: one line for each failed invocation, with its event, in the form of an
//! on-failure destination in S3.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::fs::OpenOptions;
use tokio::io::AsyncWriteExt;

use super::batch::event;
use super::progress::PollerError;
use super::stream::{Stream, StreamRecord};
use crate::runtime_api::InvocationResult;

/// Adds a line for these records.
pub(super) async fn give_up(
    path: &Path,
    stream: &Stream,
    records: &[StreamRecord],
    invocations: u32,
    outcome: &InvocationResult,
) -> Result<(), PollerError> {
    let text = format!("{}\n", line(stream, records, invocations, outcome));
    let written = async {
        let mut file = OpenOptions::new().create(true).append(true).open(path).await?;
        file.write_all(text.as_bytes()).await?;
        file.flush().await
    };
    let failed = |error: std::io::Error| PollerError::Destination {
        path: path.display().to_string(),
        reason: error.to_string(),
    };
    written.await.map_err(failed)
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html>
fn line(stream: &Stream, records: &[StreamRecord], invocations: u32, outcome: &InvocationResult) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let (first, last) = (records.first(), records.last());
    json!({
        "version": "1.0",
        "timestamp": now,
        "requestContext": { "condition": "RetryAttemptsExhausted", "approximateInvokeCount": invocations },
        "responseContext": { "functionError": how(outcome) },
        "DDBStreamBatchInfo": {
            "shardId": stream.shard(),
            "startSequenceNumber": first.map(|record| record.sequence.as_str()),
            "endSequenceNumber": last.map(|record| record.sequence.as_str()),
            "approximateArrivalOfFirstRecord": first.map(|record| record.seconds),
            "approximateArrivalOfLastRecord": last.map(|record| record.seconds),
            "batchSize": records.len(),
            "streamArn": stream.arn(),
        },
        "payload": event(records),
    })
}

fn how(outcome: &InvocationResult) -> Value {
    match outcome {
        InvocationResult::Response(text)
        | InvocationResult::Error(text)
        | InvocationResult::InitError(text) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()))
        }
        InvocationResult::TimedOut => Value::from("timed out"),
        InvocationResult::Ended(how) => Value::from(how.as_str()),
    }
}
