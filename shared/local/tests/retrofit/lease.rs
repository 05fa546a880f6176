//! A worker whose lease is taken stops before its next page.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use keyfold_core::manifest;
use keyfold_core::model::Table;
use keyfold_core::retrofit::control::{Phase, STATE_CACHE_MS_MAX};
use keyfold_core::retrofit::{
    Checkpoint, Epoch, Fence, Job, Lease, Mapping, Pass, QuarantineReason, Quarantined, Request, Response,
    SegmentId, SourceKey, TableRole,
};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitError, RetrofitState, SliceOptions, backfill_slice};
use keyfold_dynamo::{TableOptions, load};
use keyfold_local::EmbeddedDynamo;

const ITEMS: usize = 200;

fn event(at: usize) -> Item {
    let attributes = [
        ("id", format!("event-{at}")),
        ("resourceId", "r".to_owned()),
        ("action", "viewed".to_owned()),
        ("accessedBy", "joe1".to_owned()),
        ("timestamp", "2017-03-01T08:00:00.000Z".to_owned()),
    ];
    HashMap::from(attributes.map(|(name, value)| (name.to_owned(), AttributeValue::S(value)))).into()
}

async fn started(dynamo: &EmbeddedDynamo) -> RequestSender {
    let model = manifest::parse("keyfold.toml", include_str!("../../../../keyfold.toml")).model.unwrap();
    let (old, new) = (model.table("audit-legacy").unwrap(), model.table("audit").unwrap());
    dynamo.create_tables([old, new], TableOptions::default()).await.unwrap();
    let plain = Table { indexes: Vec::new(), ..old.clone() };
    load(&dynamo.client(), &plain, futures_util::stream::iter((0..ITEMS).map(event))).await.unwrap();
    let job = Job::new(Mapping::of(&model, "auditV2").unwrap(), Epoch::FIRST);
    let sender = RequestSender::new(dynamo.client(), job, "keyfold-control");
    dynamo.create_tables([sender.table(TableRole::Control)], TableOptions::default()).await.unwrap();
    sender.store(&RetrofitState::started(sender.job().mapping(), Some("stream-1")), None).await.unwrap();
    sender
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_of_the_phase_before_begins_no_slice_and_no_repair() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let sender = started(&dynamo).await;
    let head = sender.head().await.unwrap();
    sender.store(&head.to(Phase::Tidying).unwrap(), Some(&head)).await.unwrap();
    let options = SliceOptions { owner: Some("me".to_owned()), ..SliceOptions::default() };
    let from = Checkpoint::start(sender.job(), Pass::Backfill, SegmentId::WHOLE);
    let end = backfill_slice(&sender, from, &options, &mut |_| ControlFlow::Continue(())).await;
    assert!(matches!(end.error, Some(RetrofitError::PhaseChanged { .. })), "{:?}", end.error);
    assert_eq!((end.checkpoint.count("items"), sender.leases().await.unwrap()), (0, 0), "it keeps no lease");
    let key = sender.job().mapping().source().key_of(&event(1)).unwrap();
    let source = SourceKey::of(sender.job().mapping().source(), &key).unwrap();
    let fence = Fence::of_scan(Epoch::FIRST);
    let entry = Quarantined::item(&key, &source, &QuarantineReason::Discarded, fence);
    let released = sender.release(&entry).await;
    assert!(matches!(released, Err(RetrofitError::PhaseChanged { .. })), "{released:?}");
    dynamo.shutdown();
}

