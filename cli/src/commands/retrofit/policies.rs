//! The policies with which a retrofit stops writers, as the commands show them.

use keyfold_dynamo::retrofit::PolicyChange;
use serde_json::{Value, json};

/// The change of a table's policy, as a line.
pub(super) fn line(change: &PolicyChange, verb: &str) -> String {
    let policy = change.policy.as_deref().unwrap_or("no policy");
    format!("the policy of table `{}` {verb}: {policy}\n", change.table)
}

/// The change as JSON.
pub(super) fn document(change: &PolicyChange) -> Value {
    let policy = change.policy.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    json!({ "table": change.table, "policy": policy })
}
