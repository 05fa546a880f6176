//! The tables that all programs work on.

use anyhow::{Context, ensure};
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream;
use keyfold_core::model::{Model, Table};
use keyfold_dynamo::{TableOptions, load};
use keyfold_local::EmbeddedDynamo;
use tokio::runtime::Runtime;

use super::Where;
use crate::data;
use crate::retrofit::KEY;

/// Items that are looked at after each run.
const CHECKED: u64 = 20;

/// An embedded DynamoDB without streams: with one, it slows down with every change it keeps.
pub(super) struct RetrofitStage {
    model: Model,
    dynamo: EmbeddedDynamo,
    runtime: Runtime,
}

impl RetrofitStage {
    pub(super) fn new() -> anyhow::Result<RetrofitStage> {
        let model = data::model(data::MANIFEST)?;
        Ok(RetrofitStage { model, dynamo: EmbeddedDynamo::memory()?, runtime: super::super::one_thread()? })
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    pub(super) fn endpoint(&self) -> &str {
        self.dynamo.endpoint()
    }

    /// The table that is read, with so many items. In place there is none beside the target.
    pub(super) fn load_source(&self, place: Where, items: u64) -> anyhow::Result<()> {
        match place {
            Where::NewTable => self.runtime.block_on(self.anew("legacy", items)),
            Where::InPlace => self.runtime.block_on(self.drop_table(data::table(&self.model, "legacy")?)),
        }
    }

    /// The table that is written, as it is before a retrofit.
    pub(super) fn reset_target(&self, place: Where, items: u64) -> anyhow::Result<()> {
        let items = if place == Where::InPlace { items } else { 0 };
        self.runtime.block_on(self.anew("audit", items))
    }

    /// Do these items have their keys?
    pub(super) fn check(&self, items: u64) -> anyhow::Result<()> {
        let table = data::table(&self.model, "audit")?;
        self.runtime.block_on(async {
            for at in (0..items).step_by((items / CHECKED).max(1) as usize) {
                let event = data::event(at as usize);
                let key = AttributeValue::S(data::text(&event, "id").to_owned());
                let get = self.dynamo.client().get_item().table_name(&table.name).key("id", key);
                let item = get.send().await?.item.context("an item is not in the target")?;
                let expected = table.with_keys(event)?;
                let found = item.get(KEY).and_then(|value| value.as_s().ok());
                ensure!(
                    found.map(String::as_str) == Some(data::text(&expected, KEY)),
                    "an item has another key"
                );
            }
            Ok(())
        })
    }

    /// The table with this many items that have no folded keys.
    async fn anew(&self, id: &str, items: u64) -> anyhow::Result<()> {
        let table = data::table(&self.model, id)?;
        self.drop_table(table).await?;
        self.dynamo.create_tables([table], TableOptions { stream: false }).await?;
        let events = stream::iter((0..items as usize).map(data::event));
        load(&self.dynamo.client(), &data::plain(table), events).await?;
        Ok(())
    }

    async fn drop_table(&self, table: &Table) -> anyhow::Result<()> {
        let dropped = self.dynamo.client().delete_table().table_name(&table.name).send().await;
        match dropped.map_err(aws_sdk_dynamodb::error::SdkError::into_service_error) {
            Ok(_) => Ok(()),
            Err(error) if error.is_resource_not_found_exception() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
