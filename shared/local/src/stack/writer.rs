//! The audit writer in this process.

use keyfold_audit_writer::{Answer, Auth, Settings, Writer, handle};
use keyfold_dynamo::{Endpoint, Settings as DynamoSettings};

use super::{StackError, StackOptions, failure};
use crate::EmbeddedDynamo;
use crate::runtime_api::Outcome;

/// Its name in errors, and its binary's.
pub(super) const NAME: &str = "audit-writer";

/// The audit writer of the table `audit`, which the manifest must have.
pub(super) async fn start(dynamo: &EmbeddedDynamo, options: &StackOptions) -> Result<Writer, StackError> {
    let endpoint = Endpoint::parse(dynamo.endpoint())
        .map_err(|error| StackError::Function { name: NAME, reason: error.to_string() })?;
    let settings = Settings {
        manifest: options.manifest.clone(),
        dynamo: DynamoSettings::at(endpoint),
        table: super::api::AUDIT_TABLE.to_owned(),
        id: "id".to_owned(),
        time: "timestamp".to_owned(),
        auth: Auth::Open,
    };
    let started = Writer::start(settings).await;
    started.map_err(|error| StackError::Function { name: NAME, reason: error.to_string() })
}

/// What becomes of an event.
pub(super) async fn invoke(writer: &Writer, event: &str, id: &str) -> Outcome {
    let handled = Box::pin(handle(writer, event, id, None)).await;
    match handled.answer {
        Answer::Value(value) => Outcome::Response(value.to_string()),
        Answer::Error { kind, message } => failure(kind, &message),
    }
}
