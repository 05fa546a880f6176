//! `keyfold retrofit failures`: which segments failed in a run of the state machine, and why.
//!
//! AWS reports a map of which a child failed as `States.ExceedToleratedFailureThreshold` and nothing else. The machine does not catch
//! the children's errors: a redrive would then go on after the catch instead of with the slice that failed. So the children are asked,
//! with the AWS CLI.

use std::process::{Command, ExitCode};

use anyhow::{Context, anyhow, bail};
use keyfold_core::model::Model;
use keyfold_core::retrofit::Mapping;
use serde::Deserialize;
use serde_json::{Value, json};

use super::hinted;
use crate::args::RetrofitFailuresArgs;
use crate::output::{Output, columns};

/// A segment that failed.
struct Failure {
    /// `backfill`, or the side that was compared.
    pass: String,
    segment: String,
    error: String,
    cause: String,
    execution: String,
}

/// What DescribeExecution says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Execution {
    status: String,
    error: Option<String>,
    cause: Option<String>,
    input: Option<String>,
}

pub(super) fn run(model: &Model, args: &RetrofitFailuresArgs, out: &Output) -> anyhow::Result<ExitCode> {
    Mapping::of(model, &args.name).map_err(|error| hinted(error.to_string(), error.hint()))?;
    let Some(run) = execution(args)? else {
        out.text(format!("no run of retrofit `{}` has failed\n", args.name));
        return Ok(ExitCode::SUCCESS);
    };
    let whole: Execution = described(&run)?;
    let failures = failures(&run, args.show.into())?;
    let cause = message(whole.cause.as_deref());
    if out.json {
        let one = |failure: &Failure| {
            json!({ "pass": failure.pass, "segment": failure.segment, "error": failure.error,
                "cause": failure.cause, "execution": failure.execution })
        };
        out.value(&json!({
            "retrofit": args.name, "execution": run, "status": whole.status, "error": whole.error, "cause": cause,
            "failures": failures.iter().map(one).collect::<Vec<_>>(),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    out.text(format!("{run}\n{} {} {cause}\n", whole.status, whole.error.unwrap_or_default()));
    let row = |failure: Failure| vec![failure.pass, failure.segment, failure.error, failure.cause];
    out.text(columns(&failures.into_iter().map(row).collect::<Vec<_>>()));
    Ok(ExitCode::SUCCESS)
}

/// The run that was named, or the newest one that failed.
fn execution(args: &RetrofitFailuresArgs) -> anyhow::Result<Option<String>> {
    if let Some(execution) = &args.execution {
        return Ok(Some(execution.clone()));
    }
    let Some(machine) = &args.state_machine else {
        bail!("which run? give the state machine with --state-machine, or a run with --execution");
    };
    let listed = aws(&[
        "list-executions",
        "--state-machine-arn",
        machine,
        "--status-filter",
        "FAILED",
        "--max-items",
        "1",
    ])?;
    Ok(arns(&listed, "executions", "executionArn").into_iter().next())
}

/// The children that failed, of all maps of a run.
fn failures(run: &str, show: usize) -> anyhow::Result<Vec<Failure>> {
    let maps = arns(&aws(&["list-map-runs", "--execution-arn", run])?, "mapRuns", "mapRunArn");
    let (most, mut failed) = (show.to_string(), Vec::new());
    for map in maps {
        for status in ["FAILED", "TIMED_OUT"] {
            let listed = aws(&[
                "list-executions",
                "--map-run-arn",
                &map,
                "--status-filter",
                status,
                "--max-items",
                &most,
            ])?;
            failed.extend(arns(&listed, "executions", "executionArn"));
        }
    }
    failed.truncate(show);
    failed.into_iter().map(failure).collect()
}

/// The child's input names its segment: see `ItemSelector` in statemachine/retrofit.asl.json.
fn failure(execution: String) -> anyhow::Result<Failure> {
    let child = described(&execution)?;
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

fn described(execution: &str) -> anyhow::Result<Execution> {
    let answer = aws(&["describe-execution", "--execution-arn", execution])?;
    serde_json::from_value(answer).with_context(|| format!("cannot read the execution `{execution}`"))
}

fn arns(answer: &Value, list: &str, name: &str) -> Vec<String> {
    let all = answer[list].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(|one| one[name].as_str().map(str::to_owned)).collect()
}

/// What the AWS CLI says. Everybody who deploys has it; an SDK crate for these calls would double the build.
fn aws(words: &[&str]) -> anyhow::Result<Value> {
    let answer = Command::new("aws").arg("stepfunctions").args(words).args(["--output", "json"]).output();
    let answer = answer.map_err(|error| anyhow!("cannot run the AWS CLI ({error})"))?;
    if !answer.status.success() {
        bail!("Step Functions refuses `{}`: {}", words[0], String::from_utf8_lossy(&answer.stderr).trim());
    }
    serde_json::from_slice(&answer.stdout)
        .with_context(|| format!("cannot read the answer of `{}`", words[0]))
}
