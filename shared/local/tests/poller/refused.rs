//! Records that a handler refuses: redelivered, then skipped alone, with nothing hidden.

use std::sync::Arc;
use std::time::Duration;

use keyfold_local::runtime_api::InvocationResult;
use keyfold_local::{PollerError, PollerOptions, StreamPoller};
use serde_json::Value;

use crate::fixture::{DRAIN_WAIT, Seen, all, dynamo, failed_from, quick, records_of, success, write};

const BAD: usize = 3;

/// A handler that does not take the bad record: it fails, or names it.
fn picky(
    seen: &Seen,
    naming: bool,
) -> Arc<impl Fn(String) -> std::future::Ready<InvocationResult> + Send + Sync + 'static> {
    let seen = Arc::clone(seen);
    Arc::new(move |event: String| {
        let records = records_of(&event);
        let bad = records.iter().position(|(_, number)| *number == BAD);
        let taken = if naming { bad } else { bad.map(|_| 0) }.unwrap_or(records.len());
        seen.lock().unwrap().push(records[..taken].to_vec());
        std::future::ready(match bad {
            None => success(),
            Some(at) if naming => failed_from(&event, at),
            Some(_) => InvocationResult::Ended("killed".to_owned()),
        })
    })
}

async fn played(naming: bool) {
    let dynamo = dynamo(true).await;
    for number in 0..8 {
        write(&dynamo, "a", number).await;
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let seen = Seen::default();
    let options = PollerOptions { retries_max: 2, on_failure: Some(file.path().to_owned()), ..quick() };
    let poller = StreamPoller::start(dynamo.database(), "streamed-events", picky(&seen, naming), options)
        .await
        .unwrap();
    poller.drained(DRAIN_WAIT).await.unwrap();
    let (counts, _) = poller.stop().await.unwrap();
    assert_eq!((counts.records, counts.given_up), (8, 1));
    // All others were taken, once and in their order.
    assert_eq!(all(&seen).into_iter().map(|(_, number)| number).collect::<Vec<_>>(), [0, 1, 2, 4, 5, 6, 7]);
    let lines = std::fs::read_to_string(file.path()).unwrap();
    let [line] = lines.lines().collect::<Vec<_>>()[..] else { panic!("{lines}") };
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(records_of(line["payload"].as_str().unwrap()), [("a".to_owned(), BAD)]);
    let info = &line["DDBStreamBatchInfo"];
    assert_eq!((&info["batchSize"], &info["startSequenceNumber"]), (&1.into(), &info["endSequenceNumber"]));
    assert_eq!(line["requestContext"]["approximateInvokeCount"], 3);
}

#[tokio::test]
async fn a_record_that_fails_its_batch_is_found_and_given_up_alone() {
    played(false).await;
}

#[tokio::test]
async fn a_record_that_is_named_is_given_up_alone() {
    played(true).await;
}

#[tokio::test]
async fn a_pump_that_cannot_go_on_is_not_drained_and_stops_all_the_same() {
    let dynamo = dynamo(true).await;
    write(&dynamo, "a", BAD).await;
    let options = PollerOptions { retries_max: u32::MAX, retry_pause: Duration::from_secs(60), ..quick() };
    let poller =
        StreamPoller::start(dynamo.database(), "streamed-events", picky(&Seen::default(), false), options)
            .await
            .unwrap();
    let wait = Duration::from_millis(100);
    assert!(matches!(poller.drained(wait).await, Err(PollerError::NotDrained { .. })));
    let (counts, position) = poller.stop().await.unwrap();
    assert_eq!((counts.records, counts.given_up, position), (0, 0, None));
}

#[tokio::test]
async fn nothing_is_passed_over_that_cannot_be_written_down() {
    let dynamo = dynamo(true).await;
    write(&dynamo, "a", BAD).await;
    let options =
        PollerOptions { retries_max: 0, on_failure: Some("/nowhere/failures.jsonl".into()), ..quick() };
    let poller =
        StreamPoller::start(dynamo.database(), "streamed-events", picky(&Seen::default(), false), options)
            .await
            .unwrap();
    assert!(matches!(poller.drained(DRAIN_WAIT).await, Err(PollerError::Destination { .. })));
}

#[tokio::test]
async fn a_table_without_a_stream_has_no_pump() {
    let dynamo = dynamo(false).await;
    let handler = Arc::new(|_: String| std::future::ready(success()));
    let error =
        StreamPoller::start(dynamo.database(), "streamed-events", handler, quick()).await.unwrap_err();
    assert_eq!(error.to_string(), "table `streamed-events` has no stream");
}
