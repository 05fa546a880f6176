//! One worker at a time has a segment.

use keyfold_core::retrofit::{Lease, Pass, Request, Response as Sent, SegmentId};
use serde_json::{Value, json};

use crate::BINARY;
use keyfold_harness::{Function, SAMPLE};

fn slice(worker: Option<&str>) -> Value {
    let mut event = json!({ "retrofit": "auditV2", "segment": 0, "totalSegments": 1 });
    if let Some(worker) = worker {
        event["worker"] = json!(worker);
    }
    event
}

async fn started() -> Function {
    let function = Function::start(BINARY, SAMPLE).await;
    function.create(function.table("audit-legacy"), true).await;
    function.create(function.table("audit"), false).await;
    function.load("audit-legacy", ["event-1".to_owned()]).await;
    function.begin("auditV2", |head| head).await;
    function
}

/// Another worker holds the segment until this time, in milliseconds.
async fn leased(function: &Function, owner: &str, until_ms: u64) {
    let lease = Lease { pass: Pass::Backfill, segment: SegmentId::WHOLE, owner: owner.to_owned(), until_ms };
    let sender = function.sender("auditV2");
    let taken = sender.send(&Request::Write(lease.take(sender.job(), 0))).await.unwrap();
    assert_eq!(taken, Sent::Written);
}

#[tokio::test]
async fn a_segment_in_other_hands_is_left_alone() {
    let function = started().await;
    leased(&function, "them", u64::MAX).await;
    let (kind, message) = function.refused(slice(Some("me"))).await;
    assert_eq!(kind, "Keyfold.SegmentLeased");
    assert!(message.contains("segment 0/1 of retrofit `auditV2`"), "{message}");
    assert!(function.items("audit").await.is_empty());
    // Another segment is free.
    let other = json!({ "retrofit": "auditV2", "segment": 0, "totalSegments": 2, "worker": "me" });
    assert_eq!(function.answered(other).await["done"], true);
}

#[tokio::test]
async fn a_worker_takes_its_own_segment_up_again_at_once() {
    let function = started().await;
    leased(&function, "me", u64::MAX).await;
    assert_eq!(function.answered(slice(Some("me"))).await["counts"]["written"], 1);
    // It was released at the end.
    assert_eq!(function.answered(slice(None)).await["counts"]["superseded"], 1);
}

#[tokio::test]
async fn a_lease_that_was_not_renewed_is_taken_over() {
    let function = started().await;
    leased(&function, "them", 1_000_000).await;
    assert_eq!(function.answered(slice(Some("me"))).await["done"], true);
}
