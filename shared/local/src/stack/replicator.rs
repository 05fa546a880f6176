//! The replicator behind a stream pump: in this process, or as its binary.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyfold_core::model::Model;
use keyfold_core::retrofit::Mapping;
use keyfold_dynamo::Settings as DynamoSettings;
use keyfold_dynamo::retrofit::IN_FLIGHT_DEFAULT;
use keyfold_replicator::{Answer, Replicator, Settings, handle};

use super::{CONTROL_TABLE, StackError, StackOptions, binary};
use crate::pump::Handler;
use crate::runtime_api::Outcome;
use crate::{Client, EmbeddedDynamo, FunctionOptions, LocalFunction};

/// Its binary.
const NAME: &str = "replicator";

/// A replicator, wherever it runs.
#[derive(Debug)]
pub(super) enum AnyReplicator {
    Here(Box<InProcessReplicator>),
    Binary(LocalFunction),
}

/// The replicator of this retrofit, as the options have it.
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
    let manifest = std::path::absolute(&options.manifest).unwrap_or_else(|_| options.manifest.clone());
    let function = FunctionOptions::of(binary(folder, NAME)?)
        .env("KEYFOLD_MANIFEST", manifest.display().to_string())
        .env("KEYFOLD_ENDPOINT", dynamo.endpoint())
        .env("KEYFOLD_RETROFIT", retrofit)
        .env("KEYFOLD_CONTROL_TABLE", CONTROL_TABLE);
    Ok(AnyReplicator::Binary(LocalFunction::new(function)))
}

impl Handler for AnyReplicator {
    async fn invoke(&self, event: String) -> Outcome {
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
    tells: bool,
}

impl InProcessReplicator {
    /// The replicator of this retrofit, at an embedded DynamoDB. A retrofit that the model does not know fails each invocation,
    /// as the function does.
    pub fn new(model: &Model, retrofit: &str, control_table: &str, dynamo: &EmbeddedDynamo) -> Self {
        InProcessReplicator::at(model, retrofit, control_table, dynamo.client())
    }

    /// The same with a client.
    pub fn at(model: &Model, retrofit: &str, control_table: &str, client: Client) -> Self {
        let settings = Settings {
            manifest: std::path::PathBuf::new(),
            dynamo: DynamoSettings::default(),
            retrofit: retrofit.to_owned(),
            control_table: control_table.to_owned(),
            concurrency: IN_FLIGHT_DEFAULT,
        };
        let replicator = Replicator::new(Mapping::of(model, retrofit), client, settings);
        InProcessReplicator { replicator, invocations: AtomicU64::new(0), tells: false }
    }

    /// The same, telling log and metrics of each batch.
    #[must_use]
    pub fn telling(mut self) -> Self {
        self.tells = true;
        self
    }
}

impl Handler for InProcessReplicator {
    async fn invoke(&self, event: String) -> Outcome {
        let request_id = format!("local-{}", self.invocations.fetch_add(1, Ordering::Relaxed));
        let handled = Box::pin(handle(&self.replicator, &event, &request_id, None)).await;
        if self.tells {
            handled.report.tell();
        }
        match handled.answer {
            Answer::Value(value) => Outcome::Response(value.to_string()),
            Answer::Error { kind, message } => {
                let error = serde_json::json!({ "errorType": kind, "errorMessage": message });
                Outcome::Error(error.to_string())
            }
        }
    }
}

/// The handler that a pump takes.
impl InProcessReplicator {
    /// Shared, as [`Pump::start`](crate::Pump::start) takes it.
    #[must_use]
    pub fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }
}
