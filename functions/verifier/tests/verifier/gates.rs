//! The verifier's result is recorded, and opens the gates of the cut-over until something is written.

use keyfold_core::retrofit::control::{Phase, RetrofitState};
use serde_json::{Value, json};

use crate::BINARY;
use keyfold_harness::{Function, SAMPLE};

fn slice(side: &str, segment: u32, repair: bool) -> Value {
    json!({ "retrofit": "auditV2", "side": side, "segment": segment, "totalSegments": 2, "repair": repair, "lagSeconds": 0 })
}

#[tokio::test]
async fn a_comparison_of_all_segments_of_both_sides_counts_until_something_is_written() {
    let function = Function::start(BINARY, SAMPLE).await;
    function.create(function.table("audit-legacy"), true).await;
    function.create(function.table("audit"), true).await;
    function.load("audit-legacy", (0..24).map(|at| format!("event-{at:02}"))).await;
    function.begin("auditV2", |head| head).await;
    function.backfill("auditV2").await;
    let found =
        async || function.sender("auditV2").verdict().await.unwrap().map(|verdict| verdict.differences);
    let verify = async |side: &str, segment| {
        let answer = function.answered(slice(side, segment, false)).await;
        assert_eq!(answer["done"], true);
    };
    verify("source", 0).await;
    verify("source", 1).await;
    verify("target", 0).await;
    assert_eq!(found().await, None, "a segment was not compared");
    verify("target", 1).await;
    assert_eq!(found().await, Some(0));
    // Repeating one segment voids its earlier result until it is done.
    verify("target", 1).await;
    assert_eq!(found().await, Some(0));
    function.backfill("auditV2").await;
    assert_eq!(found().await, None, "something may have been written since");
    for (side, segment) in [("source", 0), ("source", 1), ("target", 0), ("target", 1)] {
        verify(side, segment).await;
    }
    assert_eq!(found().await, Some(0));
    function.answered(slice("source", 0, true)).await;
    assert_eq!(found().await, None, "a repair writes too");
    for (side, segment) in [("source", 0), ("source", 1), ("target", 0), ("target", 1)] {
        verify(side, segment).await;
    }
    assert_eq!(found().await, Some(0));
    let (sender, head) = (function.sender("auditV2"), function.sender("auditV2").head().await.unwrap());
    let over = RetrofitState { phase: Phase::CutOver, version: head.version + 1, ..head.clone() };
    sender.store(&over, Some(&head)).await.unwrap();
    assert_eq!(found().await, None, "a change of the phase voids what was compared before");
    let (kind, said) = function.refused(slice("source", 0, true)).await;
    assert_eq!(kind, "Keyfold.RetrofitClosed");
    assert!(said.contains("take back what was written to the target"), "{said}");
}
