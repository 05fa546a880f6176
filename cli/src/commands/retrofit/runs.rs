//! The runs of a state machine in AWS, and why one failed.
//!
//! AWS reports a map of which a child failed as `States.ExceedToleratedFailureThreshold` and nothing else. The machine does not catch
//! the children's errors: a redrive would then go on after the catch instead of with the slice that failed. So the children are asked.

use keyfold_dynamo::Service;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::env::Env;
use crate::output::columns;
use crate::refusal;

/// How many failed segments are shown.
const FAILURES_SHOWN_MAX: usize = 20;

/// The newest run of a retrofit's state machine, for its status; `None` if there was none.
pub(super) async fn newest(env: &Env<'_>, machine: &str) -> anyhow::Result<Option<Report>> {
    let states = StateMachine::open(env).await?;
    let list = json!({ "stateMachineArn": machine, "maxResults": 1 });
    let answer = states.call("ListExecutions", &list).await?;
    let Some(execution) = arns(&answer, "executions", "executionArn").into_iter().next() else {
        return Ok(None);
    };
    let run = states.described(&execution).await?;
    states.report(&execution, run).await.map(Some)
}

/// A run, and the segments that failed in it.
pub(super) struct Report {
    execution: String,
    run: Execution,
    failures: Vec<Failure>,
}

impl Report {
    pub(super) fn value(&self, retrofit: &str) -> Value {
        let output = self.run.output.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
        json!({
            "retrofit": retrofit, "execution": self.execution, "status": self.run.status, "error": self.run.error,
            "cause": message(self.run.cause.as_deref()), "failures": self.failures, "output": output,
        })
    }

    pub(super) fn text(&self) -> String {
        let row = |failure: &Failure| {
            vec![failure.pass.clone(), failure.segment.clone(), failure.error.clone(), failure.cause.clone()]
        };
        let rows: Vec<_> = self.failures.iter().map(row).collect();
        format!("{}\n{}\n{}", self.execution, self.short(), columns(&rows))
    }

    pub(super) fn has_succeeded(&self) -> bool {
        self.run.status == "SUCCEEDED"
    }

    pub(super) fn has_failed(&self) -> bool {
        has_failed(&self.run)
    }

    /// Its state, and the error if it failed.
    pub(super) fn short(&self) -> String {
        let Execution { status, error, cause, .. } = &self.run;
        let words = [status.clone(), error.clone().unwrap_or_default(), message(cause.as_deref())];
        words.join(" ").trim_end().to_owned()
    }
}

/// A segment that failed.
#[derive(Serialize)]
struct Failure {
    /// `backfill`, or the side that was compared.
    pass: String,
    segment: String,
    error: String,
    cause: String,
    execution: String,
}

/// The answer of DescribeExecution.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Execution {
    pub(super) status: String,
    error: Option<String>,
    cause: Option<String>,
    input: Option<String>,
    output: Option<String>,
}

fn has_failed(run: &Execution) -> bool {
    matches!(run.status.as_str(), "FAILED" | "TIMED_OUT" | "ABORTED")
}

/// Step Functions.
pub(super) struct StateMachine(Service);

impl StateMachine {
    pub(super) async fn open(env: &Env<'_>) -> anyhow::Result<StateMachine> {
        let service = Service::step_functions(&env.globals.settings()?).await;
        service.map(StateMachine).map_err(refusal::explained)
    }

    pub(super) async fn call(&self, action: &str, input: &Value) -> anyhow::Result<Value> {
        self.0.call(action, input).await.map_err(refusal::explained)
    }

    pub(super) async fn described(&self, execution: &str) -> anyhow::Result<Execution> {
        Ok(serde_json::from_value(
            self.call("DescribeExecution", &json!({ "executionArn": execution })).await?,
        )?)
    }

    pub(super) async fn report(&self, execution: &str, run: Execution) -> anyhow::Result<Report> {
        let failures = if has_failed(&run) { self.failures(execution).await? } else { Vec::new() };
        Ok(Report { execution: execution.to_owned(), run, failures })
    }

    /// The children that failed, of all maps of a run.
    async fn failures(&self, run: &str) -> anyhow::Result<Vec<Failure>> {
        let maps = self.call("ListMapRuns", &json!({ "executionArn": run })).await?;
        let mut failed = Vec::new();
        for map in arns(&maps, "mapRuns", "mapRunArn") {
            for status in ["FAILED", "TIMED_OUT"] {
                let list =
                    json!({ "mapRunArn": map, "statusFilter": status, "maxResults": FAILURES_SHOWN_MAX });
                failed.extend(arns(&self.call("ListExecutions", &list).await?, "executions", "executionArn"));
            }
        }
        failed.truncate(FAILURES_SHOWN_MAX);
        let mut failures = Vec::with_capacity(failed.len());
        for child in failed {
            failures.push(failure(child.clone(), self.described(&child).await?)?);
        }
        Ok(failures)
    }
}

/// Can the same question be answered later?
pub(super) fn is_passing(error: &anyhow::Error) -> bool {
    let refusal = error.downcast_ref::<refusal::Refusal>();
    refusal.is_some_and(|refusal| refusal.0.code == "service-not-reached")
}

/// The child's input names its segment: see `ItemSelector` in statemachine/retrofit.asl.json.
fn failure(execution: String, child: Execution) -> anyhow::Result<Failure> {
    let input: Value = serde_json::from_str(child.input.as_deref().unwrap_or("{}"))?;
    let event = &input["event"];
    let pass = event["side"].as_str().map_or_else(|| "backfill".to_owned(), |side| format!("compare {side}"));
    let number =
        |name: &str| event[name].as_u64().map_or_else(|| "?".to_owned(), |number| number.to_string());
    let segment = format!("{} of {}", number("segment"), number("totalSegments"));
    let (error, cause) = (child.error.unwrap_or(child.status), message(child.cause.as_deref()));
    Ok(Failure { pass, segment, error, cause, execution })
}

/// The cause's message: a function's error is JSON with one in it.
fn message(cause: Option<&str>) -> String {
    let cause = cause.unwrap_or_default();
    let json = serde_json::from_str::<Value>(cause).ok();
    let inside = json.as_ref().and_then(|cause| cause["errorMessage"].as_str());
    inside.unwrap_or(cause).replace('\n', " ")
}

fn arns(answer: &Value, list: &str, name: &str) -> Vec<String> {
    let all = answer[list].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(|one| one[name].as_str().map(str::to_owned)).collect()
}
