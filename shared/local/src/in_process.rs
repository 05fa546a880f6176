//! Functions of Keyfold as handlers in this process, as the pump and the local stack call them: the same code that the
//! binaries run, without a process for each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyfold_core::model::Model;
use keyfold_core::retrofit::Mapping;
use keyfold_dynamo::Settings as DynamoSettings;
use keyfold_dynamo::retrofit::IN_FLIGHT_DEFAULT;
use keyfold_replicator::{Answer, Replicator, Settings, handle};

use crate::pump::Handler;
use crate::runtime_api::Outcome;
use crate::{Client, EmbeddedDynamo};

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
