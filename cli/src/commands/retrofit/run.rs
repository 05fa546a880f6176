//! `keyfold retrofit run`: starts the state machine that runs a retrofit in AWS, or prints the input for it.

use std::process::{Command, ExitCode};

use anyhow::anyhow;
use keyfold_core::model::Model;
use keyfold_core::retrofit::{Mapping, Protocol};
use serde_json::{Value, json};

use super::hinted;
use crate::args::RetrofitRunArgs;
use crate::output::Output;

pub(super) fn run(model: &Model, args: &RetrofitRunArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let mapping = Mapping::of(model, &args.name).map_err(|error| hinted(error.to_string(), error.hint()))?;
    let input = input(&mapping, args)?;
    let Some(machine) = &args.state_machine else {
        out.value(&input)?;
        return Ok(ExitCode::SUCCESS);
    };
    let started = start(machine, args.execution.as_deref(), &input)?;
    if out.json {
        out.value(&json!({ "execution": started, "input": input }))?;
    } else {
        out.text(format!("{started}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts an execution with the AWS CLI. Everybody who deploys has it; an SDK crate for this one call would double the build.
fn start(machine: &str, name: Option<&str>, input: &Value) -> anyhow::Result<String> {
    let mut command = Command::new("aws");
    command.args(["stepfunctions", "start-execution", "--output", "text", "--query", "executionArn"]);
    command.args(["--state-machine-arn", machine, "--input", &input.to_string()]);
    command.args(name.into_iter().flat_map(|name| ["--name", name]));
    let answer = command.output().map_err(|error| {
        anyhow!(
            "cannot run the AWS CLI ({error})\nhint: leave out --state-machine to print the input, and start the execution elsewhere"
        )
    })?;
    if !answer.status.success() {
        let reason = String::from_utf8_lossy(&answer.stderr);
        return Err(anyhow!("the state machine was not started: {}", reason.trim()));
    }
    Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

/// The input of statemachine/retrofit.asl.json.
fn input(mapping: &Mapping, args: &RetrofitRunArgs) -> anyhow::Result<Value> {
    let in_place = mapping.protocol() == Protocol::InPlace;
    if args.no_stream && !in_place {
        return Err(anyhow!(
            "retrofit `{}` writes to another table: without a stream, changes during the retrofit would be lost",
            mapping.name()
        ));
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
