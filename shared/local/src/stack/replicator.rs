//! The replicator at a stream poller: in this process, or as its binary.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keyfold_core::model::Model;
use keyfold_core::retrofit::Mapping;
use keyfold_core::retrofit::control::STATE_CACHE_MS_MAX;
use keyfold_dynamo::Settings as DynamoSettings;
use keyfold_dynamo::retrofit::IN_FLIGHT_DEFAULT;
use keyfold_edge::Invocation;
use keyfold_replicator::{Replicator, Settings, handle};

use super::CONTROL_TABLE;
use super::options::{StackError, StackOptions, function, outcome};
use crate::poller::Handler;
use crate::runtime_api::InvocationResult;
use crate::{EmbeddedDynamo, LocalFunction};

/// Its binary.
const NAME: &str = "replicator";

/// A replicator, in this process or in its own.
#[derive(Debug)]
pub(super) enum AnyReplicator {
    Here(Box<InProcessReplicator>),
    Binary(LocalFunction),
}

/// The replicator of this retrofit, as configured by the options.
pub(super) fn handler(
    model: &Model,
    retrofit: &str,
    dynamo: &EmbeddedDynamo,
    options: &StackOptions,
) -> Result<AnyReplicator, StackError> {
    let Some(folder) = &options.functions else {
        let here = InProcessReplicator::new(model, retrofit, CONTROL_TABLE, dynamo);
        return Ok(AnyReplicator::Here(Box::new(here)));
    };
    let function = function(NAME, folder, dynamo, options)?
        .env("KEYFOLD_RETROFIT", retrofit)
        .env("KEYFOLD_CONTROL_TABLE", CONTROL_TABLE);
    Ok(AnyReplicator::Binary(LocalFunction::new(function)))
}

impl Handler for AnyReplicator {
    async fn invoke(&self, event: String) -> InvocationResult {
        match self {
            AnyReplicator::Here(replicator) => replicator.invoke(event).await,
            AnyReplicator::Binary(function) => function.invoke(event).await,
        }
    }
}

/// The replicator of one retrofit, in this process.
#[derive(Debug)]
pub struct InProcessReplicator {
    replicator: Replicator,
    invocations: AtomicU64,
}

impl InProcessReplicator {
    /// The replicator of this retrofit, with an embedded DynamoDB. An unknown retrofit fails each invocation, as in the
    /// function.
    pub fn new(model: &Model, retrofit: &str, control_table: &str, dynamo: &EmbeddedDynamo) -> Self {
        let settings = Settings {
            manifest: std::path::PathBuf::new(),
            dynamo: DynamoSettings::default(),
            retrofit: retrofit.to_owned(),
            control_table: control_table.to_owned(),
            concurrency: IN_FLIGHT_DEFAULT,
            state_cache: Duration::from_millis(STATE_CACHE_MS_MAX),
        };
        let replicator = Replicator::new(Mapping::of(model, retrofit), dynamo.client(), settings);
        InProcessReplicator { replicator, invocations: AtomicU64::new(0) }
    }
}

impl Handler for InProcessReplicator {
    async fn invoke(&self, event: String) -> InvocationResult {
        let request_id = format!("local-{}", self.invocations.fetch_add(1, Ordering::Relaxed));
        let invocation = Invocation { event: &event, request_id: &request_id, deadline: None };
        outcome(Box::pin(handle(&self.replicator, invocation)).await.answer)
    }
}
