//! Runs of a retrofit's state machine in AWS: started, followed until they end, and explained when they fail.
//!
//! AWS reports a map of which a child failed as `States.ExceedToleratedFailureThreshold` and nothing else. The machine does not catch
//! the children's errors: a redrive would then go on after the catch instead of with the slice that failed. So the children are asked.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use keyfold_core::retrofit::Protocol;
use keyfold_dynamo::Service;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::env::{Env, RetrofitName};
use super::line::Line;
use super::run::RetrofitRunArgs;
use super::watch::Looks;
use crate::output::columns;
use crate::refusal;
use crate::support::exit_code;

/// The pause between two looks at a run.
const LOOK: Duration = Duration::from_secs(2);
/// How many failed segments are shown.
const FAILURES_SHOWN_MAX: usize = 20;
/// What the segments of a run are when it says nothing else.
const SEGMENTS_DEFAULT: u32 = 4;

/// Where a command runs.
#[derive(Debug, clap::Args)]
pub(crate) struct HereArgs {
    /// Run in this terminal, also where a state machine is deployed (`KEYFOLD_STATE_MACHINE`, the stack's output).
    #[arg(long)]
    here: bool,
    /// The state machine's ARN. With it, functions do the work.
    #[arg(long, hide = true, value_name = "ARN", env = "KEYFOLD_STATE_MACHINE")]
    state_machine: Option<String>,
}

impl HereArgs {
    /// The state machine that does the work; `None` if this program does it.
    pub(super) fn machine(&self) -> Option<&str> {
        self.state_machine.as_deref().filter(|machine| !self.here && !machine.is_empty())
    }
}

/// Starts a run of the state machine, and follows it to its end.
pub(super) async fn run(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    machine: &str,
    args: &RetrofitRunArgs,
) -> anyhow::Result<ExitCode> {
    let mapping = env.mapping(retrofit)?;
    let in_place = mapping.protocol() == Protocol::InPlace;
    let segments = args.work.segments.unwrap_or(SEGMENTS_DEFAULT);
    let mut input = json!({ "retrofit": mapping.name(), "segments": segments });
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            input[name] = value;
        }
    };
    add("concurrency", args.work.concurrency.map(Value::from));
    add("rate", args.work.rate.map(Value::from));
    add("sides", in_place.then(|| json!(["source"])));
    add("stream", args.start.no_stream.then_some(json!(false)));
    add("repair", args.repair.then_some(json!(true)));
    started(env, retrofit, machine, args.execution.as_deref(), &input).await
}

/// Lets the state machine carry out an operation, and follows it to its end.
pub(super) async fn operate(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    machine: &str,
    operation: &Value,
) -> anyhow::Result<ExitCode> {
    let mut operation = operation.clone();
    // What was not given is left out.
    if let Value::Object(members) = &mut operation {
        members.retain(|_, value| !value.is_null());
    }
    let mut input = json!({ "retrofit": retrofit.name, "operation": operation });
    if env.mapping(retrofit)?.protocol() == Protocol::InPlace {
        input["sides"] = json!(["source"]);
    }
    started(env, retrofit, machine, None, &input).await
}

/// Starts an execution with this input, and follows it to its end.
async fn started(
    env: &Env<'_>,
    retrofit: &RetrofitName,
    machine: &str,
    name: Option<&str>,
    input: &Value,
) -> anyhow::Result<ExitCode> {
    let states = StateMachine::open(env).await?;
    let mut request = json!({ "stateMachineArn": machine, "input": input.to_string() });
    if let Some(name) = name {
        request["name"] = name.into();
    }
    let answer = states.call("StartExecution", &request).await?;
    let execution = answer["executionArn"].as_str().unwrap_or_default().to_owned();
    env.out.note(format!(
        "started {execution}\nctrl-C ends this view, not the run; anybody can follow it: keyfold retrofit status {} --watch\n",
        retrofit.name
    ));
    let ended = states.followed(env, retrofit, &execution).await?;
    let report = states.report(&execution, ended).await?;
    env.out.show(&report.value(&retrofit.name), report.text())?;
    Ok(exit_code(report.run.status == "SUCCEEDED"))
}

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
struct Execution {
    status: String,
    error: Option<String>,
    cause: Option<String>,
    input: Option<String>,
    output: Option<String>,
}

fn has_failed(run: &Execution) -> bool {
    matches!(run.status.as_str(), "FAILED" | "TIMED_OUT" | "ABORTED")
}

/// Step Functions.
struct StateMachine(Service);

impl StateMachine {
    async fn open(env: &Env<'_>) -> anyhow::Result<StateMachine> {
        let service = Service::step_functions(&env.globals.settings()?).await;
        service.map(StateMachine).map_err(refusal::explained)
    }

    async fn call(&self, action: &str, input: &Value) -> anyhow::Result<Value> {
        self.0.call(action, input).await.map_err(refusal::explained)
    }

    async fn described(&self, execution: &str) -> anyhow::Result<Execution> {
        Ok(serde_json::from_value(
            self.call("DescribeExecution", &json!({ "executionArn": execution })).await?,
        )?)
    }

    /// Shows the progress until the run has ended. A look that gets no answer is no end.
    async fn followed(
        &self,
        env: &Env<'_>,
        retrofit: &RetrofitName,
        execution: &str,
    ) -> anyhow::Result<Execution> {
        let (line, mut looks, begun) = (Line::new(env.out), Looks::default(), Instant::now());
        loop {
            match self.described(execution).await {
                Ok(run) if run.status != "RUNNING" => return Ok(run),
                Ok(_) => {}
                Err(error) if !is_passing(&error) => return Err(error),
                Err(_) => {}
            }
            let look = looks.look(env, retrofit).await;
            let look = look.map_or_else(|_| "no answer of DynamoDB".to_owned(), |look| look.plain());
            let shown = format!("{} s: {}", begun.elapsed().as_secs(), look.trim_end());
            line.during(tokio::time::sleep(LOOK), || shown.clone()).await;
        }
    }

    async fn report(&self, execution: &str, run: Execution) -> anyhow::Result<Report> {
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
fn is_passing(error: &anyhow::Error) -> bool {
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
