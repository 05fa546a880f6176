//! The audit writer in this process.

use keyfold_audit_writer::{Settings, Writer, handle};
use keyfold_dynamo::{Endpoint, Settings as DynamoSettings};
use keyfold_edge::{Auth, Invocation};

use super::options::{StackError, StackOptions, outcome};
use crate::EmbeddedDynamo;
use crate::runtime_api::InvocationResult;

/// The table for audit events, if the manifest has it.
pub const AUDIT_TABLE: &str = "audit";
/// Its name in errors, and of its binary.
pub(super) const NAME: &str = "audit-writer";

/// The audit writer of the table `audit`, which the manifest must have.
pub(super) async fn start(dynamo: &EmbeddedDynamo, options: &StackOptions) -> Result<Writer, StackError> {
    let endpoint = Endpoint::parse(dynamo.endpoint())
        .map_err(|error| StackError::Function { name: NAME, reason: error.to_string() })?;
    let settings = Settings {
        manifest: options.manifest.clone(),
        dynamo: DynamoSettings::at(endpoint),
        table: AUDIT_TABLE.to_owned(),
        id: "id".to_owned(),
        time: "timestamp".to_owned(),
        received: "received".to_owned(),
        journal: None,
        keep_days: None,
        auth: Auth::Open,
        grant: None,
    };
    let started = Writer::start(settings).await;
    started.map_err(|error| StackError::Function { name: NAME, reason: error.to_string() })
}

/// The result of an event.
pub(super) async fn invoke(writer: &Writer, event: &str, id: &str) -> InvocationResult {
    outcome(Box::pin(handle(writer, Invocation { event, request_id: id, deadline: None })).await.answer)
}
