//! Both tables after a backfill, and both ways to read them.

use std::ops::ControlFlow;

use anyhow::ensure;
use aws_sdk_dynamodb::Client;
use futures_util::stream;
use keyfold_core::retrofit::{Checkpoint, Epoch, Job, Mapping, Pass, SegmentId, TableRole};
use keyfold_dynamo::retrofit::{
    CONTROL_TABLE_DEFAULT, PAGE_ITEMS_DEFAULT, RequestSender, SliceOptions, backfill_slice, verify_slice,
};
use keyfold_dynamo::{TableOptions, load};
use keyfold_local::EmbeddedDynamo;

use super::raw;
use crate::data;
use crate::peers::sdk_alone;

/// Items of a page.
pub(super) const PAGE_ITEMS: u32 = PAGE_ITEMS_DEFAULT;
const RETROFIT: &str = "newTable";

/// Two tables that agree.
pub(super) struct ComparisonStage {
    sender: RequestSender,
    /// For what is done by the SDK alone.
    alone: Client,
    items: usize,
    _dynamo: EmbeddedDynamo,
}

impl ComparisonStage {
    pub(super) async fn new(items: usize) -> anyhow::Result<ComparisonStage> {
        let model = data::model(data::MANIFEST)?;
        let dynamo = EmbeddedDynamo::memory()?;
        let job = Job::new(Mapping::of(&model, RETROFIT)?, Epoch::FIRST);
        let sender = RequestSender::new(dynamo.client(), job, CONTROL_TABLE_DEFAULT);
        let (source, target) = (sender.table(TableRole::Source), sender.table(TableRole::Target));
        dynamo.create_tables([source, target], TableOptions::default()).await?;
        dynamo.create_tables([sender.table(TableRole::Control)], TableOptions::default()).await?;
        load(&dynamo.client(), source, stream::iter((0..items).map(data::event))).await?;
        let from = Checkpoint::start(sender.job(), Pass::Backfill, SegmentId::WHOLE);
        let watch = &mut |_: &Checkpoint| ControlFlow::Continue(());
        let end = backfill_slice(&sender, from, &SliceOptions::default(), watch).await;
        ensure!(end.error.is_none(), "the backfill failed: {:?}", end.error);
        let alone = sdk_alone(sender.client());
        Ok(ComparisonStage { sender, alone, items, _dynamo: dynamo })
    }

    /// How many items each table has.
    pub(super) fn items(&self) -> usize {
        self.items
    }

    /// The reads alone.
    pub(super) async fn raw(&self, pass: Pass) -> anyhow::Result<()> {
        let (source, target) = (TableRole::Source, TableRole::Target);
        let (scanned, asked) = if pass == Pass::VerifyTarget { (target, source) } else { (source, target) };
        let name = |role| self.sender.table(role).name.as_str();
        let found = raw::run(&self.alone, name(scanned), name(asked)).await?;
        ensure!(found == self.items, "{found} items were found");
        Ok(())
    }

    /// The comparison.
    pub(super) async fn ours(&self, pass: Pass) -> anyhow::Result<()> {
        let from = Checkpoint::start(self.sender.job(), pass, SegmentId::WHOLE);
        let watch = &mut |_: &Checkpoint| ControlFlow::Continue(());
        let end = verify_slice(&self.sender, from, false, &SliceOptions::default(), watch).await;
        let same = end.checkpoint.count("same");
        ensure!(end.error.is_none() && same == self.items as u64, "{same} are the same, {:?}", end.error);
        Ok(())
    }
}
