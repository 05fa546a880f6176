//! The event of the operator.

use keyfold_edge::retrofit::{Failure, Operation};
use serde::Deserialize;

/// The requested operation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperatorEvent {
    /// The retrofit.
    pub retrofit: String,
    /// The command and its options.
    pub operation: Operation,
}

impl OperatorEvent {
    /// Reads an event. Unknown members are errors.
    pub fn read(text: &str) -> Result<OperatorEvent, Failure> {
        serde_json::from_str(text)
            .map_err(|error| Failure::bad_event(format!("the event is malformed: {error}")))
    }
}
