//! The runs of a retrofit's state machine in AWS, and why one failed.
//!
//! AWS reports a map of which a child failed as `States.ExceedToleratedFailureThreshold` and nothing else. The machine does not catch
//! the children's errors: a redrive would then go on after the catch instead of with the slice that failed. So the children are asked.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::client::Settings;
use crate::service::{Service, ServiceError};

/// How many failed segments are asked for.
const FAILURES_MAX: usize = 20;

/// Step Functions.
#[derive(Debug)]
pub struct StateMachines(Service);

/// A run, and the segments that failed in it.
#[derive(Debug, Serialize)]
pub struct Run {
    /// The execution's ARN.
    pub execution: String,
    /// Its state, such as `RUNNING`.
    pub status: String,
    /// The error, if it failed.
    pub error: Option<String>,
    /// The error's cause: the function's message, where there is one.
    pub cause: String,
    /// Its output, once it has succeeded.
    pub output: Option<Value>,
    /// The segments that failed.
    pub failures: Vec<FailedSegment>,
}

/// A segment that failed.
#[derive(Debug, Serialize)]
pub struct FailedSegment {
    /// `backfill`, or the side that was compared.
    pub pass: String,
    /// Which segment, of how many.
    pub segment: String,
    /// The error.
    pub error: String,
    /// Its cause.
    pub cause: String,
    /// The child's ARN.
    pub execution: String,
}

/// The answer of DescribeExecution.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Description {
    status: String,
    error: Option<String>,
    cause: Option<String>,
    input: Option<String>,
    output: Option<String>,
}

impl Run {
    /// Is it at work?
    pub fn is_running(&self) -> bool {
        self.status == "RUNNING"
    }

    /// Did it succeed?
    pub fn has_succeeded(&self) -> bool {
        self.status == "SUCCEEDED"
    }

    /// Did it fail?
    pub fn has_failed(&self) -> bool {
        matches!(self.status.as_str(), "FAILED" | "TIMED_OUT" | "ABORTED")
    }
}

impl StateMachines {
    /// In the region and with the credentials of the environment.
    pub async fn open(settings: &Settings) -> Result<StateMachines, ServiceError> {
        Service::step_functions(settings).await.map(StateMachines)
    }

    /// Starts a run of this machine; its ARN. The same name with the same input gives the same run.
    pub async fn start(
        &self,
        machine: &str,
        name: Option<&str>,
        input: &Value,
    ) -> Result<String, ServiceError> {
        let mut request = json!({ "stateMachineArn": machine, "input": input.to_string() });
        if let Some(name) = name {
            request["name"] = name.into();
        }
        let answer = self.0.call("StartExecution", &request).await?;
        Ok(answer["executionArn"].as_str().unwrap_or_default().to_owned())
    }

    /// The newest run of a machine; `None` if there was none.
    pub async fn newest(&self, machine: &str) -> Result<Option<Run>, ServiceError> {
        let list = json!({ "stateMachineArn": machine, "maxResults": 1 });
        let answer = self.0.call("ListExecutions", &list).await?;
        match arns(&answer, "executions", "executionArn").into_iter().next() {
            Some(execution) => self.run(&execution).await.map(Some),
            None => Ok(None),
        }
    }

    /// How far a run is. If it failed, its children say why.
    pub async fn run(&self, execution: &str) -> Result<Run, ServiceError> {
        let Description { status, error, cause, output, .. } = self.described(execution).await?;
        let output = output.and_then(|text| serde_json::from_str(&text).ok());
        let cause = message(cause.as_deref());
        let (execution, failures) = (execution.to_owned(), Vec::new());
        let mut run = Run { execution, status, error, cause, output, failures };
        if run.has_failed() {
            run.failures = self.failures(&run.execution).await?;
        }
        Ok(run)
    }

    async fn described(&self, execution: &str) -> Result<Description, ServiceError> {
        let answer = self.0.call("DescribeExecution", &json!({ "executionArn": execution })).await?;
        serde_json::from_value(answer).map_err(|_| self.0.not_reached())
    }

    /// The children that failed, of all maps of a run.
    async fn failures(&self, run: &str) -> Result<Vec<FailedSegment>, ServiceError> {
        let maps = self.0.call("ListMapRuns", &json!({ "executionArn": run })).await?;
        let mut failed = Vec::new();
        for map in arns(&maps, "mapRuns", "mapRunArn") {
            for status in ["FAILED", "TIMED_OUT"] {
                let list = json!({ "mapRunArn": map, "statusFilter": status, "maxResults": FAILURES_MAX });
                let answer = self.0.call("ListExecutions", &list).await?;
                failed.extend(arns(&answer, "executions", "executionArn"));
            }
        }
        failed.truncate(FAILURES_MAX);
        let mut failures = Vec::with_capacity(failed.len());
        for child in failed {
            failures.push(failure(self.described(&child).await?, child));
        }
        Ok(failures)
    }
}

/// The child's input names its segment: see `ItemSelector` in statemachine/retrofit.asl.json.
fn failure(child: Description, execution: String) -> FailedSegment {
    let input: Value = serde_json::from_str(child.input.as_deref().unwrap_or("{}")).unwrap_or_default();
    let event = &input["event"];
    let pass = event["side"].as_str().map_or_else(|| "backfill".to_owned(), |side| format!("compare {side}"));
    let number =
        |name: &str| event[name].as_u64().map_or_else(|| "?".to_owned(), |number| number.to_string());
    let segment = format!("{} of {}", number("segment"), number("totalSegments"));
    let (error, cause) = (child.error.unwrap_or(child.status), message(child.cause.as_deref()));
    FailedSegment { pass, segment, error, cause, execution }
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
