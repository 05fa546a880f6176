//! The tables that all programs work on.

use anyhow::{Context, ensure};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream;
use keyfold_core::model::{Model, Table};
use keyfold_dynamo::{TableOptions, load};
use keyfold_local::EmbeddedDynamo;
use tokio::runtime::Runtime;

use crate::data;
use crate::turns::one_thread;

/// The tables of `bench/keyfold.toml`.
pub(super) const SOURCE: &str = "benchAuditLegacy";
pub(super) const TARGET: &str = "benchAudit";

/// An embedded DynamoDB without streams: with one, it slows down with every change it keeps.
pub(super) struct Stage {
    model: Model,
    dynamo: EmbeddedDynamo,
    runtime: Runtime,
}

impl Stage {
    pub(super) fn new() -> anyhow::Result<Stage> {
        let model = data::model(data::MANIFEST)?;
        Ok(Stage { model, dynamo: EmbeddedDynamo::memory()?, runtime: one_thread()? })
    }

    pub(super) fn endpoint(&self) -> &str {
        self.dynamo.endpoint()
    }

    /// The source table. In place it is also the target, so the other table is dropped.
    pub(super) fn load_source(&self, in_place: bool, items: u64) -> anyhow::Result<()> {
        self.runtime.block_on(async {
            match in_place {
                false => self.recreate("legacy", items).await,
                true => self.drop_table(data::table(&self.model, "legacy")?).await,
            }
        })
    }

    /// The target table, in its state before a retrofit.
    pub(super) fn reset_target(&self, in_place: bool, items: u64) -> anyhow::Result<()> {
        self.runtime.block_on(self.recreate("audit", if in_place { items } else { 0 }))
    }

    /// Do some of the items have their keys?
    pub(super) fn check(&self, items: u64) -> anyhow::Result<()> {
        let table = data::table(&self.model, "audit")?;
        self.runtime.block_on(async {
            for at in (0..items).step_by((items / 20).max(1) as usize) {
                let expected = table.with_keys(data::event(at as usize))?;
                let key = AttributeValue::S(data::text(&expected, "id").to_owned());
                let get = self.dynamo.client().get_item().table_name(&table.name).key("id", key);
                let item = get.send().await?.item.context("an item is not in the target")?;
                let found =
                    item.get(data::KEY).and_then(|value| value.as_s().ok()).map_or("", String::as_str);
                ensure!(found == data::text(&expected, data::KEY), "an item has another key");
            }
            Ok(())
        })
    }

    /// The table with this many items that have no folded keys.
    async fn recreate(&self, id: &str, items: u64) -> anyhow::Result<()> {
        let table = data::table(&self.model, id)?;
        self.drop_table(table).await?;
        self.dynamo.create_tables([table], TableOptions { stream: false }).await?;
        let events = stream::iter((0..items as usize).map(data::event));
        // Without indexes, `load` folds nothing.
        let plain = Table { indexes: Vec::new(), ..table.clone() };
        load(&self.dynamo.client(), &plain, events).await?;
        Ok(())
    }

    async fn drop_table(&self, table: &Table) -> anyhow::Result<()> {
        let dropped = self.dynamo.client().delete_table().table_name(&table.name).send().await;
        match dropped.map_err(SdkError::into_service_error) {
            Err(error) if !error.is_resource_not_found_exception() => Err(error.into()),
            _ => Ok(()),
        }
    }
}
