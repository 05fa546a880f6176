//! The tables of the sample, with a retrofit that was started, and puts by hand.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure};
use futures_util::stream::{self, TryStreamExt};
use keyfold_core::model::{Model, Table};
use keyfold_core::retrofit::attributes::FENCE_ATTRIBUTE;
use keyfold_core::retrofit::{Epoch, Fence, Job, Mapping, TableRole};
use keyfold_core::value::Item;
use keyfold_dynamo::TableOptions;
use keyfold_dynamo::retrofit::{CONTROL_TABLE_DEFAULT, IN_FLIGHT_DEFAULT, RequestSender, RetrofitState};
use keyfold_local::EmbeddedDynamo;

use crate::data;
use crate::sdk::sdk_alone;

/// The retrofit whose stream is followed, and the table that it fills.
pub(super) const RETROFIT: &str = "auditV2";
const TARGET: &str = "audit";

/// The SDK's item.
pub(super) type SdkItem = HashMap<String, AttributeValue>;

/// Where everything is written.
pub(super) struct StreamStage {
    pub(super) model: Model,
    pub(super) client: Client,
    /// The client for measurements of the SDK alone.
    alone: Client,
    /// The stream that the retrofit follows.
    pub(super) stream: String,
    _dynamo: EmbeddedDynamo,
}

impl StreamStage {
    pub(super) async fn new() -> anyhow::Result<StreamStage> {
        let model = data::model(data::SAMPLE_MANIFEST)?;
        let dynamo = EmbeddedDynamo::memory()?;
        let client = dynamo.client();
        let (old, new) = (data::table(&model, "audit-legacy")?, data::table(&model, TARGET)?);
        dynamo.create_tables([old], TableOptions { stream: true }).await?;
        dynamo.create_tables([new], TableOptions { stream: false }).await?;
        let job = Job::new(Mapping::of(&model, RETROFIT)?, Epoch::FIRST);
        let sender = RequestSender::new(client.clone(), job, CONTROL_TABLE_DEFAULT);
        dynamo.create_tables([sender.table(TableRole::Control)], TableOptions::default()).await?;
        let stream = sender.preflight(true).await?;
        sender.store(&RetrofitState::started(sender.job().mapping(), stream.as_deref()), None).await?;
        let alone = sdk_alone(&client);
        Ok(StreamStage { model, client, alone, stream: stream.unwrap_or_default(), _dynamo: dynamo })
    }

    /// The table that is written to.
    pub(super) fn target(&self) -> anyhow::Result<&Table> {
        data::table(&self.model, TARGET)
    }

    /// These items with their keys, as the SDK has them.
    pub(super) fn keyed(&self, items: impl Iterator<Item = Item>) -> anyhow::Result<Vec<SdkItem>> {
        let target = self.target()?;
        items.map(|item| Ok(target.with_keys(item)?.into())).collect()
    }

    /// Puts items that are not there yet.
    pub(super) async fn put_new(&self, items: Vec<SdkItem>) -> anyhow::Result<()> {
        let table = &self.target()?.name;
        let put = |item: SdkItem| async move {
            let put = self.alone.put_item().table_name(table).set_item(Some(item));
            let put = put
                .condition_expression("attribute_not_exists(#key)")
                .expression_attribute_names("#key", "id");
            put.return_consumed_capacity(ReturnConsumedCapacity::Indexes).send().await?;
            anyhow::Ok(())
        };
        stream::iter(items.into_iter().map(Ok)).try_for_each_concurrent(IN_FLIGHT_DEFAULT, put).await
    }

    /// Puts items with this fence over older ones, as a replicator's records are.
    pub(super) async fn put_over_older(&self, items: Vec<SdkItem>, fence: &Fence) -> anyhow::Result<()> {
        let table = &self.target()?.name;
        let fence: AttributeValue = fence.value().into();
        let put = |mut item: SdkItem| {
            let fence = fence.clone();
            item.insert(FENCE_ATTRIBUTE.to_owned(), fence.clone());
            async move {
                let put = self.alone.put_item().table_name(table).set_item(Some(item));
                put.condition_expression("attribute_not_exists(#key) OR #fence < :fence")
                    .expression_attribute_names("#key", "id")
                    .expression_attribute_names("#fence", FENCE_ATTRIBUTE)
                    .expression_attribute_values(":fence", fence)
                    .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                    .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
                    .send()
                    .await?;
                anyhow::Ok(())
            }
        };
        stream::iter(items.into_iter().map(Ok)).try_for_each_concurrent(IN_FLIGHT_DEFAULT, put).await
    }
}
