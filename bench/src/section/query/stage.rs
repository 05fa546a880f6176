//! The table, the client, and both ways to ask.

use aws_sdk_dynamodb::Client;
use futures_util::stream;
use keyfold_core::model::Model;
use keyfold_core::query::check::Caller;
use keyfold_core::query::{QueryRequest, Readiness, check, plan};
use keyfold_dynamo::{RunOptions, TableOptions, load, run};
use keyfold_local::EmbeddedDynamo;

use super::raw;
use super::requests::Question;
use crate::data;
use crate::peers::sdk_alone;

/// What an answer took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Spent {
    pub(super) requests: u32,
    pub(super) units: f64,
}

/// An answer: which items, and what they took.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Answered {
    pub(super) ids: Vec<String>,
    pub(super) spent: Spent,
}

/// The table of events.
pub(super) struct QueryStage {
    pub(super) model: Model,
    pub(super) client: Client,
    /// For what is done by the SDK alone.
    alone: Client,
    _dynamo: EmbeddedDynamo,
}

impl QueryStage {
    pub(super) async fn new(events: usize) -> anyhow::Result<QueryStage> {
        let model = data::model(data::MANIFEST)?;
        let dynamo = EmbeddedDynamo::memory()?;
        let table = data::table(&model, "events")?;
        dynamo.create_tables([table], TableOptions::default()).await?;
        let client = dynamo.client();
        load(&client, table, stream::iter((0..events).map(data::event))).await?;
        let alone = sdk_alone(&client);
        Ok(QueryStage { model, client, alone, _dynamo: dynamo })
    }

    /// By the SDK alone.
    pub(super) async fn raw(&self, kind: Question) -> anyhow::Result<Answered> {
        match kind {
            Question::Latest(limit) => raw::latest(&self.alone, limit).await,
            Question::Folded => raw::folded(&self.alone).await,
            Question::FanOut => raw::fan_out(&self.alone).await,
            Question::Hydration => raw::hydration(&self.alone).await,
        }
    }

    /// By us, from the request's text on.
    pub(super) async fn ours(&self, kind: Question) -> anyhow::Result<Answered> {
        self.ask(&kind.request()).await
    }

    /// Any request.
    pub(super) async fn ask(&self, request: &str) -> anyhow::Result<Answered> {
        let request: QueryRequest = serde_json::from_str(request)?;
        let checked = check(&self.model, &request, &Caller::Trusted)?;
        let plan = plan(&checked, &Readiness::complete())?;
        let answer = run(&self.client, checked.table, &plan, None, &RunOptions::default()).await?;
        let ids = answer.items.iter().map(|item| data::text(item, "id").to_owned()).collect();
        let spent = Spent { requests: answer.requests, units: answer.consumed_read_units };
        Ok(Answered { ids, spent })
    }
}
