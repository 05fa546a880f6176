//! From a batch to its answer.

use std::time::{Duration, Instant, SystemTime};

use keyfold_core::retrofit::{ChangeKind, Received};
use keyfold_dynamo::retrofit::{ReplicateOptions, Replicated, RequestSender, examine_late, replicate};
use keyfold_edge::{FunctionError, Handled, Invocation};
use serde_json::Value;
use tokio::time::timeout_at;

use crate::change::received;
use crate::event::{StreamBatch, StreamRecord, answer, set_aside, set_aside_again};
use crate::replicator::Opened;
use crate::{Refusal, Replicator, Report};

/// How long before Lambda's timeout work stops, so that the answer can still name unprocessed records.
const DEADLINE_MARGIN: Duration = Duration::from_millis(500);

/// Handles one batch. The answer names the first unprocessed record; an error means that none counts as processed.
pub async fn handle(replicator: &Replicator, invocation: Invocation<'_>) -> Handled<Report> {
    let started = Instant::now();
    let mut record = Report {
        request_id: invocation.request_id.to_owned(),
        retrofit: replicator.retrofit.clone(),
        code: "ok",
        ..Report::default()
    };
    let carried = carry_over(replicator, invocation.event, stop_at(invocation.deadline), &mut record).await;
    let answer = carried.map_err(|refusal| {
        record.refuse(&refusal);
        FunctionError::from(&refusal)
    });
    record.duration = started.elapsed();
    Handled { answer, record }
}

async fn carry_over(
    replicator: &Replicator,
    event: &str,
    stop: Option<Instant>,
    report: &mut Report,
) -> Result<Value, Refusal> {
    if let Some(place) = set_aside_again(event) {
        return note_set_aside(replicator, &place, stop, report).await;
    }
    let mut batch = match StreamBatch::read(event) {
        Ok(batch) => batch,
        // Nearly every event is a batch: only others are parsed a second time.
        Err(refusal) => {
            let place = set_aside(event).ok_or(refusal)?;
            return note_set_aside(replicator, &place, stop, report).await;
        }
    };
    replicator.mapping()?;
    report.records = batch.records.len() as u64;
    report.age = batch.records.last().and_then(age);
    let Some(stream) = &batch.stream else { return Ok(answer(None)) };
    let (table, direction) = replicator.records_of(stream)?;
    let allowed = in_time(stop, replicator.open(stream, direction, report.age)).await?;
    let (sender, late) = match &allowed.opened {
        Opened::Carry(sender) => (sender, None),
        Opened::Late(sender, epoch) => (sender, Some(*epoch)),
        Opened::Nothing => {
            report.unchanged = report.records;
            return Ok(answer(None));
        }
    };
    let is_late = late.is_some();
    // Both images of a late record are recorded.
    let records: Vec<Received> =
        batch.records.iter_mut().map(|record| received(table, record, is_late)).collect();
    report.expired = records.iter().filter(|record| has_expired(record)).count() as u64;
    let options = ReplicateOptions { in_flight_max: replicator.concurrency, deadline: stop };
    let before = sender.spent();
    let mut done = match late {
        None => replicate(sender, records, &options).await,
        Some(epoch) => examine_late(sender, &records, epoch, &options).await,
    };
    report.spend(&before, &sender.spent());
    // A cached state row must not cause records to be dropped.
    if allowed.remembered
        && !done.is_all_written()
        && !in_time(stop, replicator.is_still(stream, direction, allowed.version)).await?
    {
        done = Replicated::again(batch.records.len(), sender.job().mapping().name());
    }
    report.count(&done);
    log_failure(report, &done, sender);
    if is_late {
        // Records that are not late, or also in the open table, leave the closed table unchanged.
        report.late = report.written + report.quarantined;
    } else {
        note_lag(replicator, sender, &batch, &done, stop).await;
    }
    let numbers: Vec<_> = done.failed.iter().map(|&at| batch.records[at].sequence()).collect();
    match numbers.iter().all(|number| number.is_some_and(|number| !number.is_empty())) {
        true => Ok(answer(numbers.first().copied().flatten())),
        // Without a sequence number, only the whole batch can be returned.
        false => Err(Refusal::Unnamed { cause: done.error }),
    }
}

/// Enters a discarded batch into the quarantine, by the position of its record.
async fn note_set_aside(
    replicator: &Replicator,
    place: &str,
    stop: Option<Instant>,
    report: &mut Report,
) -> Result<Value, Refusal> {
    let sender = in_time(stop, replicator.open_control()).await?;
    in_time(stop, async { sender.set_aside(place).await.map_err(Refusal::from) }).await?;
    report.code = "batch-set-aside";
    report.quarantined = 1;
    Ok(answer(None))
}

fn log_failure(report: &mut Report, done: &Replicated, sender: &RequestSender) {
    if let Some(error) = &done.error {
        report.code = error.code();
        tracing::warn!(
            target: keyfold_edge::log::TARGET,
            request_id = report.request_id,
            retrofit = sender.job().mapping().name(),
            code = error.code(),
            %error,
            "a record was not carried over"
        );
    } else if done.late {
        report.code = "timed-out";
    } else if !done.failed.is_empty() {
        report.code = "item-not-settled";
    }
}

/// Records the replicator's lag periodically, for `status`. Nothing depends on it, so its failure does not fail the
/// batch.
async fn note_lag(
    replicator: &Replicator,
    sender: &RequestSender,
    batch: &StreamBatch<'_>,
    done: &Replicated,
    stop: Option<Instant>,
) {
    let at = done.failed.first().copied().unwrap_or(batch.records.len().saturating_sub(1));
    let Some(behind) = batch.records.get(at).and_then(age) else { return };
    if replicator.claim_lag_report() {
        let _ = in_time(stop, async { sender.note_lag(behind).await.map_err(Refusal::from) }).await;
    }
}

/// When work has to stop.
fn stop_at(deadline: Option<SystemTime>) -> Option<Instant> {
    let left = deadline?.duration_since(SystemTime::now()).unwrap_or_default();
    Some(Instant::now() + left.saturating_sub(DEADLINE_MARGIN))
}

async fn in_time<T>(
    stop: Option<Instant>,
    work: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Refusal> {
    match stop {
        Some(stop) => timeout_at(stop.into(), work).await.unwrap_or(Err(Refusal::TimedOut)),
        None => work.await,
    }
}

fn has_expired(record: &Received) -> bool {
    matches!(record, Received::Change(change) if change.kind == ChangeKind::Remove { expired: true })
}

/// How long ago the record's change happened.
fn age(record: &StreamRecord<'_>) -> Option<Duration> {
    Some(SystemTime::now().duration_since(record.happened()?).unwrap_or_default())
}