/// Its process stood still while others tidied the target: a write that comes now would bring a deleted item back for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_wakes_up_after_the_phase_has_changed_writes_nothing() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let sender = started(&dynamo).await;
    let options =
        SliceOptions { page_items: 10, owner: Some("me".to_owned()), store: true, ..SliceOptions::default() };
    let mut pages = 0;
    let mut watch = |_: &Checkpoint| {
        pages += 1;
        if pages == 3 {
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(async {
                    let head = sender.head().await.unwrap();
                    sender.store(&head.to(Phase::Tidying).unwrap(), Some(&head)).await.unwrap();
                    // The lease is not over by then, which alone would make the worker look.
                    tokio::time::sleep(Duration::from_millis(STATE_CACHE_MS_MAX + 100)).await;
                });
            });
        }
        ControlFlow::Continue(())
    };
    let from = Checkpoint::start(sender.job(), Pass::Backfill, SegmentId::WHOLE);
    let end = backfill_slice(&sender, from, &options, &mut watch).await;
    assert!(matches!(end.error, Some(RetrofitError::NotDone { .. })), "{:?}", end.error);
    let target = dynamo.client().scan().table_name(&sender.table(TableRole::Target).name).send().await;
    assert_eq!((pages, target.unwrap().count), (3, 30));
    dynamo.shutdown();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_another_version_are_refused_and_stay() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let sender = started(&dynamo).await;
    sender.begin_writing().await.unwrap();
    let from = Checkpoint::start(sender.job(), Pass::Backfill, SegmentId::WHOLE);
    sender.store_checkpoint(&from).await.unwrap();
    let (client, control) = (dynamo.client(), sender.table(TableRole::Control).name.as_str());
    let rows = || async { client.scan().table_name(control).send().await.unwrap().items.unwrap_or_default() };
    for mut row in rows().await {
        row.insert("v".to_owned(), aws_sdk_dynamodb::types::AttributeValue::N("99".to_owned()));
        client.put_item().table_name(control).set_item(Some(row)).send().await.unwrap();
    }
    let before = rows().await;
    assert_eq!(before.len(), 3);
    let refused = [
        sender.head().await.map(drop),
        sender.checkpoint(Pass::Backfill, SegmentId::WHOLE).await.map(drop),
        sender.segments(Pass::Backfill).await.map(drop),
        sender.verdict().await.map(drop),
        sender.status(RetrofitState::started(sender.job().mapping(), Some("stream-1"))).await.map(drop),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert_eq!(error.code(), "unknown-format");
        let shown = error.to_string();
        assert!(
            shown.contains("table `keyfold-control`") && shown.contains("` row of the control table"),
            "{shown}"
        );
        assert!(error.hint().unwrap().contains("another version of Keyfold"), "{shown}");
    }
    assert_eq!(rows().await, before);
    dynamo.shutdown();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_whose_lease_is_taken_stops_before_its_next_page() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let sender = started(&dynamo).await;
    let from = Checkpoint::start(sender.job(), Pass::Backfill, SegmentId::WHOLE);
    let options =
        SliceOptions { page_items: 10, owner: Some("me".to_owned()), store: true, ..SliceOptions::default() };
    let theirs = Lease {
        pass: Pass::Backfill,
        segment: SegmentId::WHOLE,
        owner: "them".to_owned(),
        until_ms: u64::MAX,
    };
    let mut pages = 0;
    let mut watch = |_: &Checkpoint| {
        pages += 1;
        if pages == 3 {
            // Long after the lease expired, in the other worker's view.
            let write = theirs.take(sender.job(), u64::MAX);
            let taken = tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(sender.send(&Request::Write(write)))
            });
            assert_eq!(taken.unwrap(), Response::Written);
        }
        ControlFlow::Continue(())
    };
    let end = backfill_slice(&sender, from, &options, &mut watch).await;
    assert!(matches!(end.error, Some(RetrofitError::LeaseLost { .. })), "{:?}", end.error);
    // The page in flight is completed, and no other.
    assert_eq!((pages, end.checkpoint.count("items")), (4, 40));
    let other = SliceOptions { owner: Some("them".to_owned()), ..options };
    let end = backfill_slice(&sender, end.checkpoint, &other, &mut |_| ControlFlow::Continue(())).await;
    assert!(end.error.is_none());
    assert_eq!((end.checkpoint.is_done(), end.checkpoint.count("written")), (true, ITEMS as u64));
    dynamo.shutdown();
}
