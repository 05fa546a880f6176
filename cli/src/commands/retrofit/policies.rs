//! The policies with which a retrofit stops writers: shown, and taken off with `switch --lift`.

use std::process::ExitCode;

use keyfold_dynamo::retrofit::{PolicyChange, RequestSender};
use serde_json::{Value, json};

use super::env::{Env, explained};

/// The row first: after a kill in between, the next command does not apply the policies again. Without a row or a control table, the
/// writers are allowed all the same.
pub(super) async fn lift(env: &Env<'_>, sender: &RequestSender) -> anyhow::Result<ExitCode> {
    let head = match sender.head().await {
        Ok(head) => Some(head),
        Err(error) if error.is_not_started(&env.globals.control) => None,
        Err(error) => return Err(explained(error)),
    };
    if let Some(head) = head.as_ref().filter(|head| !head.exempt.is_empty()) {
        sender.store(&head.exempting(&[]), Some(head)).await.map_err(explained)?;
    }
    let changes = sender.open_doors().await.map_err(explained)?;
    let retrofit = sender.job().mapping().name();
    let policies: Vec<Value> = changes.iter().map(document).collect();
    let phase = head.map(|head| head.phase.name());
    let text = match changes.is_empty() {
        true => format!("retrofit `{retrofit}` denies no writes to either table\n"),
        false => changes.iter().map(|change| line(change, "was changed")).collect(),
    };
    env.out.show(&json!({ "retrofit": retrofit, "phase": phase, "policies": policies }), text)?;
    Ok(ExitCode::SUCCESS)
}

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
