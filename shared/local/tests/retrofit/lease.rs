//! A worker whose lease is taken stops before its next page.

use std::collections::HashMap;
use std::ops::ControlFlow;

use keyfold_core::manifest;
use keyfold_core::model::Table;
use keyfold_core::retrofit::{
    Checkpoint, Epoch, Job, Lease, Mapping, Pass, Request, Response, SegmentId, TableRole,
};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::retrofit::{RequestSender, RetrofitError, SliceOptions, backfill_slice};
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

async fn begun(dynamo: &EmbeddedDynamo) -> RequestSender {
    let model = manifest::parse("keyfold.toml", include_str!("../../../../keyfold.toml")).model.unwrap();
    let (old, new) = (model.table("audit-legacy").unwrap(), model.table("audit").unwrap());
    dynamo.create_tables([old, new], TableOptions::default()).await.unwrap();
    let plain = Table { indexes: Vec::new(), ..old.clone() };
    load(&dynamo.client(), &plain, futures_util::stream::iter((0..ITEMS).map(event))).await.unwrap();
    let job = Job::new(Mapping::of(&model, "auditV2").unwrap(), Epoch::FIRST);
    let sender = RequestSender::new(dynamo.client(), job, "keyfold-control");
    dynamo.create_tables([sender.table(TableRole::Control)], TableOptions::default()).await.unwrap();
    sender
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_whose_lease_is_taken_stops_before_its_next_page() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let sender = begun(&dynamo).await;
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
            // Long after my lease was over, as they see it.
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
    // The page under way is dealt with, and no other.
    assert_eq!((pages, end.checkpoint.count("items")), (4, 40));
    let other = SliceOptions { owner: Some("them".to_owned()), ..options };
    let end = backfill_slice(&sender, end.checkpoint, &other, &mut |_| ControlFlow::Continue(())).await;
    assert!(end.error.is_none());
    assert_eq!((end.checkpoint.is_done(), end.checkpoint.count("written")), (true, ITEMS as u64));
    dynamo.shutdown();
}
