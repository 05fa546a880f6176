//! `keyfold retrofit run` and `failures`: the state machine that runs a retrofit in AWS. And the calls of the AWS CLI, which deployments
//! need anyway: SDK crates for these few calls would double the build.
//!
//! AWS reports a map of which a child failed as `States.ExceedToleratedFailureThreshold` and nothing else. The machine does not catch
//! the children's errors: a redrive would then go on after the catch instead of with the slice that failed. So the children are asked,
//! with the AWS CLI.

use std::process::{Command, ExitCode};

use anyhow::{Context, anyhow, bail};
use keyfold_core::retrofit::{Mapping, Protocol};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::env::{Env, RetrofitName};
use crate::output::columns;

#[derive(Debug, clap::Args)]
pub(crate) struct RetrofitRunArgs {
    #[command(flatten)]
    pub(crate) retrofit: RetrofitName,
    /// The state machine's ARN: the stack's output, such as AuditV2StateMachineArn.
    #[arg(long, value_name = "ARN", env = "KEYFOLD_STATE_MACHINE")]
    pub(crate) state_machine: Option<String>,
    /// A name for the execution. The same name with the same input gives the same execution.
    #[arg(long, value_name = "NAME")]
    pub(crate) execution: Option<String>,
    /// The number of segments of the source's scan.
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) segments: u32,
    /// How many segments are processed at the same time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) concurrency: Option<u32>,
    /// The maximum capacity units per second, for all segments together.
    #[arg(long, value_name = "UNITS")]
    pub(crate) rate: Option<f64>,
    /// Correct differences during the comparison.
    #[arg(long)]
    pub(crate) repair: bool,
    /// In place only: follow no stream, because every writer folds keys itself.
    #[arg(long)]
    pub(crate) no_stream: bool,
}

/// Starts the state machine, or prints its input.
pub(super) fn run(env: &Env<'_>, args: &RetrofitRunArgs) -> anyhow::Result<ExitCode> {
    let input = input(&env.mapping(&args.retrofit)?, args)?;
    let Some(machine) = &args.state_machine else {
        env.out.value(&input)?;
        return Ok(ExitCode::SUCCESS);
    };
    let started = start(machine, args.execution.as_deref(), &input)?;
    env.out.show(&json!({ "execution": started, "input": input }), format!("{started}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Starts an execution. Returns its ARN.
fn start(machine: &str, name: Option<&str>, input: &Value) -> anyhow::Result<String> {
    let input = input.to_string();
    let mut words = vec!["stepfunctions", "start-execution", "--output", "text", "--query", "executionArn"];
    words.extend(["--state-machine-arn", machine, "--input", &input]);
    words.extend(name.into_iter().flat_map(|name| ["--name", name]));
    let hint = "\nhint: leave out --state-machine to print the input, and start the execution elsewhere";
    Ok(aws(&words, "the state machine was not started", hint)?.trim().to_owned())
}

/// The input of statemachine/retrofit.asl.json.
fn input(mapping: &Mapping, args: &RetrofitRunArgs) -> anyhow::Result<Value> {
    let in_place = mapping.protocol() == Protocol::InPlace;
    if args.no_stream && !in_place {
        bail!(
            "retrofit `{}` writes to another table: without a stream, changes during the retrofit would be lost",
            mapping.name()
        );
    }
    let mut input = json!({ "retrofit": mapping.name(), "segments": args.segments });
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            input[name] = value;
        }
    };
    add("concurrency", args.concurrency.map(Value::from));
    add("rate", args.rate.map(Value::from));
    add("sides", in_place.then(|| json!(["source"])));
    add("stream", args.no_stream.then_some(json!(false)));
    add("repair", args.repair.then_some(json!(true)));
    Ok(input)
}

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

/// Shows the segments that failed in a run, and why.
pub(super) fn failures(env: &Env<'_>, args: &RetrofitFailuresArgs) -> anyhow::Result<ExitCode> {
    let name = env.mapping(&args.retrofit)?.name().to_owned();
    let Some(run) = execution(args)? else {
        env.out.text(format!("no run of retrofit `{name}` has failed\n"));
        return Ok(ExitCode::SUCCESS);
    };
    let Execution { status, error, cause, .. } = describe(&run)?;
    let failures = failed_children(&run, args.show.into())?;
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
fn failed_children(run: &str, show: usize) -> anyhow::Result<Vec<Failure>> {
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

/// The answer to this command. `refused` says what failed if AWS refuses; `hint` is empty, or a line of its own.
pub(super) fn aws(words: &[&str], refused: &str, hint: &str) -> anyhow::Result<String> {
    let answer = Command::new("aws").args(words).output();
    let answer = answer.map_err(|error| anyhow!("cannot run the AWS CLI ({error}){hint}"))?;
    if !answer.status.success() {
        bail!("{refused}: {}{hint}", String::from_utf8_lossy(&answer.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
}
