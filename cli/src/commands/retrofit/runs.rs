//! The runs of a retrofit's state machine in AWS, for people and for programs.

use keyfold_dynamo::{FailedSegment, StateMachineRun, StateMachines};
use serde_json::{Value, json};

use super::env::Env;
use crate::output::columns;
use crate::refusal;

/// The newest run of a retrofit's state machine; `None` if there was none.
pub(super) async fn newest(env: &Env<'_>, machine: &str) -> anyhow::Result<Option<StateMachineRun>> {
    opened(env).await?.newest(machine).await.map_err(refusal::explained)
}

pub(super) async fn opened(env: &Env<'_>) -> anyhow::Result<StateMachines> {
    StateMachines::open(&env.globals.settings()?).await.map_err(refusal::explained)
}

pub(super) fn document(run: &StateMachineRun, retrofit: &str) -> Value {
    let StateMachineRun { execution, status, error, cause, output, failures } = run;
    json!({
        "retrofit": retrofit, "execution": execution, "status": status, "error": error, "cause": cause,
        "failures": failures, "output": output,
    })
}

pub(super) fn text(run: &StateMachineRun) -> String {
    let row = |FailedSegment { pass, segment, error, cause, .. }: &FailedSegment| {
        [pass, segment, error, cause].map(String::clone).to_vec()
    };
    let rows: Vec<_> = run.failures.iter().map(row).collect();
    format!("{}\n{}\n{}", run.execution, short(run), columns(&rows))
}

/// Its state, and the error if it failed.
pub(super) fn short(run: &StateMachineRun) -> String {
    let StateMachineRun { status, error, cause, .. } = run;
    [status.as_str(), error.as_deref().unwrap_or_default(), cause].join(" ").trim_end().to_owned()
}
