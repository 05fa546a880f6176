//! `keyfold retrofit failures`: which segments failed in a run of the state machine, and why.
//!
//! AWS reports a map of which a child failed as `States.ExceedToleratedFailureThreshold` and nothing else. The machine does not catch
//! the children's errors: a redrive would then go on after the catch instead of with the slice that failed. So the children are asked,
//! with the AWS CLI.

use std::process::ExitCode;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::aws_cli::aws;
use super::env::{Env, RetrofitName};
use crate::output::columns;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitFailuresArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    /// The state machine's ARN. Its newest failed run is shown.
    #[arg(long, value_name = "ARN", env = "KEYFOLD_STATE_MACHINE")]
    pub(crate) state_machine: Option<String>,
    /// The run to show.
    #[arg(long, value_name = "ARN")]
    pub(crate) execution: Option<String>,
    /// How many segments to show.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) show: u16,
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
}

pub(super) fn run(env: &Env<'_>, args: &RetrofitFailuresArgs) -> anyhow::Result<ExitCode> {
    let name = env.mapping(&args.retrofit)?.name().to_owned();
    let Some(run) = execution(args)? else {
        env.out.text(format!("no run of retrofit `{name}` has failed\n"));
        return Ok(ExitCode::SUCCESS);
    };
    let Execution { status, error, cause, .. } = describe(&run)?;
    let failures = failures(&run, args.show.into())?;
    let cause = message(cause.as_deref());
    let value = json!({
        "retrofit": name, "execution": run, "status": status, "error": error, "cause": cause, "failures": failures,
    });
    let row = |failure: Failure| vec![failure.pass, failure.segment, failure.error, failure.cause];
    let rows: Vec<_> = failures.into_iter().map(row).collect();
    let error = error.unwrap_or_default();
    env.out.show(&value, format!("{run}\n{status} {error} {cause}\n{}", columns(&rows)))?;
    Ok(ExitCode::SUCCESS)
}

/// The given run, or the newest one that failed.
fn execution(args: &RetrofitFailuresArgs) -> anyhow::Result<Option<String>> {
    if let Some(execution) = &args.execution {
        return Ok(Some(execution.clone()));
    }
    let Some(machine) = &args.state_machine else {
        bail!("which run? give the state machine with --state-machine, or a run with --execution");
    };
    Ok(executions(["--state-machine-arn", machine], "FAILED", 1)?.into_iter().next())
}

/// The children that failed, of all maps of a run.
fn failures(run: &str, show: usize) -> anyhow::Result<Vec<Failure>> {
    let maps = arns(&step_functions(&["list-map-runs", "--execution-arn", run])?, "mapRuns", "mapRunArn");
    let mut failed = Vec::new();
    for map in maps {
        for status in ["FAILED", "TIMED_OUT"] {
            failed.extend(executions(["--map-run-arn", &map], status, show)?);
        }
    }
    failed.truncate(show);
    failed.into_iter().map(failure).collect()
}

/// The executions of a state machine or a map with this status.
fn executions(of: [&str; 2], status: &str, max: usize) -> anyhow::Result<Vec<String>> {
    let max = max.to_string();
    let words = ["list-executions", of[0], of[1], "--status-filter", status, "--max-items", &max];
    Ok(arns(&step_functions(&words)?, "executions", "executionArn"))
}

/// The child's input names its segment: see `ItemSelector` in statemachine/retrofit.asl.json.
fn failure(execution: String) -> anyhow::Result<Failure> {
    let child = describe(&execution)?;
    let input: Value = serde_json::from_str(child.input.as_deref().unwrap_or("{}"))?;
    let event = &input["event"];
    let pass = event["side"].as_str().map_or_else(|| "backfill".to_owned(), |side| format!("compare {side}"));
    Ok(Failure {
        pass,
        segment: format!("{} of {}", event["segment"], event["totalSegments"]),
        error: child.error.unwrap_or(child.status),
        cause: message(child.cause.as_deref()),
        execution,
    })
}

/// A cause in one line. That of a function that failed is JSON, and has its message inside.
fn message(cause: Option<&str>) -> String {
    let cause = cause.unwrap_or_default();
    let parsed: Option<Value> = serde_json::from_str(cause).ok();
    let inside = parsed.as_ref().and_then(|cause| cause["errorMessage"].as_str());
    inside.unwrap_or(cause).replace('\n', " ")
}

fn describe(execution: &str) -> anyhow::Result<Execution> {
    let answer = step_functions(&["describe-execution", "--execution-arn", execution])?;
    serde_json::from_value(answer).with_context(|| format!("cannot read the execution `{execution}`"))
}

fn arns(answer: &Value, list: &str, name: &str) -> Vec<String> {
    let all = answer[list].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(|one| one[name].as_str().map(str::to_owned)).collect()
}

/// The answer of Step Functions.
fn step_functions(words: &[&str]) -> anyhow::Result<Value> {
    let refused = format!("Step Functions refuses `{}`", words[0]);
    let answer = aws(&[&["stepfunctions"], words, &["--output", "json"]].concat(), &refused, "")?;
    serde_json::from_str(&answer).with_context(|| format!("cannot read the answer of `{}`", words[0]))
}
