//! What several commands print: tables below a title, keys, runs of the state machine.

use keyfold_core::value::Item;
use keyfold_dynamo::{FailedSegment, StateMachineRun};
use serde_json::{Value, json};

use crate::output::columns;

/// The table with a line above it; nothing if it is empty.
pub(super) fn titled(title: &str, rows: &[Vec<String>]) -> String {
    if rows.is_empty() { String::new() } else { format!("{title}\n{}", columns(rows)) }
}

/// A key in DynamoDB JSON, as `quarantine --key` takes it.
pub(super) fn key_text(key: &Item) -> String {
    serde_json::to_string(key).unwrap_or_default()
}

/// A run of the state machine as JSON.
pub(super) fn run_json(run: &StateMachineRun, retrofit: &str) -> Value {
    let mut document = json!(run);
    document["retrofit"] = json!(retrofit);
    document
}

/// The state of a run, and what failed in it.
pub(super) fn run_text(run: &StateMachineRun) -> String {
    let row = |FailedSegment { pass, segment, error, cause, .. }: &FailedSegment| {
        [pass, segment, error, cause].map(String::clone).to_vec()
    };
    let rows: Vec<_> = run.failures.iter().map(row).collect();
    let state = [&run.status, run.error.as_deref().unwrap_or_default(), &run.cause].join(" ");
    format!("{}\n{}\n{}", run.execution, state.trim_end(), columns(&rows))
}
